//! arkworks' Groth16 over the rows of an .r1cs file and the values of a .wtns file, without its feature `parallel`: one thread.
//!
//! Source of the formats: iden3/r1csfile, doc/r1cs_bin_format.md, and iden3/binfileutils.  The files come from this toolkit, which has
//! checked them: anything unexpected panics.

use crate::arkworks::integer;
use ark_bls12_381::{Bls12_381, Fr};
use ark_ff::{One, PrimeField, UniformRand};
use ark_groth16::{prepare_verifying_key, Groth16, PreparedVerifyingKey, Proof, ProvingKey};
use ark_relations::gr1cs::{ConstraintSynthesizer, ConstraintSystemRef, LinearCombination, Matrix, SynthesisError, Variable};

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, n: usize) -> &'a [u8] {
        let (head, tail) = self.0.split_at(n);
        self.0 = tail;
        head
    }

    fn u32(&mut self) -> usize {
        u32::from_le_bytes(self.take(4).try_into().expect("4 bytes")) as usize
    }

    fn u64(&mut self) -> usize {
        u64::from_le_bytes(self.take(8).try_into().expect("8 bytes")) as usize
    }

    fn scalar(&mut self) -> Fr {
        Fr::from_bigint(integer(self.take(32))).expect("below r")
    }

    fn terms(&mut self) -> Vec<(Fr, usize)> {
        (0..self.u32()).map(|_| (self.u32(), self.scalar())).map(|(wire, coefficient)| (coefficient, wire)).collect()
    }
}

/// The section of this number.
fn section<'a>(file: &'a [u8], magic: &[u8], number: usize) -> Bytes<'a> {
    let mut rest = Bytes(file);
    assert_eq!(rest.take(4), magic, "another kind of file");
    rest.u32(); // version
    for _ in 0..rest.u32() {
        let (found, size) = (rest.u32(), rest.u64());
        let content = rest.take(size);
        if found == number {
            return Bytes(content);
        }
    }
    panic!("no section {number}")
}

struct Rows {
    n_wires: usize,
    n_public: usize,
    matrices: [Matrix<Fr>; 3],
}

fn read_rows(file: &[u8]) -> Rows {
    let mut header = section(file, b"r1cs", 1);
    let prime_bytes = header.u32();
    header.take(prime_bytes);
    let n_wires = header.u32();
    let n_public = header.u32() + header.u32(); // outputs, then inputs
    header.u32(); // private inputs
    header.u64(); // labels
    let n_rows = header.u32();
    let mut constraints = section(file, b"r1cs", 2);
    let mut matrices: [Matrix<Fr>; 3] = Default::default();
    for _ in 0..n_rows {
        for matrix in &mut matrices {
            matrix.push(constraints.terms());
        }
    }
    Rows { n_wires, n_public, matrices }
}

fn read_values(file: &[u8]) -> Vec<Fr> {
    let mut values = section(file, b"wtns", 2);
    (0..values.0.len() / 32).map(|_| values.scalar()).collect()
}

impl ConstraintSynthesizer<Fr> for &Rows {
    /// For the setup, which asks for no values.
    fn generate_constraints(self, cs: ConstraintSystemRef<Fr>) -> Result<(), SynthesisError> {
        let missing = || Err(SynthesisError::AssignmentMissing);
        let mut wires = vec![Variable::One];
        for wire in 1..self.n_wires {
            let is_public = wire <= self.n_public;
            wires.push(if is_public { cs.new_input_variable(missing)? } else { cs.new_witness_variable(missing)? });
        }
        let combination =
            |terms: &[(Fr, usize)]| LinearCombination(terms.iter().map(|&(k, wire)| (k, wires[wire])).collect());
        let [a, b, c] = &self.matrices;
        for ((a, b), c) in a.iter().zip(b).zip(c) {
            cs.enforce_r1cs_constraint(|| combination(a), || combination(b), || combination(c))?;
        }
        Ok(())
    }
}

pub struct Prover {
    rows: Rows,
    values: Vec<Fr>,
    key: ProvingKey<Bls12_381>,
}

impl Prover {
    /// Key made, which takes seconds; a first proof verifies, and for other inputs it does not.
    pub fn new(r1cs: &[u8], wtns: &[u8]) -> Self {
        let (rows, values) = (read_rows(r1cs), read_values(wtns));
        let mut rng = ark_std::test_rng();
        let key = Groth16::<Bls12_381>::generate_random_parameters_with_reduction(&rows, &mut rng).expect("a key");
        let verifying_key = prepare_verifying_key(&key.vk);
        let prover = Self { rows, values, key };
        let proof = prover.prove();
        let mut inputs = prover.values[1..=prover.rows.n_public].to_vec();
        assert!(verifies(&verifying_key, &proof, &inputs), "a proof of arkworks does not verify");
        inputs[0] += Fr::one();
        assert!(!verifies(&verifying_key, &proof, &inputs), "a proof of other inputs verifies");
        prover
    }

    /// From values to the proof; the rows are in memory, as the toolkit's own are.
    pub fn prove(&self) -> Proof<Bls12_381> {
        let mut rng = ark_std::test_rng();
        let (r, s) = (Fr::rand(&mut rng), Fr::rand(&mut rng));
        let (n_instance, n_rows) = (self.rows.n_public + 1, self.rows.matrices[0].len());
        Groth16::<Bls12_381>::create_proof_with_reduction_and_matrices(
            &self.key,
            r,
            s,
            &self.rows.matrices,
            n_instance,
            n_rows,
            &self.values,
        )
        .expect("a proof")
    }
}

fn verifies(key: &PreparedVerifyingKey<Bls12_381>, proof: &Proof<Bls12_381>, inputs: &[Fr]) -> bool {
    Groth16::<Bls12_381>::verify_proof(key, proof, inputs).expect("a verdict")
}

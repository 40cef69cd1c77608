//! arkworks, without its feature `parallel`: one thread.

use crate::{Batch, Peer};
use ark_bls12_381::{Bls12_381, Fr, G1Affine, G1Projective, G2Affine};
use ark_ec::pairing::Pairing;
use ark_ec::{AffineRepr, CurveGroup, VariableBaseMSM};
use ark_ff::{BigInt, PrimeField};
use ark_serialize::{CanonicalDeserialize, CanonicalSerialize};

pub type Integer = <Fr as PrimeField>::BigInt;

pub struct Arkworks {
    t: Vec<G1Affine>,
    u: Vec<G1Affine>,
    rho: Vec<Integer>,
    rho_r: Vec<Integer>,
}

fn decode(bytes: &[u8; 48]) -> G1Affine {
    G1Affine::deserialize_compressed_unchecked(&bytes[..]).expect("a point")
}

pub fn integer(bytes: &[u8]) -> Integer {
    let mut limbs = [0u64; 4];
    for (limb, chunk) in limbs.iter_mut().zip(bytes.chunks_exact(8)) {
        *limb = u64::from_le_bytes(chunk.try_into().expect("8 bytes"));
    }
    BigInt(limbs)
}

impl Arkworks {
    pub fn new(batch: &Batch) -> Self {
        Self {
            t: batch.t.iter().map(decode).collect(),
            u: batch.u.iter().map(decode).collect(),
            rho: batch.rho.iter().map(|x| integer(x)).collect(),
            rho_r: batch.rho_r.iter().map(|x| integer(x)).collect(),
        }
    }
}

impl Peer for Arkworks {
    fn sum(&self, number: usize) -> [u8; 48] {
        let (points, scalars) = match number {
            0 => (&self.t, &self.rho),
            1 => (&self.u, &self.rho),
            _ => (&self.u, &self.rho_r),
        };
        let mut out = [0u8; 48];
        let sum = G1Projective::msm_bigint(points, scalars).into_affine();
        sum.serialize_compressed(&mut out[..]).expect("48 bytes");
        out
    }

    fn pairing(&self) -> bool {
        let (p, q) = (self.t[0], G2Affine::generator());
        let product = Bls12_381::multi_pairing([p, -p], [q, q]);
        product.0 == ark_ff::One::one()
    }
}

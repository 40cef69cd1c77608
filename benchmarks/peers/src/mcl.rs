//! mcl, one thread; it picks AVX-512 IFMA by itself where the CPU has it.

use crate::blst_peer::{affine_hex, compress_hex};
use crate::{Batch, Peer};
use mcl_rust::{final_exp, init, miller_loop, CurveType, Fr, G1, G2, GT};

pub struct Mcl {
    t: Vec<G1>,
    u: Vec<G1>,
    rho: Vec<Fr>,
    rho_r: Vec<Fr>,
    generator: G2,
}

/// The generator of G2 in decimal, as its specification gives it (IETF draft-irtf-cfrg-pairing-friendly-curves-11, 4.2.1): "1 x0 x1 y0 y1".
const G2_GENERATOR: &str = "1 \
    352701069587466618187139116011060144890029952792775240219908644239793785735715026873347600343865175952761926303160 \
    3059144344244213709971259814753781636986470325476647558659373206291635324768958432433509563104347017837885763365758 \
    1985150602287291935568054521177171638300868978215655730859378665066344726373823718423869104263333984641494340347905 \
    927553665492332455747201965776037880757740193453592970025027978793976877002675564980949289727957565575433344219582";

fn point(bytes: &[u8; 48]) -> G1 {
    let (x, y) = affine_hex(bytes);
    let mut point = G1::zero();
    assert!(point.set_str(&format!("1 {x} {y}"), 16), "not a point");
    point
}

fn scalar(bytes: &[u8]) -> Fr {
    let mut scalar = Fr::zero();
    assert!(scalar.set_little_endian(bytes), "not a scalar");
    scalar
}

impl Mcl {
    pub fn new(batch: &Batch) -> Self {
        assert!(init(CurveType::BLS12_381), "mcl does not know the curve");
        let mut generator = G2::zero();
        assert!(generator.set_str(G2_GENERATOR, 10), "not a point");
        Self {
            t: batch.t.iter().map(point).collect(),
            u: batch.u.iter().map(point).collect(),
            rho: batch.rho.iter().map(|x| scalar(x)).collect(),
            rho_r: batch.rho_r.iter().map(|x| scalar(x)).collect(),
            generator,
        }
    }
}

impl Peer for Mcl {
    fn sum(&self, number: usize) -> [u8; 48] {
        let (points, scalars) = match number {
            0 => (&self.t, &self.rho),
            1 => (&self.u, &self.rho),
            _ => (&self.u, &self.rho_r),
        };
        let mut sum = G1::zero();
        G1::mul_vec(&mut sum, points, scalars);
        compress_hex(&sum.get_str(16))
    }

    fn pairing(&self) -> bool {
        let (mut left, mut right, mut out) = (GT::zero(), GT::zero(), GT::zero());
        let mut minus = G1::zero();
        G1::neg(&mut minus, &self.t[0]);
        miller_loop(&mut left, &self.t[0], &self.generator);
        miller_loop(&mut right, &minus, &self.generator);
        GT::mul(&mut out, &left, &right);
        let product = out.clone();
        final_exp(&mut out, &product);
        out.is_one()
    }
}

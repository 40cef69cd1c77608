//! blst, one thread: Pippenger's sums, and pairings.

use crate::{Batch, Peer};
use blst::*;
use std::ptr;

pub struct Blst {
    t: Vec<blst_p1_affine>,
    u: Vec<blst_p1_affine>,
    rho: Vec<[u8; 16]>,
    rho_r: Vec<[u8; 32]>,
}

fn decode(bytes: &[u8; 48]) -> blst_p1_affine {
    let mut point = blst_p1_affine::default();
    let status = unsafe { blst_p1_uncompress(&mut point, bytes.as_ptr()) };
    assert!(status == BLST_ERROR::BLST_SUCCESS, "not a point");
    point
}

impl Blst {
    pub fn new(batch: &Batch) -> Self {
        Self {
            t: batch.t.iter().map(decode).collect(),
            u: batch.u.iter().map(decode).collect(),
            rho: batch.rho.clone(),
            rho_r: batch.rho_r.clone(),
        }
    }
}

pub fn pippenger<const N: usize>(points: &[blst_p1_affine], scalars: &[[u8; N]], n_bits: usize) -> [u8; 48] {
    let n = points.len();
    let point_list: [*const blst_p1_affine; 2] = [points.as_ptr(), ptr::null()];
    let scalar_list: [*const u8; 2] = [scalars.as_ptr().cast(), ptr::null()];
    let mut sum = blst_p1::default();
    let mut out = [0u8; 48];
    unsafe {
        let mut scratch = vec![0u64; blst_p1s_mult_pippenger_scratch_sizeof(n) / 8];
        blst_p1s_mult_pippenger(&mut sum, point_list.as_ptr(), n, scalar_list.as_ptr(), n_bits, scratch.as_mut_ptr());
        blst_p1_compress(out.as_mut_ptr(), &sum);
    }
    out
}

/// A compressed point as the hexadecimal digits of x and y.
#[cfg(feature = "mcl")]
pub fn affine_hex(bytes: &[u8; 48]) -> (String, String) {
    let mut out = [0u8; 96];
    unsafe { blst_p1_affine_serialize(out.as_mut_ptr(), &decode(bytes)) };
    let digits: String = out.iter().map(|byte| format!("{byte:02x}")).collect();
    (digits[..96].to_owned(), digits[96..].to_owned())
}

/// "1 x y" in hexadecimal digits -> the compressed point.
#[cfg(feature = "mcl")]
pub fn compress_hex(text: &str) -> [u8; 48] {
    let mut bytes = [0u8; 96];
    for (half, digits) in bytes.chunks_exact_mut(48).zip(text.split(' ').skip(1)) {
        for (byte, at) in half.iter_mut().zip((0..96).step_by(2)) {
            *byte = u8::from_str_radix(&format!("{digits:0>96}")[at..at + 2], 16).expect("hexadecimal digits");
        }
    }
    let mut point = blst_p1_affine::default();
    let mut out = [0u8; 48];
    unsafe {
        assert!(blst_p1_deserialize(&mut point, bytes.as_ptr()) == BLST_ERROR::BLST_SUCCESS, "not a point");
        blst_p1_affine_compress(out.as_mut_ptr(), &point);
    }
    out
}

impl Peer for Blst {
    fn sum(&self, number: usize) -> [u8; 48] {
        match number {
            0 => pippenger(&self.t, &self.rho, 128),
            1 => pippenger(&self.u, &self.rho, 128),
            _ => pippenger(&self.u, &self.rho_r, 255),
        }
    }

    fn pairing(&self) -> bool {
        unsafe {
            let (p, q) = (&self.t[0], blst_p2_affine_generator());
            let (mut left, mut right) = (blst_fp12::default(), blst_fp12::default());
            blst_miller_loop(&mut left, q, p);
            blst_miller_loop(&mut right, q, p);
            blst_fp12_finalverify(&left, &right)
        }
    }
}

//! The yardstick of the prover's figures: one sum that every library has, of a fixed size, so that machines can be compared by it.

use crate::blst_peer::pippenger;
use blst::*;
use std::ptr;

const SIDE: u32 = 256;
const SCALAR_BITS: usize = 255;

pub struct Yardstick {
    points: Vec<blst_p1_affine>,
    scalars: Vec<[u8; 32]>,
}

/// A hash of the number, reduced modulo r.
fn scalar(number: u32) -> [u8; 32] {
    let (mut digest, mut reduced, mut out) = ([0u8; 32], blst_scalar::default(), [0u8; 32]);
    let bytes = number.to_le_bytes();
    unsafe {
        blst_sha256(digest.as_mut_ptr(), bytes.as_ptr(), bytes.len());
        blst_scalar_from_le_bytes(&mut reduced, digest.as_ptr(), digest.len());
        blst_lendian_from_scalar(out.as_mut_ptr(), &reduced);
    }
    out
}

fn multiple_of_one(number: u32) -> blst_p1 {
    let mut point = blst_p1::default();
    unsafe { blst_p1_mult(&mut point, blst_p1_generator(), scalar(number).as_ptr(), SCALAR_BITS) };
    point
}

impl Yardstick {
    /// 65,536 points A_i + B_j, which takes milliseconds, with 256 random points A and as many B.
    pub fn new() -> Self {
        let sides: Vec<blst_p1> = (0..2 * SIDE).map(multiple_of_one).collect();
        let (a, b) = sides.split_at(SIDE as usize);
        let mut sums = Vec::new();
        for left in a {
            for right in b {
                let mut sum = blst_p1::default();
                unsafe { blst_p1_add_or_double(&mut sum, left, right) };
                sums.push(sum);
            }
        }
        let mut points = vec![blst_p1_affine::default(); sums.len()];
        let list: [*const blst_p1; 2] = [sums.as_ptr(), ptr::null()];
        unsafe { blst_p1s_to_affine(points.as_mut_ptr(), list.as_ptr(), sums.len()) };
        Self { points, scalars: (2 * SIDE..2 * SIDE + SIDE * SIDE).map(scalar).collect() }
    }

    pub fn sum(&self) -> [u8; 48] {
        pippenger(&self.points, &self.scalars, SCALAR_BITS)
    }
}

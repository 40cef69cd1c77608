"""Pallas' base field eight at a time: 5 limbs of 52 bits in Montgomery form, R = 2^260 (contracts: lanes.py).

R / p = 63.99 is the room above p.  A multiplication's result is below x y / R + 1.001 p, so weak for x y <= 21 p^2.  Limb 3 of p is 0 and
all of its columns are cancelled: 90 steps a multiplication and 70 a square.
A vector body: compiled only where cpu.py says that it may run.
"""

from bonsai_verifier.kernels.lane_machine import LaneField
from bonsai_verifier.kernels.lane_operations import lane_inverse, lane_operations

from .pallas import PALLAS_MODULUS, PALLAS_WORDS

PALLAS_LANES = LaneField(PALLAS_MODULUS, 5, PALLAS_WORDS, folds=0)
PALLAS_BLOCK = PALLAS_LANES.block_bytes

_ops = lane_operations("pallas8", PALLAS_LANES)
pallas8_mul, pallas8_sqr, pallas8_sub = _ops.mul, _ops.sqr, _ops.sub
pallas8_one, pallas8_copy, pallas8_zeros = _ops.one, _ops.copy, _ops.zeros
pallas8_inv = lane_inverse("pallas8_inv", PALLAS_LANES)

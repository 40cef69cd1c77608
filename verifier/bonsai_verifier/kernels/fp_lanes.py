"""Fp eight at a time: 8 limbs of 52 bits in Montgomery form, R = 2^416 (contracts: lanes.py).

A vector body: compiled only where cpu.py says that it may run.
"""

from ..parameters import FP_MODULUS
from .fp import FP_WORDS
from .lanes import LaneField, lane_constant, lane_inverse, lane_operations

FP_LANES = LaneField(FP_MODULUS, 8, FP_WORDS, folds=7)
FP_BLOCK = FP_LANES.block_bytes

_ops = lane_operations("fp8", FP_LANES)
fp8_mul, fp8_mul2, fp8_sqr, fp8_sqr2, fp8_sqr_times, fp8_sqr2_times = (
    _ops.mul,
    _ops.mul2,
    _ops.sqr,
    _ops.sqr2,
    _ops.sqr_times,
    _ops.sqr2_times,
)
fp8_add, fp8_sub, fp8_neg, fp8_copy, fp8_zero = _ops.add, _ops.sub, _ops.neg, _ops.copy, _ops.zero
fp8_one, fp8_exact, fp8_zeros, fp8_equals, fp8_select = _ops.one, _ops.exact, _ops.zeros, _ops.equals, _ops.select
fp8_enter, fp8_leave, fp8_to_mont, fp8_from_mont = _ops.enter, _ops.leave, _ops.to_mont, _ops.from_mont
fp8_inv = lane_inverse("fp8_inv", FP_LANES)


def fp8_constant(name, x):
    """An intrinsic f(d) that writes the integer x modulo p in every lane, in Montgomery form."""
    return lane_constant(name, FP_LANES, x)

"""Fp eight at a time: 8 limbs of 52 bits in Montgomery form, R = 2^416 (contracts: lanes.py).

A vector body: compiled only where cpu.py says that it may run.
"""

from ..parameters import FP_MODULUS
from .fp import FP_WORDS
from .lane_machine import LaneField
from .lane_operations import lane_inverse, lane_operations

FP_LANES = LaneField(FP_MODULUS, 8, FP_WORDS, folds=7)
FP_BLOCK = FP_LANES.block_bytes

_ops = lane_operations("fp8", FP_LANES)
fp8_enter, fp8_leave, fp8_one, fp8_zeros, fp8_equals = _ops.enter, _ops.leave, _ops.one, _ops.zeros, _ops.equals
fp8_inv = lane_inverse("fp8_inv", FP_LANES)

"""Fr eight at a time: 5 limbs of 52 bits in Montgomery form, R = 2^260 (contracts: lanes.py).

A vector body: compiled only where cpu.py says that it may run.
"""

from ..parameters import FR_MODULUS
from .fr import FR_WORDS
from .lane_machine import LaneField
from .lane_operations import lane_inverse, lane_operations

FR_LANES = LaneField(FR_MODULUS, 5, FR_WORDS, folds=3)
FR_BLOCK = FR_LANES.block_bytes

_ops = lane_operations("fr8", FR_LANES)
fr8_mul, fr8_mul2, fr8_sqr, fr8_sqr2, fr8_sqr2_times = _ops.mul, _ops.mul2, _ops.sqr, _ops.sqr2, _ops.sqr2_times
fr8_sub, fr8_copy, fr8_zero, fr8_one, fr8_select = _ops.sub, _ops.copy, _ops.zero, _ops.one, _ops.select
fr8_enter, fr8_leave, fr8_zeros, fr8_equals = _ops.enter, _ops.leave, _ops.zeros, _ops.equals
fr8_inv = lane_inverse("fr8_inv", FR_LANES)

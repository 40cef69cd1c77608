"""Fp, the base field of BLS12-381: 6 x 64-bit limbs in Montgomery form, R = 2^384 (contract: limbs.py)."""

import numpy as np

from ..parameters import FP_MODULUS
from .cache import inner, kernel
from .limbs import field_operations, load_word, stack

FP_WORDS = 6
FP_BYTES = 48
_BITS = 384

_ops = field_operations("fp", FP_MODULUS, FP_WORDS)
fp_mul, fp_add, fp_sub, fp_neg, fp_copy = _ops.mul, _ops.add, _ops.sub, _ops.neg, _ops.copy
fp_from_mont, fp_to_mont, fp_zero, fp_one = _ops.from_mont, _ops.to_mont, _ops.zero, _ops.one
fp_is_zero, fp_eq, fp_is_canonical = _ops.is_zero, _ops.eq, _ops.is_canonical


def _words(x: int) -> np.ndarray:
    return np.array([(x >> (64 * i)) % 2**64 for i in range(FP_WORDS)], dtype=np.uint64)


_INVERSE_EXPONENT = _words(FP_MODULUS - 2)
_ROOT_EXPONENT = _words((FP_MODULUS + 1) // 4)  # p = 3 mod 4
_HALF = _words((FP_MODULUS - 1) // 2)
_ONE_BIT = np.uint64(1)


@inner
def fp_sqr(d, a):
    """a^2."""
    fp_mul(d, a, a)


@inner
def fp_dbl(d, a):
    """2 a."""
    fp_add(d, a, a)


@inner
def _fp_pow(d, a, exponent):
    """a^exponent for a public 6-word exponent.  Variable time in the exponent.  About 380 squarings, 190 multiplications."""
    base = stack(6)
    fp_copy(base, a)
    fp_one(d)
    for i in range(_BITS - 1, -1, -1):
        fp_mul(d, d, d)
        if (exponent[i >> 6] >> np.uint64(i & 63)) & _ONE_BIT:
            fp_mul(d, d, base)


@inner
def fp_inv(d, a):
    """1/a, and 0 for a = 0 (Fermat: a^(p - 2))."""
    _fp_pow(d, a, _INVERSE_EXPONENT)


@inner
def fp_sqrt(d, a):
    """A square root of a, as a^((p + 1)/4).  Out: True if a is a square; d is meaningless otherwise.  d must not be a."""
    check = stack(6)
    _fp_pow(d, a, _ROOT_EXPONENT)
    fp_mul(check, d, d)
    return fp_eq(check, a)


@inner
def fp_is_larger(a):
    """a > (p - 1)/2 as an integer: the sign bit of a compressed point."""
    x = stack(6)
    fp_from_mont(x, a)
    for i in range(5, -1, -1):
        w = load_word(x + 8 * i)
        if w != _HALF[i]:
            return w > _HALF[i]
    return False


@kernel
def fp_to_mont_many(out, a):
    """In: a (n, 6) canonical.  Out: out (n, 6) Montgomery."""
    for i in range(a.shape[0]):
        fp_to_mont(out.ctypes.data + FP_BYTES * i, a.ctypes.data + FP_BYTES * i)


@kernel
def fp_from_mont_many(out, a):
    """In: a (n, 6) Montgomery.  Out: out (n, 6) canonical."""
    for i in range(a.shape[0]):
        fp_from_mont(out.ctypes.data + FP_BYTES * i, a.ctypes.data + FP_BYTES * i)


@kernel
def fp_mul_many(out, a, b):
    """out_i = a_i b_i on (n, 6) arrays in Montgomery form."""
    for i in range(a.shape[0]):
        fp_mul(out.ctypes.data + FP_BYTES * i, a.ctypes.data + FP_BYTES * i, b.ctypes.data + FP_BYTES * i)

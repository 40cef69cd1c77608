"""Fr, the scalar field of BLS12-381: 4 x 64-bit limbs in Montgomery form, R = 2^256 (contract: limbs.py)."""

import numpy as np

from ..parameters import FR_MODULUS
from .cache import inner, kernel
from .limbs import field_operations, stack

FR_WORDS = 4
FR_BYTES = 32
_BITS = 256

_ops = field_operations("fr", FR_MODULUS, FR_WORDS)
fr_mul, fr_add, fr_sub, fr_neg, fr_copy = _ops.mul, _ops.add, _ops.sub, _ops.neg, _ops.copy
fr_from_mont, fr_to_mont, fr_zero, fr_one = _ops.from_mont, _ops.to_mont, _ops.zero, _ops.one
fr_is_zero, fr_eq, fr_is_canonical = _ops.is_zero, _ops.eq, _ops.is_canonical

_INVERSE_EXPONENT = np.array([((FR_MODULUS - 2) >> (64 * i)) % 2**64 for i in range(FR_WORDS)], dtype=np.uint64)
_ONE_BIT = np.uint64(1)


@inner
def fr_inv(d, a):
    """1/a, and 0 for a = 0 (Fermat: a^(r - 2))."""
    base = stack(4)
    fr_copy(base, a)
    fr_one(d)
    for i in range(_BITS - 1, -1, -1):
        fr_mul(d, d, d)
        if (_INVERSE_EXPONENT[i >> 6] >> np.uint64(i & 63)) & _ONE_BIT:
            fr_mul(d, d, base)


@kernel
def fr_to_mont_many(out, a):
    """In: a (n, 4) canonical.  Out: out (n, 4) Montgomery."""
    for i in range(a.shape[0]):
        fr_to_mont(out.ctypes.data + FR_BYTES * i, a.ctypes.data + FR_BYTES * i)


@kernel
def fr_from_mont_many(out, a):
    """In: a (n, 4) Montgomery.  Out: out (n, 4) canonical."""
    for i in range(a.shape[0]):
        fr_from_mont(out.ctypes.data + FR_BYTES * i, a.ctypes.data + FR_BYTES * i)


@kernel
def fr_mul_many(out, a, b):
    """out_i = a_i b_i on (n, 4) arrays in Montgomery form; b with one row is a common factor."""
    step = FR_BYTES if b.shape[0] > 1 else 0
    for i in range(a.shape[0]):
        fr_mul(out.ctypes.data + FR_BYTES * i, a.ctypes.data + FR_BYTES * i, b.ctypes.data + step * i)


@kernel
def fr_add_many(out, a, b):
    """out_i = a_i + b_i on (n, 4) arrays; b with one row is a common addend."""
    step = FR_BYTES if b.shape[0] > 1 else 0
    for i in range(a.shape[0]):
        fr_add(out.ctypes.data + FR_BYTES * i, a.ctypes.data + FR_BYTES * i, b.ctypes.data + step * i)


@kernel
def fr_sub_many(out, a, b):
    """out_i = a_i - b_i on (n, 4) arrays; b with one row is a common subtrahend."""
    step = FR_BYTES if b.shape[0] > 1 else 0
    for i in range(a.shape[0]):
        fr_sub(out.ctypes.data + FR_BYTES * i, a.ctypes.data + FR_BYTES * i, b.ctypes.data + step * i)


@kernel
def fr_inv_many(out, a):
    """out_i = 1/a_i (0 for 0) with one inversion: 3 multiplications an element.  out must not be a."""
    acc, saved = stack(4), stack(4)
    fr_one(acc)
    n = a.shape[0]
    for i in range(n):
        ai = a.ctypes.data + FR_BYTES * i
        fr_copy(out.ctypes.data + FR_BYTES * i, acc)
        if not fr_is_zero(ai):
            fr_mul(acc, acc, ai)
    fr_inv(saved, acc)
    fr_copy(acc, saved)
    for i in range(n - 1, -1, -1):
        ai, oi = a.ctypes.data + FR_BYTES * i, out.ctypes.data + FR_BYTES * i
        if fr_is_zero(ai):
            fr_zero(oi)
        else:
            fr_mul(oi, oi, acc)
            fr_mul(acc, acc, ai)


@kernel
def fr_powers(out, base, first):
    """out_i = first base^i on an (n, 4) array; base, first (1, 4)."""
    acc = stack(4)
    fr_copy(acc, first.ctypes.data)
    for i in range(out.shape[0]):
        fr_copy(out.ctypes.data + FR_BYTES * i, acc)
        fr_mul(acc, acc, base.ctypes.data)


@kernel
def fr_is_canonical_all(a):
    """True if every row of the (n, 4) array is below r as a plain integer."""
    for i in range(a.shape[0]):
        if not fr_is_canonical(a.ctypes.data + FR_BYTES * i):
            return False
    return True

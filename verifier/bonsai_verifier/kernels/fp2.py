"""Fp2 = Fp[u]/(u^2 + 1): c0 | c1, 96 bytes.

Arguments are addresses of Montgomery coordinates below p, and so are results.  d may be an operand unless a function says otherwise.
Functions that branch are `inner`, or `inlined` where one place calls them; all others formulas (intrinsics.py).
"""

from ..parameters import FP_MODULUS
from .cache import inlined, inner
from .fp import (
    FP_BYTES,
    fp_add,
    fp_constant,
    fp_copy,
    fp_eq,
    fp_inv,
    fp_is_larger,
    fp_is_zero,
    fp_mul,
    fp_neg,
    fp_one,
    fp_sqr,
    fp_sqrt,
    fp_sub,
    fp_zero,
)
from .intrinsics import formula
from .limbs import stack
from .sums import sum_of_fp2_products

FP2_BYTES = 96
XI = (1, 1)  # u + 1, neither square nor cube in Fp2: the towers above adjoin its roots

# d = a b = (a0 b0 - a1 b1) + (a0 b1 + a1 b0) u, and sums of such products of elements one after the other
fp2_mul, fp2_mul_2, fp2_mul_3 = sum_of_fp2_products(1), sum_of_fp2_products(2), sum_of_fp2_products(3)

_U = FP_BYTES
_half = fp_constant("fp2_half", (FP_MODULUS + 1) // 2)


def plain_fp2_pow(a: tuple[int, int], k: int) -> tuple[int, int]:
    """a^k in Fp2 on plain integers, k >= 0: for constants."""
    x, y = (1, 0), a
    while k:
        if k & 1:
            x = _plain_fp2_mul(x, y)
        y, k = _plain_fp2_mul(y, y), k >> 1
    return x


def _plain_fp2_mul(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return (a[0] * b[0] - a[1] * b[1]) % FP_MODULUS, (a[0] * b[1] + a[1] * b[0]) % FP_MODULUS


@formula
def fp2_copy(d, a):
    """a."""
    fp_copy(d, a)
    fp_copy(d + _U, a + _U)


@formula
def fp2_zero(d):
    """0."""
    fp_zero(d)
    fp_zero(d + _U)


@formula
def fp2_one(d):
    """1."""
    fp_one(d)
    fp_zero(d + _U)


@formula
def fp2_add(d, a, b):
    """a + b."""
    fp_add(d, a, b)
    fp_add(d + _U, a + _U, b + _U)


@formula
def fp2_sub(d, a, b):
    """a - b."""
    fp_sub(d, a, b)
    fp_sub(d + _U, a + _U, b + _U)


@formula
def fp2_dbl(d, a):
    """2 a."""
    fp_add(d, a, a)
    fp_add(d + _U, a + _U, a + _U)


@formula
def fp2_neg(d, a):
    """-a."""
    fp_neg(d, a)
    fp_neg(d + _U, a + _U)


@formula
def fp2_conj(d, a):
    """a^p = c0 - c1 u."""
    fp_copy(d, a)
    fp_neg(d + _U, a + _U)


@formula
def fp2_sqr(d, a):
    """a^2 = (a0 + a1)(a0 - a1) + 2 a0 a1 u."""
    s, t = stack(6), stack(6)
    fp_add(s, a, a + _U)
    fp_sub(t, a, a + _U)
    fp_mul(d + _U, a, a + _U)
    fp_mul(d, s, t)
    fp_add(d + _U, d + _U, d + _U)


@formula
def fp2_mul_fp(d, a, b):
    """a b for b in Fp."""
    t = stack(6)
    fp_copy(t, b)
    fp_mul(d, a, t)
    fp_mul(d + _U, a + _U, t)


@formula
def fp2_mul_by_xi(d, a):
    """a (1 + u) = (a0 - a1) + (a0 + a1) u."""
    t = stack(6)
    fp_sub(t, a, a + _U)
    fp_add(d + _U, a, a + _U)
    fp_copy(d, t)


@formula
def _fp2_norm(d, a):
    """a^(p + 1) = a0^2 + a1^2, in Fp."""
    t = stack(6)
    fp_sqr(t, a)
    fp_sqr(d, a + _U)
    fp_add(d, d, t)


@formula
def fp2_inv(d, a):
    """1/a = conj(a) / norm(a), and 0 for a = 0."""
    t = stack(6)
    _fp2_norm(t, a)
    fp_inv(t, t)
    fp2_conj(d, a)
    fp2_mul_fp(d, d, t)


@inner
def fp2_is_zero(a):
    """a = 0."""
    return fp_is_zero(a) and fp_is_zero(a + _U)


@inner
def fp2_eq(a, b):
    """a = b."""
    return fp_eq(a, b) and fp_eq(a + _U, b + _U)


@inner
def fp2_is_larger(a):
    """a > -a, comparing c1 first, then c0, as integers: the sign bit of a compressed point."""
    if fp_is_zero(a + _U):
        return fp_is_larger(a)
    return fp_is_larger(a + _U)


@inlined
def fp2_sqrt(d, a):
    """A square root of a.  Out: True if a is a square; d is meaningless otherwise.  d must not be a.

    With s^2 = norm(a), (x0 + x1 u)^2 = a for x1 = a1/(2 x0) and x0^2 = (a0 + s)/2 or (a0 - s)/2.  The product of the two is -a1^2/4, and
    -1 is no square in Fp, so for a1 != 0 exactly one of them is a square: a has a root if and only if its norm has one in Fp.
    """
    s, t, half = stack(6), stack(6), stack(6)
    if fp_is_zero(a + _U):
        fp2_zero(d)
        if not fp_sqrt(d, a):
            fp_neg(t, a)
            fp_zero(d)
            fp_sqrt(d + _U, t)  # (x1 u)^2 = -x1^2
        return True
    _fp2_norm(t, a)
    if not fp_sqrt(s, t):
        return False
    _half(half)
    fp_add(t, a, s)
    fp_mul(t, t, half)
    if not fp_sqrt(d, t):
        fp_sub(t, a, t)
        fp_sqrt(d, t)
    fp_add(t, d, d)
    fp_inv(t, t)
    fp_mul(d + _U, t, a + _U)
    return True

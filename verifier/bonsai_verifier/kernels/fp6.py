"""Fp6 = Fp2[v]/(v^3 - xi), xi = u + 1: c0 | c1 | c2, 288 bytes.

The contract is that of fp2.py.  M, S: a multiplication and a squaring in Fp2; sums of M share their reductions (sums.py).
"""

from .fp2 import (
    FP2_BYTES,
    fp2_add,
    fp2_copy,
    fp2_dbl,
    fp2_inv,
    fp2_mul,
    fp2_mul_2,
    fp2_mul_3,
    fp2_mul_by_xi,
    fp2_neg,
    fp2_one,
    fp2_sqr,
    fp2_sub,
    fp2_zero,
)
from .intrinsics import formula
from .limbs import stack

FP6_BYTES = 288

_V, _V2, _V3, _V4 = (FP2_BYTES * i for i in range(1, 5))


@formula
def fp6_copy(d, a):
    """a."""
    for i in (0, _V, _V2):
        fp2_copy(d + i, a + i)


@formula
def fp6_zero(d):
    """0."""
    for i in (0, _V, _V2):
        fp2_zero(d + i)


@formula
def fp6_one(d):
    """1."""
    fp2_one(d)
    fp2_zero(d + _V)
    fp2_zero(d + _V2)


@formula
def fp6_add(d, a, b):
    """a + b."""
    for i in (0, _V, _V2):
        fp2_add(d + i, a + i, b + i)


@formula
def fp6_sub(d, a, b):
    """a - b."""
    for i in (0, _V, _V2):
        fp2_sub(d + i, a + i, b + i)


@formula
def fp6_neg(d, a):
    """-a."""
    for i in (0, _V, _V2):
        fp2_neg(d + i, a + i)


@formula
def fp6_mul_by_v(d, a):
    """a v = xi a2 + a0 v + a1 v^2."""
    t = stack(12)
    fp2_mul_by_xi(t, a + _V2)
    fp2_copy(d + _V2, a + _V)
    fp2_copy(d + _V, a)
    fp2_copy(d, t)


@formula
def fp6_mul(d, a, b):
    """a b, every coefficient a sum of three products: with s = b2 | b1 | b0 | xi b2 | xi b1,

    d0 = a0 s2 + a1 s3 + a2 s4,   d1 = a0 s1 + a1 s2 + a2 s3,   d2 = a0 s0 + a1 s1 + a2 s2
    """
    s, t = stack(60), stack(36)
    fp2_copy(s, b + _V2)
    fp2_copy(s + _V, b + _V)
    fp2_copy(s + _V2, b)
    fp2_mul_by_xi(s + _V3, b + _V2)
    fp2_mul_by_xi(s + _V4, b + _V)
    fp2_mul_3(t, a, s + _V2)
    fp2_mul_3(t + _V, a, s + _V)
    fp2_mul_3(t + _V2, a, s)
    fp6_copy(d, t)


@formula
def fp6_sqr(d, a):
    """a^2.  2M 3S, by s = (a0 - a1 + a2)^2.  Source: Chung, Hasan 2007, SQR2.

    d0 = a0^2 + xi 2 a1 a2,   d1 = 2 a0 a1 + xi a2^2,   d2 = s + 2 a0 a1 + 2 a1 a2 - a0^2 - a2^2
    """
    p0, p2, m01, m12 = stack(12), stack(12), stack(12), stack(12)
    fp2_sqr(p0, a)
    fp2_sqr(p2, a + _V2)
    fp2_mul(m01, a, a + _V)
    fp2_dbl(m01, m01)
    fp2_mul(m12, a + _V, a + _V2)
    fp2_dbl(m12, m12)

    fp2_add(d + _V2, a, a + _V2)
    fp2_sub(d + _V2, d + _V2, a + _V)
    fp2_sqr(d + _V2, d + _V2)
    fp2_add(d + _V2, d + _V2, m01)
    fp2_add(d + _V2, d + _V2, m12)
    fp2_sub(d + _V2, d + _V2, p0)
    fp2_sub(d + _V2, d + _V2, p2)

    fp2_mul_by_xi(m12, m12)
    fp2_add(d, p0, m12)
    fp2_mul_by_xi(p2, p2)
    fp2_add(d + _V, m01, p2)


@formula
def fp6_mul_by_01(d, a, b):
    """a (b0 + b1 v); only b0 and b1 are read: with s = xi a2 | a0 | a1 | a2,

    d0 = s0 b1 + s1 b0,   d1 = s1 b1 + s2 b0,   d2 = s2 b1 + s3 b0
    """
    s, t = stack(48), stack(24)
    fp2_mul_by_xi(s, a + _V2)
    fp6_copy(s + _V, a)
    fp2_copy(t, b + _V)
    fp2_copy(t + _V, b)
    fp2_mul_2(d, s, t)
    fp2_mul_2(d + _V, s + _V, t)
    fp2_mul_2(d + _V2, s + _V2, t)


@formula
def _fp6_adjoint(d, a):
    """The d with a d = norm(a) in Fp2: a0^2 - xi a1 a2,  xi a2^2 - a0 a1,  a1^2 - a0 a2.  d must not be a."""
    t = stack(12)
    fp2_sqr(d, a)
    fp2_mul(t, a + _V, a + _V2)
    fp2_mul_by_xi(t, t)
    fp2_sub(d, d, t)
    fp2_sqr(d + _V, a + _V2)
    fp2_mul_by_xi(d + _V, d + _V)
    fp2_mul(t, a, a + _V)
    fp2_sub(d + _V, d + _V, t)
    fp2_sqr(d + _V2, a + _V)
    fp2_mul(t, a, a + _V2)
    fp2_sub(d + _V2, d + _V2, t)


@formula
def _fp6_mul_fp2(d, a, b):
    """a b for b in Fp2, d not holding b."""
    for i in (0, _V, _V2):
        fp2_mul(d + i, a + i, b)


@formula
def fp6_inv(d, a):
    """1/a, and 0 for a = 0."""
    adjoint, product, t = stack(36), stack(36), stack(12)
    _fp6_adjoint(adjoint, a)
    fp6_mul(product, a, adjoint)
    fp2_inv(t, product)
    _fp6_mul_fp2(d, adjoint, t)

"""Fp12 = Fp6[w]/(w^2 - v): c0 | c1, 576 bytes.

The contract is that of fp2.py.  S: a squaring in Fp2, of 2 multiplications in Fp.
"""

from itertools import chain

from ..parameters import FP_MODULUS
from .fp import fp_constant
from .fp2 import (
    FP2_BYTES,
    XI,
    fp2_add,
    fp2_conj,
    fp2_copy,
    fp2_dbl,
    fp2_mul,
    fp2_mul_by_xi,
    fp2_mul_fp,
    fp2_sqr,
    fp2_sub,
    plain_fp2_pow,
)
from .fp6 import (
    FP6_BYTES,
    fp6_add,
    fp6_copy,
    fp6_inv,
    fp6_mul,
    fp6_mul_by_01,
    fp6_mul_by_v,
    fp6_neg,
    fp6_one,
    fp6_sqr,
    fp6_sub,
    fp6_zero,
)
from .intrinsics import formula
from .limbs import stack

FP12_WORDS = 72
# w^p = w xi^((p - 1)/6), as w^6 = xi.  So (c w^i)^p = conj(c) FROBENIUS[i] w^i.
FROBENIUS = [plain_fp2_pow(XI, i * (FP_MODULUS - 1) // 6) for i in range(6)]
# w^(p^2) = w xi^((p^2 - 1)/6), and that number lies in Fp: its 6th power is 1 and 6 divides p - 1.
FROBENIUS_2 = [plain_fp2_pow(XI, i * (FP_MODULUS**2 - 1) // 6) for i in range(6)]

_W = FP6_BYTES
_POWERS_OF_W = [FP6_BYTES * (i % 2) + FP2_BYTES * (i // 2) for i in range(6)]  # offsets of their coefficients: w^2 = v
_frobenius_table = fp_constant("fp12_frobenius_table", *chain(*FROBENIUS))
_frobenius_2_table = fp_constant("fp12_frobenius_2_table", *chain(*FROBENIUS_2))


@formula
def fp12_copy(d, a):
    """a."""
    fp6_copy(d, a)
    fp6_copy(d + _W, a + _W)


@formula
def fp12_one(d):
    """1."""
    fp6_one(d)
    fp6_zero(d + _W)


@formula
def fp12_conj(d, a):
    """a^(p^6) = a0 - a1 w.  It is 1/a in the cyclotomic subgroup."""
    fp6_copy(d, a)
    fp6_neg(d + _W, a + _W)


@formula
def fp12_mul(d, a, b):
    """a b = (a0 b0 + v a1 b1) + ((a0 + a1)(b0 + b1) - a0 b0 - a1 b1) w.  3 products in Fp6."""
    low, high, m = stack(36), stack(36), stack(36)
    fp6_mul(low, a, b)
    fp6_mul(high, a + _W, b + _W)
    fp6_add(m, a, a + _W)
    fp6_add(d + _W, b, b + _W)
    fp6_mul(m, m, d + _W)
    fp6_sub(m, m, low)
    fp6_sub(d + _W, m, high)
    fp6_mul_by_v(high, high)
    fp6_add(d, low, high)


@formula
def fp12_sqr(d, a):
    """a^2 = (a0 + a1)(a0 + v a1) - m - v m + 2 m w with m = a0 a1.  2 products in Fp6."""
    m, s, t = stack(36), stack(36), stack(36)
    fp6_mul(m, a, a + _W)
    fp6_add(s, a, a + _W)
    fp6_mul_by_v(t, a + _W)
    fp6_add(t, a, t)
    fp6_mul(s, s, t)
    fp6_add(d + _W, m, m)
    fp6_sub(s, s, m)
    fp6_mul_by_v(m, m)
    fp6_sub(d, s, m)


@formula
def fp12_mul_by_line(d, a, line):
    """a (l0 + l1 w^2 + w^3), line = l0 | l1 in Fp2.

    w^2 = v and w^3 = v w, so the factor is c + v w, c = l0 + l1 v, and the product (a0 c + v^2 a1) + (a1 c + v a0) w.
    """
    even, odd = stack(36), stack(36)
    fp6_mul_by_v(even, a + _W)
    fp6_mul_by_v(even, even)
    fp6_mul_by_v(odd, a)
    fp6_mul_by_01(d, a, line)
    fp6_mul_by_01(d + _W, a + _W, line)
    fp6_add(d, d, even)
    fp6_add(d + _W, d + _W, odd)


@formula
def fp12_frobenius(d, a):
    """a^p."""
    table = stack(72)
    _frobenius_table(table)
    for i, j in enumerate(_POWERS_OF_W):
        fp2_conj(d + j, a + j)
        fp2_mul(d + j, d + j, table + FP2_BYTES * i)


@formula
def fp12_frobenius_2(d, a):
    """a^(p^2)."""
    table = stack(72)
    _frobenius_2_table(table)
    for i, j in enumerate(_POWERS_OF_W):
        fp2_mul_fp(d + j, a + j, table + FP2_BYTES * i)


@formula
def _fp4_sqr(d, a, b):
    """(a + b s)^2 = (a^2 + xi b^2) + 2 a b s, s^2 = xi; d = c0 | c1, d not holding a or b.  3S."""
    t = stack(12)
    fp2_add(t, a, b)
    fp2_sqr(t, t)
    fp2_sqr(d, a)
    fp2_sqr(d + FP2_BYTES, b)
    fp2_sub(t, t, d)
    fp2_sub(t, t, d + FP2_BYTES)
    fp2_mul_by_xi(d + FP2_BYTES, d + FP2_BYTES)
    fp2_add(d, d, d + FP2_BYTES)
    fp2_copy(d + FP2_BYTES, t)


@formula
def _3a_minus_2b(d, a, b):
    """3 a - 2 b = 2 (a - b) + a in Fp2; d may be b."""
    fp2_sub(d, a, b)
    fp2_dbl(d, d)
    fp2_add(d, d, a)


@formula
def _3a_plus_2b(d, a, b):
    """3 a + 2 b = 2 (a + b) + a in Fp2; d may be b."""
    fp2_add(d, a, b)
    fp2_dbl(d, d)
    fp2_add(d, d, a)


@formula
def fp12_cyclotomic_sqr(d, a):
    """a^2 for a in the cyclotomic subgroup, a^(p^4 - p^2 + 1) = 1.  9S.

    Let s = w^3, Fp4 = Fp2[s], a = A + B w + C w^2 over Fp4 and bar: s -> -s.  Then
    a^2 = (3 A^2 - 2 bar A) + (3 s C^2 + 2 bar B) w + (3 B^2 - 2 bar C) w^2.
    Source: Granger, Scott, ePrint 2009/565, section 3.2.
    """
    a2, b2, c2, t = stack(24), stack(24), stack(24), stack(12)
    w0, w1, w2, w3, w4, w5 = _POWERS_OF_W
    _fp4_sqr(a2, a + w0, a + w3)
    _fp4_sqr(b2, a + w1, a + w4)
    _fp4_sqr(c2, a + w2, a + w5)
    _3a_minus_2b(d + w0, a2, a + w0)
    _3a_plus_2b(d + w3, a2 + FP2_BYTES, a + w3)
    fp2_mul_by_xi(t, c2 + FP2_BYTES)  # s C^2 = xi c1 + c0 s
    _3a_plus_2b(d + w1, t, a + w1)
    _3a_minus_2b(d + w4, c2, a + w4)
    _3a_minus_2b(d + w2, b2, a + w2)
    _3a_plus_2b(d + w5, b2 + FP2_BYTES, a + w5)


@formula
def _fp12_norm(d, a):
    """a^(p^6 + 1) = a0^2 - v a1^2, in Fp6."""
    t = stack(36)
    fp6_sqr(t, a + _W)
    fp6_mul_by_v(t, t)
    fp6_sqr(d, a)
    fp6_sub(d, d, t)


@formula
def _fp12_mul_fp6(d, a, b):
    """a b for b in Fp6, d not holding b."""
    fp6_mul(d, a, b)
    fp6_mul(d + _W, a + _W, b)


@formula
def fp12_inv(d, a):
    """1/a = conj(a) / norm(a), and 0 for a = 0."""
    t = stack(36)
    _fp12_norm(t, a)
    fp6_inv(t, t)
    fp12_conj(d, a)
    _fp12_mul_fp6(d, d, t)

"""Products of the optimal ate pairing e: G1 x G2 -> Fp12 of BLS12-381.

e(P, Q) = f^(3 (p^12 - 1)/r), where f = conj(f_{|z|, Q}(P)) is Miller's function, conjugated because z < 0.  The factor 3 makes the last
exponentiation short (Hayashida, Hayasaka, Teruya, ePrint 2020/875).  It changes no verdict: f^((p^12 - 1)/r) is an r-th root of one,
r is prime and not 3, so the cube is one if and only if the number is.

Miller's loop: Vercauteren, ePrint 2008/096 (optimal: log2(r)/phi(12) = 64 steps); line functions in homogeneous coordinates on the twist:
Costello, Lange, Naehrig, ePrint 2009/615.  E' -> E sends (x, y) to (x/w^2, y/w^3), so the line through T with slope m on E' has slope m/w
on E, and at P its value times w^3 is

    (m xT - yT) - m xP w^2 + yP w^3.

Factors w^3, and all in Fp2 such as denominators, are lost in the last exponentiation: it holds p^6 - 1 and the even p^2 + 1 as factors.

In: points that were found to lie in G1 and in G2; infinity, (0, 0), on either side makes the factor of its pair 1.  For other points
the loop takes the same steps, divides by nothing and ends, but its value means nothing.  Only there can a step degenerate: for Q of order
r, T = [j] Q with 1 < j < r - 1 before each addition, whereas for Q of small order T may be Q, -Q or infinity, and lines become 0.
"""

import numpy as np

from ..parameters import BLS_X, FP_MODULUS
from .cache import kernel
from .fp import FP_BYTES
from .fp2 import FP2_BYTES, fp2_add, fp2_copy, fp2_dbl, fp2_mul, fp2_mul_fp, fp2_neg, fp2_sqr, fp2_sub
from .fp12 import (
    FP12_WORDS,
    fp12_conj,
    fp12_copy,
    fp12_cyclotomic_sqr,
    fp12_frobenius,
    fp12_frobenius_2,
    fp12_inv,
    fp12_mul,
    fp12_mul_by_line,
    fp12_one,
    fp12_sqr,
)
from .g1 import G1_AFFINE_WORDS, g1_affine_is_infinity
from .g2 import G2_AFFINE_WORDS, G2_PROJECTIVE_WORDS, fp2_mul_by_3b, g2_affine_is_infinity, g2_from_affine
from .intrinsics import formula
from .limbs import row, rows, stack, words

_Y, _Z = FP2_BYTES, 2 * FP2_BYTES
_L1, _L2 = FP2_BYTES, 2 * FP2_BYTES
_STEPS = f"{-BLS_X:b}"[1:]  # of a double-and-add ladder for |z|: "1" adds
_ADDS = np.array([step == "1" for step in _STEPS])
FP12_ONE = words(2**384 % FP_MODULUS, FP12_WORDS)


# Steps of Miller's loop ------------------------------------------------------------------------------------------------------


@formula
def _double_step(t, line):
    """T <- 2 T, and the tangent at the old T.  3M 6S.

    With B = Y^2, E = 3b Z^2, H = 2 YZ, and slope 3 X^2/H:  l0 = B - E,  l1 = -3 X^2,  l2 = H  (times H; l0 by the curve equation).
    2 T = (2 XY (B - 3 E) : (B + 3 E)^2 - 12 E^2 : 4 B H)
    """
    xx, yy, e, h, s = stack(12), stack(12), stack(12), stack(12), stack(12)
    fp2_sqr(xx, t)
    fp2_sqr(yy, t + _Y)
    fp2_sqr(e, t + _Z)
    fp2_add(h, t + _Y, t + _Z)
    fp2_sqr(h, h)
    fp2_sub(h, h, yy)
    fp2_sub(h, h, e)
    fp2_mul_by_3b(e, e)
    fp2_add(s, t, t + _Y)
    fp2_sqr(s, s)
    fp2_sub(s, s, xx)
    fp2_sub(s, s, yy)  # 2 XY

    fp2_sub(line, yy, e)
    fp2_dbl(line + _L1, xx)
    fp2_add(line + _L1, line + _L1, xx)
    fp2_neg(line + _L1, line + _L1)
    fp2_copy(line + _L2, h)

    fp2_dbl(xx, e)
    fp2_add(xx, xx, e)  # 3 E
    fp2_sub(t, yy, xx)
    fp2_mul(t, t, s)
    fp2_add(t + _Y, yy, xx)
    fp2_sqr(t + _Y, t + _Y)
    fp2_dbl(e, e)
    fp2_sqr(e, e)  # 4 E^2
    fp2_sub(t + _Y, t + _Y, e)
    fp2_dbl(e, e)
    fp2_sub(t + _Y, t + _Y, e)
    fp2_dbl(yy, yy)
    fp2_dbl(yy, yy)
    fp2_mul(t + _Z, yy, h)


@formula
def _add_step(t, line, q):
    """T <- T + Q for an affine Q, and the line through both.  11M 2S.

    With N = Y - yQ Z, D = X - xQ Z and slope N/D:  l0 = N xQ - D yQ,  l1 = -N,  l2 = D  (times D).
    With F = D^3 + Z N^2 - 2 X D^2:  T + Q = (D F : N (X D^2 - F) - Y D^3 : Z D^3)
    """
    n, d, dd, ddd, f, s = stack(12), stack(12), stack(12), stack(12), stack(12), stack(12)
    fp2_mul(n, q + _Y, t + _Z)
    fp2_sub(n, t + _Y, n)
    fp2_mul(d, q, t + _Z)
    fp2_sub(d, t, d)

    fp2_mul(line, n, q)
    fp2_mul(s, d, q + _Y)
    fp2_sub(line, line, s)
    fp2_neg(line + _L1, n)
    fp2_copy(line + _L2, d)

    fp2_sqr(dd, d)
    fp2_mul(ddd, dd, d)
    fp2_mul(dd, dd, t)  # X D^2
    fp2_sqr(f, n)
    fp2_mul(f, f, t + _Z)
    fp2_add(f, f, ddd)
    fp2_sub(f, f, dd)
    fp2_sub(f, f, dd)
    fp2_mul(t, d, f)
    fp2_sub(s, dd, f)
    fp2_mul(s, s, n)
    fp2_mul(t + _Y, t + _Y, ddd)
    fp2_sub(t + _Y, s, t + _Y)
    fp2_mul(t + _Z, t + _Z, ddd)


@formula
def _mul_by_line_at(f, line, p):
    """f <- f (l0 + l1 xP w^2 + l2 yP w^3)."""
    at = stack(36)
    fp2_copy(at, line)
    fp2_mul_fp(at + _L1, line + _L1, p)
    fp2_mul_fp(at + _L2, line + _L2, p + FP_BYTES)
    fp12_mul_by_line(f, f, at)


# The last exponentiation -----------------------------------------------------------------------------------------------------


@formula
def _pow_z(d, a):
    """a^z for a in the cyclotomic subgroup: conj(a^|z|).  63 squarings, 5 multiplications.  d must not be a."""
    fp12_copy(d, a)
    for step in _STEPS:
        fp12_cyclotomic_sqr(d, d)
        if step == "1":
            fp12_mul(d, d, a)
    fp12_conj(d, d)


@formula
def _div(d, a, b):
    """a / b in the cyclotomic subgroup; d must not be a."""
    fp12_conj(d, b)
    fp12_mul(d, a, d)


@formula
def _mul_frobenius(d, a, b):
    """a b^p; d must not be a."""
    fp12_frobenius(d, b)
    fp12_mul(d, a, d)


@formula
def _mul_frobenius_2(d, a, b):
    """a b^(p^2); d must not be a."""
    fp12_frobenius_2(d, b)
    fp12_mul(d, a, d)


@formula
def _last_exponentiation(f):
    """f <- f^(3 (p^12 - 1)/r).  0 stays 0.

    3 (p^12 - 1)/r = (p^6 - 1)(p^2 + 1) h,   h = 3 (p^4 - p^2 + 1)/r = (z - 1)^2 (z + p)(z^2 + p^2 - 1) + 3 (ePrint 2020/875).
    """
    m, a, b = stack(72), stack(72), stack(72)
    fp12_inv(a, f)
    fp12_conj(b, f)
    fp12_mul(b, b, a)  # f^(p^6 - 1); from here on 1/x = conj(x)
    _mul_frobenius_2(m, b, b)  # in the cyclotomic subgroup

    _pow_z(b, m)
    _div(a, b, m)  # m^(z - 1)
    _pow_z(b, a)
    _div(f, b, a)  # m^((z - 1)^2)
    _pow_z(b, f)
    _mul_frobenius(a, b, f)  # a = m^((z - 1)^2 (z + p))
    _pow_z(f, a)
    _pow_z(b, f)
    _mul_frobenius_2(f, b, a)
    _div(b, f, a)  # a^(z^2 + p^2 - 1)
    fp12_cyclotomic_sqr(f, m)
    fp12_mul(f, f, m)
    fp12_mul(f, f, b)


# The product -----------------------------------------------------------------------------------------------------------------


@kernel
def _product(out, g1, g2, work):
    """out (1, 72) = the product for k points each, g1 (k, 12) and g2 (k, 24) affine; work (k, 36) is scratch."""
    f, line = row(out, 0), stack(36)
    fp12_one(f)
    for i in range(len(g1)):
        g2_from_affine(row(work, i), row(g2, i))
    for add in _ADDS:
        fp12_sqr(f, f)
        for i in range(len(g1)):
            p, q, t = row(g1, i), row(g2, i), row(work, i)
            if g1_affine_is_infinity(p) or g2_affine_is_infinity(q):
                continue
            _double_step(t, line)
            _mul_by_line_at(f, line, p)
            if add:
                _add_step(t, line, q)
                _mul_by_line_at(f, line, p)
    fp12_conj(f, f)
    _last_exponentiation(f)


def pairing_product(g1: np.ndarray, g2: np.ndarray) -> np.ndarray:
    """e(P_1, Q_1) ... e(P_k, Q_k).  In: g1 (k, 12), g2 (k, 24) affine, in G1 and G2.  Out: (72,) an element of Fp12."""
    g1, g2 = rows(g1, G1_AFFINE_WORDS), rows(g2, G2_AFFINE_WORDS)
    if len(g1) != len(g2):
        raise ValueError(f"{len(g1)} points of G1 for {len(g2)} of G2")
    out = np.empty((1, FP12_WORDS), np.uint64)
    _product(out, g1, g2, np.empty((len(g1), G2_PROJECTIVE_WORDS), np.uint64))
    return out[0]


def pairing_product_is_one(g1: np.ndarray, g2: np.ndarray) -> bool:
    """e(P_1, Q_1) ... e(P_k, Q_k) = 1; True for k = 0.  In: g1 (k, 12), g2 (k, 24) affine, in G1 and G2."""
    return np.array_equal(pairing_product(g1, g2), FP12_ONE)


@kernel
def _quotient(out, a, b):
    _div(row(out, 0), row(a, 0), row(b, 0))


def gt_quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b.  In: (72,) values of the pairing."""
    out = np.empty((1, FP12_WORDS), np.uint64)
    _quotient(out, a.reshape(1, -1), b.reshape(1, -1))
    return out[0]

"""Products of the optimal ate pairing e: G1 x G2 -> Fp12 of BLS12-381, over points of G2 whose lines were prepared.

e(P, Q) = f^(3 (p^12 - 1)/r), where f = conj(f_{|z|, Q}(P)) is Miller's function, conjugated because z < 0.  The factor 3 makes the last
exponentiation short (Hayashida, Hayasaka, Teruya, ePrint 2020/875).  It changes no verdict: f^((p^12 - 1)/r) is an r-th root of one,
r is prime and not 3, so the cube is one if and only if the number is.

Miller's loop: Vercauteren, ePrint 2008/096 (optimal: log2(r)/phi(12) = 64 steps); line functions in homogeneous coordinates on the twist:
Costello, Lange, Naehrig, ePrint 2009/615.  E' -> E sends (x, y) to (x/w^2, y/w^3), so the line through T with slope m on E' has slope m/w
on E, and at P its value times w^3 is

    (m xT - yT) - m xP w^2 + yP w^3.

Factors w^3, and all in Fp2 such as denominators, are lost in the last exponentiation: it holds p^6 - 1 and the even p^2 + 1 as factors.
So the line may be divided by yP: with l0 = m xT - yT and l1 = -m, which belong to Q alone and are prepared once (Costello, Stebila,
ePrint 2010/342), it is

    l0 (1/yP) + l1 (xP/yP) w^2 + w^3.

In: points that were found to lie in G1 and in G2, none of them infinity (which makes the factor of its pair 1, pairing.py).  For other
points the loop takes the same steps and ends, but its value means nothing.  Only there can a line degenerate: for Q of order r,
T = [j] Q with 1 < j < r - 1 before each addition, whereas for Q of small order T may be Q, -Q or infinity and a slope has no
denominator; and E has no point with y = 0, as its order is odd.  Then the product is 0, which is not 1.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..parameters import BLS_X, FP_MODULUS
from .cache import kernel
from .fp import FP_BYTES, fp_copy, fp_inv, fp_is_zero, fp_mul, fp_one
from .fp2 import (
    FP2_BYTES,
    fp2_add,
    fp2_copy,
    fp2_dbl,
    fp2_inv,
    fp2_is_zero,
    fp2_mul,
    fp2_mul_fp,
    fp2_neg,
    fp2_one,
    fp2_sqr,
    fp2_sub,
)
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
from .g1 import G1_AFFINE_WORDS
from .g2 import G2_AFFINE_WORDS, fp2_mul_by_3b, g2_from_affine
from .intrinsics import formula
from .limbs import row, rows, stack, words

_Y, _Z = FP2_BYTES, 2 * FP2_BYTES
_L1, _L2 = FP2_BYTES, 2 * FP2_BYTES
STEPS = f"{-BLS_X:b}"[1:]  # of a double-and-add ladder for |z|: "1" adds
DOUBLES = np.array(
    [line == "0" for step in STEPS for line in "0" + "1" * int(step)]
)  # the lines in order: tangents, or through Q
N_LINES = len(DOUBLES)
LINE_WORDS = 24  # l0 | l1
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


# What belongs to one side ----------------------------------------------------------------------------------------------------


@kernel
def _prepare(lines, q, scratch):
    """Miller's lines of one point, q (1, 24) affine and finite.  Out: lines (N_LINES, 24), l0 | l1 with l2 = 1; or False if a step
    degenerates.  One inversion; scratch (N_LINES, 36)."""
    t, inverse, s = stack(36), stack(12), stack(12)
    g2_from_affine(t, row(q, 0))
    for i in range(len(lines)):
        if DOUBLES[i]:
            _double_step(t, row(scratch, i))
        else:
            _add_step(t, row(scratch, i), row(q, 0))
    fp2_one(s)
    for i in range(len(lines)):
        fp2_copy(row(lines, i), s)  # the product of the earlier l2
        fp2_mul(s, s, row(scratch, i) + _L2)
    if fp2_is_zero(s):
        return False
    fp2_inv(inverse, s)
    for i in range(len(lines) - 1, -1, -1):
        d, line = row(lines, i), row(scratch, i)
        fp2_mul(s, d, inverse)  # 1/l2
        fp2_mul(inverse, inverse, line + _L2)
        fp2_mul(d, line, s)
        fp2_mul(d + _L1, line + _L1, s)
    return True


@kernel
def scale_points(out, g1):
    """x/y | 1/y of each of k points, affine and finite: (k, 12); or False if a y is 0.  One inversion, 4M a point."""
    acc, inverse = stack(6), stack(6)
    fp_one(acc)
    for i in range(len(g1)):
        fp_copy(row(out, i), acc)  # the product of the earlier y
        fp_mul(acc, acc, row(g1, i) + FP_BYTES)
    if fp_is_zero(acc):
        return False
    fp_inv(inverse, acc)
    for i in range(len(g1) - 1, -1, -1):
        d, a = row(out, i), row(g1, i)
        fp_mul(d + FP_BYTES, d, inverse)
        fp_mul(inverse, inverse, a + FP_BYTES)
        fp_mul(d, a, d + FP_BYTES)
    return True


def prepare(q: np.ndarray) -> np.ndarray | None:
    """The lines of a finite point, (24,) affine in G2: (N_LINES, 24), for `joined`.  None: a step degenerates."""
    lines = np.empty((N_LINES, LINE_WORDS), np.uint64)
    if not _prepare(lines, rows(q.reshape(1, -1), G2_AFFINE_WORDS), np.empty((N_LINES, LINE_WORDS + 12), np.uint64)):
        return None
    return lines


def joined(lines: Sequence[np.ndarray]) -> np.ndarray:
    """What `prepare` made of k points, as `product` takes it: (k N_LINES, 24)."""
    return np.concatenate(lines)


# The last exponentiation -----------------------------------------------------------------------------------------------------


class Element(NamedTuple):
    """Fp12 as a body has it: `room(size)` gives memory for an element, the others are intrinsics on addresses.

    pow_z(d, a) = a^z for a in the cyclotomic subgroup; d must not be a.
    """

    room: Any
    size: int
    mul: Any
    conj: Any
    inv: Any
    frobenius: Any
    frobenius_2: Any
    pow_z: Any


def last_exponentiation(name: str, element: Element) -> Any:
    """An intrinsic f(a) that turns a into a^(3 (p^12 - 1)/r), 0 into 0; `name` makes the IR symbols unique."""
    room, size, mul, conj, inv, frobenius, frobenius_2, pow_z = element

    def named(f: Callable[..., None]) -> Any:
        return formula(f, f"{name}_{f.__name__}")

    @named
    def div(d, a, b):
        """a / b in the cyclotomic subgroup; d must not be a."""
        conj(d, b)
        mul(d, a, d)

    @named
    def mul_frobenius(d, a, b):
        """a b^p; d must not be a."""
        frobenius(d, b)
        mul(d, a, d)

    @named
    def mul_frobenius_2(d, a, b):
        """a b^(p^2); d must not be a."""
        frobenius_2(d, b)
        mul(d, a, d)

    @named
    def power(f):
        """f <- f^(3 (p^12 - 1)/r).

        3 (p^12 - 1)/r = (p^6 - 1)(p^2 + 1) h,   h = 3 (p^4 - p^2 + 1)/r = (z - 1)^2 (z + p)(z^2 + p^2 - 1) + 3 (ePrint 2020/875).
        """
        m, a, b = room(size), room(size), room(size)
        inv(a, f)
        conj(b, f)
        mul(b, b, a)  # f^(p^6 - 1); from here on 1/x = conj(x)
        mul_frobenius_2(m, b, b)  # in the cyclotomic subgroup

        pow_z(b, m)
        div(a, b, m)  # m^(z - 1)
        pow_z(b, a)
        div(f, b, a)  # m^((z - 1)^2)
        pow_z(b, f)
        mul_frobenius(a, b, f)  # a = m^((z - 1)^2 (z + p))
        pow_z(f, a)
        pow_z(b, f)
        mul_frobenius_2(f, b, a)
        div(b, f, a)  # a^(z^2 + p^2 - 1)
        mul(f, m, m)
        mul(f, f, m)
        mul(f, f, b)

    return power


@formula
def _pow_z(d, a):
    """a^z for a in the cyclotomic subgroup: conj(a^|z|).  63 squarings, 5 multiplications.  d must not be a."""
    fp12_copy(d, a)
    for step in STEPS:
        fp12_cyclotomic_sqr(d, d)
        if step == "1":
            fp12_mul(d, d, a)
    fp12_conj(d, d)


_last_exponentiation = last_exponentiation(
    "fp12", Element(stack, FP12_WORDS, fp12_mul, fp12_conj, fp12_inv, fp12_frobenius, fp12_frobenius_2, _pow_z)
)


# The product -----------------------------------------------------------------------------------------------------------------


@formula
def _mul_by_line_at(f, line, p):
    """f <- f (l0 / yP + l1 xP / yP w^2 + w^3), p = xP / yP | 1 / yP."""
    at = stack(24)
    fp2_mul_fp(at, line, p + FP_BYTES)
    fp2_mul_fp(at + _L1, line + _L1, p)
    fp12_mul_by_line(f, f, at)


@kernel
def _product(out, points, lines):
    """out (1, 72) = the product for k scaled points (k, 12) and the lines (k N_LINES, 24) of as many."""
    f = row(out, 0)
    fp12_one(f)
    for i in range(N_LINES):
        if DOUBLES[i]:
            fp12_sqr(f, f)
        for j in range(len(points)):
            _mul_by_line_at(f, row(lines, j * N_LINES + i), row(points, j))
    fp12_conj(f, f)
    _last_exponentiation(f)


def product(g1: np.ndarray, lines: np.ndarray) -> np.ndarray:
    """e(P_1, Q_1) ... e(P_k, Q_k).  In: g1 (k, 12) finite, in G1; the joined lines of the Q.  Out: (72,) an element of Fp12."""
    g1 = rows(g1, G1_AFFINE_WORDS)
    points, out = np.empty_like(g1), np.zeros((1, FP12_WORDS), np.uint64)
    if scale_points(points, g1):
        _product(out, points, rows(lines, LINE_WORDS))
    return out[0]


# Elements of GT --------------------------------------------------------------------------------------------------------------


@kernel
def _multiply(out, a, b):
    fp12_mul(row(out, 0), row(a, 0), row(b, 0))


@kernel
def _conjugate(out, a):
    fp12_conj(row(out, 0), row(a, 0))


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a b in Fp12.  In, out: (72,) words."""
    out = np.empty((1, FP12_WORDS), np.uint64)
    _multiply(out, rows(a.reshape(1, -1), FP12_WORDS), rows(b.reshape(1, -1), FP12_WORDS))
    return out[0]


def conjugate(a: np.ndarray) -> np.ndarray:
    """a^(p^6): in GT, 1/a.  In, out: (72,) words."""
    out = np.empty((1, FP12_WORDS), np.uint64)
    _conjugate(out, rows(a.reshape(1, -1), FP12_WORDS))
    return out[0]

"""The tower over Fp that the pairing of BLS12-381 lives in.

  Fp2  = Fp[u]/(u^2 + 1)          c0 | c1          96 bytes
  Fp6  = Fp2[v]/(v^3 - xi)        c0 | c1 | c2    288 bytes    xi = u + 1
  Fp12 = Fp6[w]/(w^2 - v)         c0 | c1         576 bytes

Arguments are addresses of Montgomery coordinates below p, and so are results.  d may be an operand unless a function says otherwise.
M, S: a multiplication and a squaring in Fp2, of 3 and 2 multiplications in Fp.  Functions that branch or invert are `inner`, all others
formulas (formula.py).
"""

from ..parameters import FP_MODULUS
from .cache import inner
from .formula import formula
from .fp import (
    FP_BYTES,
    FP_WORDS,
    fp_add,
    fp_copy,
    fp_eq,
    fp_inv,
    fp_is_larger,
    fp_is_zero,
    fp_mul,
    fp_neg,
    fp_one,
    fp_sqrt,
    fp_sub,
    fp_zero,
)
from .limbs import constant, load_word, stack

FP2_WORDS, FP2_BYTES = 12, 96
FP6_WORDS, FP6_BYTES = 36, 288
FP12_WORDS, FP12_BYTES = 72, 576

_U = FP_BYTES  # offsets of coefficients: u in Fp2; v, v^2 in Fp6; w in Fp12
_V, _V2 = FP2_BYTES, 2 * FP2_BYTES
_W = FP6_BYTES
# Offsets of the Fp2 coefficients of w^0 ... w^5: w^2 = v
_POWERS_OF_W = (0, _W, _V, _W + _V, _V2, _W + _V2)


# Constants -------------------------------------------------------------------------------------------------------------------


def plain_fp2_pow(a: tuple[int, int], k: int) -> tuple[int, int]:
    """a^k in Fp2, on plain integers."""
    x = (1, 0)
    for bit in f"{k:b}":
        x = _plain_fp2_mul(x, x)
        if bit == "1":
            x = _plain_fp2_mul(x, a)
    return x


def _plain_fp2_mul(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return (a[0] * b[0] - a[1] * b[1]) % FP_MODULUS, (a[0] * b[1] + a[1] * b[0]) % FP_MODULUS


def fp2_constant(name: str, *values: tuple[int, int]):
    """An intrinsic f(d) that writes the given elements (plain integers) of Fp2 at d, in Montgomery form."""
    flat = [c * 2 ** (64 * FP_WORDS) % FP_MODULUS for value in values for c in value]
    return constant(f"bonsai_{name}", sum(c << (64 * FP_WORDS * i) for i, c in enumerate(flat)), FP_WORDS * len(flat))


XI = (1, 1)
# w^p = w xi^((p - 1)/6), as w^6 = xi.  So (c w^i)^p = conj(c) FROBENIUS[i] w^i.
FROBENIUS = [plain_fp2_pow(XI, i * (FP_MODULUS - 1) // 6) for i in range(6)]
# w^(p^2) = w xi^((p^2 - 1)/6), and that number lies in Fp: its 6th power is 1 and 6 divides p - 1.
FROBENIUS_2 = [plain_fp2_pow(XI, i * (FP_MODULUS**2 - 1) // 6) for i in range(6)]

_frobenius_table = fp2_constant("tower_frobenius", *FROBENIUS)
_frobenius_2_table = fp2_constant("tower_frobenius_2", *FROBENIUS_2)
_half = constant("bonsai_tower_half", (FP_MODULUS + 1) // 2 * 2**384 % FP_MODULUS, FP_WORDS)


# Fp2 -------------------------------------------------------------------------------------------------------------------------


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
def fp2_mul(d, a, b):
    """a b = (a0 b0 - a1 b1) + ((a0 + a1)(b0 + b1) - a0 b0 - a1 b1) u."""
    low, high, t = stack(6), stack(6), stack(6)
    fp_mul(low, a, b)
    fp_mul(high, a + _U, b + _U)
    fp_add(t, a, a + _U)
    fp_add(d + _U, b, b + _U)
    fp_mul(t, t, d + _U)
    fp_sub(t, t, low)
    fp_sub(d, low, high)
    fp_sub(d + _U, t, high)


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
    fp_mul(t, a, a)
    fp_mul(d, a + _U, a + _U)
    fp_add(d, d, t)


@inner
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


@inner
def fp2_sqrt(d, a):
    """A square root of a.  Out: True if a is a square; d is meaningless otherwise.  d must not be a.

    With s^2 = norm(a), (x0 + x1 u)^2 = a for x1 = a1/(2 x0) and x0^2 = (a0 + s)/2 or (a0 - s)/2.  The product of the two is -a1^2/4, and
    -1 is no square in Fp, so for a1 != 0 exactly one of them is a square: a has a root if and only if its norm has one in Fp.
    """
    s, t = stack(6), stack(6)
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
    _fp2_half_sum(t, a, s)
    if not fp_sqrt(d, t):
        fp_sub(t, a, t)
        fp_sqrt(d, t)
    fp_add(t, d, d)
    fp_inv(t, t)
    fp_mul(d + _U, t, a + _U)
    return True


@formula
def _fp2_half_sum(d, a, b):
    """(a + b)/2, in Fp."""
    half = stack(6)
    _half(half)
    fp_add(d, a, b)
    fp_mul(d, d, half)


# Fp6 -------------------------------------------------------------------------------------------------------------------------


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
    """a b.  6M: the mixed terms a_i b_j + a_j b_i = (a_i + a_j)(b_i + b_j) - a_i b_i - a_j b_j.

    d0 = a0 b0 + xi (a1 b2 + a2 b1),   d1 = a0 b1 + a1 b0 + xi a2 b2,   d2 = a0 b2 + a2 b0 + a1 b1
    """
    p0, p1, p2, m12, m01, t = stack(12), stack(12), stack(12), stack(12), stack(12), stack(12)
    fp2_mul(p0, a, b)
    fp2_mul(p1, a + _V, b + _V)
    fp2_mul(p2, a + _V2, b + _V2)

    fp2_add(m12, a + _V, a + _V2)
    fp2_add(t, b + _V, b + _V2)
    fp2_mul(m12, m12, t)
    fp2_sub(m12, m12, p1)
    fp2_sub(m12, m12, p2)

    fp2_add(m01, a, a + _V)
    fp2_add(t, b, b + _V)
    fp2_mul(m01, m01, t)
    fp2_sub(m01, m01, p0)
    fp2_sub(m01, m01, p1)

    fp2_add(t, b, b + _V2)
    fp2_add(d + _V2, a, a + _V2)
    fp2_mul(d + _V2, d + _V2, t)
    fp2_sub(d + _V2, d + _V2, p0)
    fp2_sub(d + _V2, d + _V2, p2)

    fp2_add(d + _V2, d + _V2, p1)
    fp2_mul_by_xi(p2, p2)
    fp2_add(d + _V, m01, p2)
    fp2_mul_by_xi(m12, m12)
    fp2_add(d, p0, m12)


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
def _fp6_mul_by_01(d, a, b):
    """a (b0 + b1 v); only b0 and b1 are read.  5M.

    d0 = a0 b0 + xi a2 b1,   d1 = (a0 + a1)(b0 + b1) - a0 b0 - a1 b1,   d2 = a2 b0 + a1 b1
    """
    p0, p1, m, t = stack(12), stack(12), stack(12), stack(12)
    fp2_mul(p0, a, b)
    fp2_mul(p1, a + _V, b + _V)
    fp2_add(m, a, a + _V)
    fp2_add(t, b, b + _V)
    fp2_mul(m, m, t)
    fp2_mul(t, a + _V2, b + _V)
    fp2_mul(d + _V2, a + _V2, b)

    fp2_add(d + _V2, d + _V2, p1)
    fp2_sub(m, m, p0)
    fp2_sub(d + _V, m, p1)
    fp2_mul_by_xi(t, t)
    fp2_add(d, p0, t)


@formula
def _fp6_mul_by_1(d, a, b):
    """a b v for b in Fp2: xi a2 b + a0 b v + a1 b v^2.  3M."""
    t = stack(12)
    fp2_mul(t, a + _V2, b)
    fp2_mul(d + _V2, a + _V, b)
    fp2_mul(d + _V, a, b)
    fp2_mul_by_xi(d, t)


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


@inner
def fp6_inv(d, a):
    """1/a, and 0 for a = 0."""
    adjoint, product, t = stack(36), stack(36), stack(12)
    _fp6_adjoint(adjoint, a)
    fp6_mul(product, a, adjoint)
    fp2_inv(t, product)
    _fp6_mul_fp2(d, adjoint, t)


# Fp12 ------------------------------------------------------------------------------------------------------------------------


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
    """a b = (a0 b0 + v a1 b1) + ((a0 + a1)(b0 + b1) - a0 b0 - a1 b1) w.  18M."""
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
    """a^2 = (a0 + a1)(a0 + v a1) - m - v m + 2 m w with m = a0 a1.  12M."""
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
    """a (l0 + l1 w^2 + l2 w^3), line = l0 | l1 | l2 in Fp2.  13M.

    w^2 = v and w^3 = v w, so the factor is (l0 + l1 v) + (l2 v) w.
    """
    low, high, m, sum_01 = stack(36), stack(36), stack(36), stack(24)
    _fp6_mul_by_01(low, a, line)
    _fp6_mul_by_1(high, a + _W, line + 2 * FP2_BYTES)
    fp6_add(m, a, a + _W)
    fp2_copy(sum_01, line)
    fp2_add(sum_01 + _V, line + FP2_BYTES, line + 2 * FP2_BYTES)
    _fp6_mul_by_01(m, m, sum_01)
    fp6_sub(m, m, low)
    fp6_sub(d + _W, m, high)
    fp6_mul_by_v(high, high)
    fp6_add(d, low, high)


@formula
def fp12_frobenius(d, a):
    """a^p."""
    table = stack(72)
    _frobenius_table(table)
    for i in range(6):
        j = _POWERS_OF_W[i]
        fp2_conj(d + j, a + j)
        fp2_mul(d + j, d + j, table + FP2_BYTES * i)


@formula
def fp12_frobenius_2(d, a):
    """a^(p^2)."""
    table = stack(72)
    _frobenius_2_table(table)
    for i in range(6):
        j = _POWERS_OF_W[i]
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


@inner
def fp12_inv(d, a):
    """1/a = conj(a) / norm(a), and 0 for a = 0."""
    t = stack(36)
    _fp12_norm(t, a)
    fp6_inv(t, t)
    fp12_conj(d, a)
    _fp12_mul_fp6(d, d, t)


@inner
def fp12_eq(a, b):
    """a = b."""
    for i in range(FP12_WORDS):
        if load_word(a + 8 * i) != load_word(b + 8 * i):
            return False
    return True


@inner
def fp12_is_one(a):
    """a = 1."""
    one = stack(72)
    fp12_one(one)
    return fp12_eq(a, one)

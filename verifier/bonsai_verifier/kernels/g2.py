"""E'(Fp2): y^2 = x^3 + 4 (u + 1), and G2, its subgroup of order r.

Affine x | y: 24 words, the point at infinity is (0, 0), which is not on the curve.  Projective X | Y | Z: 36 words, x = X/Z, y = Y/Z,
infinity (0 : 1 : 0).  Coordinates in Montgomery form.  Arguments are addresses unless named as arrays; d may be an operand.

The formulas are complete: they hold for all pairs of points, equal, opposite, infinite or outside G2, because the order of E'(Fp2),
r (z^8 - 4 z^7 + 5 z^6 - 4 z^4 + 6 z^3 - 4 z^2 - 4 z + 13)/9, is odd.  Callers may hand over points that an attacker chose.
Source: Renes, Costello, Batina, ePrint 2015/1060, algorithms 7 to 9 (a = 0), with 3b = 12 xi.
"""

import numpy as np

from ..parameters import BLS_X, CURVE_B, FP_MODULUS
from .cache import inner, kernel
from .formula import formula
from .fp import FP_BYTES, FP_WORDS, fp_from_mont, fp_is_canonical, fp_to_mont
from .g1 import (
    FLAG_COMPRESSED,
    FLAG_INFINITY,
    FLAG_LARGER,
    POINT_BAD_FLAGS,
    POINT_INFINITY,
    POINT_NOT_CANONICAL,
    POINT_NOT_COMPRESSED,
    POINT_NOT_IN_SUBGROUP,
    POINT_NOT_ON_CURVE,
    POINT_OK,
)
from .limbs import load_word, stack, store_word
from .tower import (
    FP2_BYTES,
    FROBENIUS,
    XI,
    fp2_add,
    fp2_conj,
    fp2_constant,
    fp2_copy,
    fp2_dbl,
    fp2_eq,
    fp2_inv,
    fp2_is_larger,
    fp2_is_zero,
    fp2_mul,
    fp2_mul_by_xi,
    fp2_neg,
    fp2_one,
    fp2_sqr,
    fp2_sqrt,
    fp2_sub,
    fp2_zero,
    plain_fp2_pow,
)

G2_AFFINE_WORDS, G2_AFFINE_BYTES = 24, 192
G2_WORDS, G2_BYTES = 36, 288
G2_COMPRESSED_BYTES = 96

_Y, _Z = FP2_BYTES, 2 * FP2_BYTES
_WITHOUT_FLAGS = np.uint8(0x1F)
_ABS_X = np.uint64(-BLS_X)
_ABS_X_BITS = 64
_ONE = np.uint64(1)
_EIGHT = np.uint64(8)

_b = fp2_constant("g2_b", (CURVE_B * XI[0], CURVE_B * XI[1]))
# (x, y) of E' is (x/w^2, y/w^3) of E.  Its p-th power is (conj(x)/w^2p, conj(y)/w^3p), back on E' (conj(x) w^(2 - 2p), conj(y) w^(3 - 3p)),
# and w^(p - 1) = xi^((p - 1)/6).
PSI_X = plain_fp2_pow(FROBENIUS[2], FP_MODULUS**2 - 2)
PSI_Y = plain_fp2_pow(FROBENIUS[3], FP_MODULUS**2 - 2)
_psi_x, _psi_y = fp2_constant("g2_psi_x", PSI_X), fp2_constant("g2_psi_y", PSI_Y)


# Projective points -----------------------------------------------------------------------------------------------------------


@formula
def g2_infinity(d):
    """(0 : 1 : 0)."""
    fp2_zero(d)
    fp2_one(d + _Y)
    fp2_zero(d + _Z)


@inner
def g2_is_infinity(a):
    """Z = 0."""
    return fp2_is_zero(a + _Z)


@formula
def g2_copy(d, a):
    """a."""
    for i in (0, _Y, _Z):
        fp2_copy(d + i, a + i)


@formula
def fp2_mul_by_3b(d, a):
    """12 xi a = 4 (2 xi a + xi a)."""
    t = stack(12)
    fp2_mul_by_xi(d, a)
    fp2_dbl(t, d)
    fp2_add(d, d, t)
    fp2_dbl(d, d)
    fp2_dbl(d, d)


@formula
def _sum_from_products(d, p):
    """The coordinates of a sum from its products p = xx | yy | 3b zz | xy | yz | 3b xz, with xy = x1 y2 + x2 y1 and so on.  6M.

    X3 = xy (yy - 3b zz) - yz 3b xz,   Y3 = (yy - 3b zz)(yy + 3b zz) + 3 xx 3b xz,   Z3 = yz (yy + 3b zz) + 3 xx xy
    """
    xx, yy, zz, xy, yz, xz = (p + FP2_BYTES * i for i in range(6))
    minus, plus, t = stack(12), stack(12), stack(12)
    fp2_sub(minus, yy, zz)
    fp2_add(plus, yy, zz)
    fp2_dbl(t, xx)
    fp2_add(xx, xx, t)
    fp2_mul(d, xy, minus)
    fp2_mul(t, yz, xz)
    fp2_sub(d, d, t)
    fp2_mul(d + _Y, minus, plus)
    fp2_mul(t, xx, xz)
    fp2_add(d + _Y, d + _Y, t)
    fp2_mul(d + _Z, yz, plus)
    fp2_mul(t, xx, xy)
    fp2_add(d + _Z, d + _Z, t)


@formula
def g2_add(d, a, b):
    """a + b, complete.  12M."""
    p, t = stack(72), stack(12)
    xx, yy, zz, xy, yz, xz = (p + FP2_BYTES * i for i in range(6))
    fp2_mul(xx, a, b)
    fp2_mul(yy, a + _Y, b + _Y)
    fp2_mul(zz, a + _Z, b + _Z)
    for cross, i, j, ii, jj in ((xy, 0, _Y, xx, yy), (yz, _Y, _Z, yy, zz), (xz, 0, _Z, xx, zz)):
        fp2_add(cross, a + i, a + j)
        fp2_add(t, b + i, b + j)
        fp2_mul(cross, cross, t)
        fp2_sub(cross, cross, ii)
        fp2_sub(cross, cross, jj)
    fp2_mul_by_3b(zz, zz)
    fp2_mul_by_3b(xz, xz)
    _sum_from_products(d, p)


@formula
def _add_finite(d, a, b):
    """a + b for an affine b other than infinity, complete.  11M."""
    p, t = stack(72), stack(12)
    xx, yy, zz, xy, yz, xz = (p + FP2_BYTES * i for i in range(6))
    fp2_mul(xx, a, b)
    fp2_mul(yy, a + _Y, b + _Y)
    fp2_add(xy, a, a + _Y)
    fp2_add(t, b, b + _Y)
    fp2_mul(xy, xy, t)
    fp2_sub(xy, xy, xx)
    fp2_sub(xy, xy, yy)
    fp2_mul(yz, b + _Y, a + _Z)
    fp2_add(yz, yz, a + _Y)
    fp2_mul(xz, b, a + _Z)
    fp2_add(xz, xz, a)
    fp2_mul_by_3b(zz, a + _Z)
    fp2_mul_by_3b(xz, xz)
    _sum_from_products(d, p)


@inner
def g2_add_mixed(d, a, b):
    """a + b for an affine b, complete, infinity included.  11M."""
    if g2_affine_is_infinity(b):
        g2_copy(d, a)
    else:
        _add_finite(d, a, b)


@formula
def g2_double(d, a):
    """2 a, complete.  6M 2S.

    X3 = 2 XY (Y^2 - 9b Z^2),   Y3 = (Y^2 - 9b Z^2)(Y^2 + 3b Z^2) + 8 Y^2 3b Z^2,   Z3 = 8 Y^2 YZ
    """
    yy, zz, xy, yz, minus, plus = stack(12), stack(12), stack(12), stack(12), stack(12), stack(12)
    fp2_sqr(yy, a + _Y)
    fp2_sqr(zz, a + _Z)
    fp2_mul_by_3b(zz, zz)
    fp2_mul(xy, a, a + _Y)
    fp2_mul(yz, a + _Y, a + _Z)
    fp2_add(plus, yy, zz)
    fp2_dbl(minus, zz)
    fp2_add(minus, minus, zz)
    fp2_sub(minus, yy, minus)
    for _ in range(3):
        fp2_dbl(yy, yy)

    fp2_mul(d, xy, minus)
    fp2_dbl(d, d)
    fp2_mul(d + _Y, minus, plus)
    fp2_mul(zz, yy, zz)
    fp2_add(d + _Y, d + _Y, zz)
    fp2_mul(d + _Z, yy, yz)


@inner
def g2_mul(d, a, scalar):
    """[k] a for a projective a and a 4-word canonical k, taken as an integer, never reduced.  d must not be a.  Variable time."""
    g2_infinity(d)
    for i in range(255, -1, -1):
        g2_double(d, d)
        if (load_word(scalar + 8 * (i >> 6)) >> np.uint64(i & 63)) & _ONE:
            g2_add(d, d, a)


# Affine points ---------------------------------------------------------------------------------------------------------------


@inner
def g2_affine_is_infinity(a):
    """x = y = 0."""
    return fp2_is_zero(a) and fp2_is_zero(a + _Y)


@formula
def g2_affine_neg(d, a):
    """(x, -y)."""
    fp2_copy(d, a)
    fp2_neg(d + _Y, a + _Y)


@inner
def g2_from_affine(d, a):
    """(x, y) -> (x : y : 1)."""
    if g2_affine_is_infinity(a):
        g2_infinity(d)
        return
    fp2_copy(d, a)
    fp2_copy(d + _Y, a + _Y)
    fp2_one(d + _Z)


@inner
def g2_to_affine(d, a):
    """(X : Y : Z) -> (X/Z, Y/Z); infinity -> (0, 0).  One inversion."""
    t = stack(12)
    fp2_inv(t, a + _Z)  # 0 for 0
    fp2_mul(d, a, t)
    fp2_mul(d + _Y, a + _Y, t)


@formula
def _curve_rhs(d, x):
    """x^3 + b.  d must not be x."""
    t = stack(12)
    fp2_sqr(d, x)
    fp2_mul(d, d, x)
    _b(t)
    fp2_add(d, d, t)


@inner
def g2_affine_is_on_curve(a):
    """y^2 = x^3 + b, or infinity."""
    t, u = stack(12), stack(12)
    if g2_affine_is_infinity(a):
        return True
    _curve_rhs(t, a)
    fp2_sqr(u, a + _Y)
    return fp2_eq(t, u)


@formula
def g2_affine_psi(d, a):
    """psi(x, y) = (PSI_X conj(x), PSI_Y conj(y)): the p-th power map of E, seen on E'."""
    t = stack(12)
    fp2_conj(d, a)
    _psi_x(t)
    fp2_mul(d, d, t)
    fp2_conj(d + _Y, a + _Y)
    _psi_y(t)
    fp2_mul(d + _Y, d + _Y, t)


@inner
def _mul_by_abs_x(d, a):
    """[|z|] a.  63 doublings, 5 additions.  d must not be a."""
    g2_copy(d, a)
    for i in range(_ABS_X_BITS - 2, -1, -1):
        g2_double(d, d)
        if (_ABS_X >> np.uint64(i)) & _ONE:
            g2_add(d, d, a)


@inner
def g2_affine_is_in_subgroup(a):
    """r a = O, for a on the curve, by psi(a) = [z] a.  63 doublings, 5 additions.

    Sound because psi is an endomorphism of the whole curve with psi^2 - [z + 1] psi + [p] = 0 (the trace of Frobenius on E is z + 1):
    psi(a) = [z] a gives [p - z] a = O.  p - z = r (z - 1)^2/3, and its greatest common divisor with the order of E'(Fp2) is r, so the
    order of a divides r.  On G2, psi is the multiplication by p, and p = z mod r.
    Source: Scott, ePrint 2021/1130, section 4; the condition on the divisor: El Housni, Guillevic, Piellard, ePrint 2022/352.
    """
    if g2_affine_is_infinity(a):
        return True
    p, q, image, t = stack(36), stack(36), stack(24), stack(12)
    g2_from_affine(p, a)
    _mul_by_abs_x(q, p)  # -z a = (X : Y : Z); its opposite shall be (x : y : 1) = psi(a)
    if g2_is_infinity(q):
        return False
    g2_affine_psi(image, a)
    fp2_mul(t, image, q + _Z)
    if not fp2_eq(t, q):
        return False
    fp2_mul(t, image + _Y, q + _Z)
    fp2_neg(t, t)
    return fp2_eq(t, q + _Y)


# Bytes -----------------------------------------------------------------------------------------------------------------------


@inner
def _read_coefficient(d, data, row, first):
    """data[row, first:first + 48], big-endian, without the three flag bits of a first byte -> d in Montgomery form.  Out: it is below p."""
    for i in range(FP_WORDS):
        word = np.uint64(0)
        for j in range(8):
            byte = data[row, first + FP_BYTES - 8 - 8 * i + j]
            if first == 0 and i == FP_WORDS - 1 and j == 0:
                byte &= _WITHOUT_FLAGS
            word = (word << _EIGHT) | np.uint64(byte)
        store_word(d + 8 * i, word)
    if not fp_is_canonical(d):
        return False
    fp_to_mont(d, d)
    return True


@inner
def _decode(d, data, row):
    """data[row] (96 bytes: x1 | x0, x = x0 + x1 u) -> affine point at d, (0, 0) if there is none, and its status."""
    x, y = stack(12), stack(12)
    fp2_zero(d)
    fp2_zero(d + _Y)
    flags = data[row, 0]
    if not flags & FLAG_COMPRESSED:
        return POINT_NOT_COMPRESSED
    if flags & FLAG_INFINITY:
        rest = flags & ~(FLAG_COMPRESSED | FLAG_INFINITY)
        for j in range(1, G2_COMPRESSED_BYTES):
            rest |= data[row, j]
        return POINT_BAD_FLAGS if rest else POINT_INFINITY
    if not _read_coefficient(x + FP_BYTES, data, row, 0) or not _read_coefficient(x, data, row, FP_BYTES):
        return POINT_NOT_CANONICAL
    _curve_rhs(y, x)
    if not fp2_sqrt(d, y):
        fp2_zero(d)
        return POINT_NOT_ON_CURVE
    fp2_copy(d + _Y, d)
    fp2_copy(d, x)
    if fp2_is_larger(d + _Y) != bool(flags & FLAG_LARGER):
        fp2_neg(d + _Y, d + _Y)
    if not g2_affine_is_in_subgroup(d):
        fp2_zero(d)
        fp2_zero(d + _Y)
        return POINT_NOT_IN_SUBGROUP
    return POINT_OK


@inner
def _encode(data, row, a):
    """Affine point at a -> data[row] (96 bytes)."""
    t = stack(6)
    for half in range(2):
        fp_from_mont(t, a + FP_BYTES * (1 - half))
        for i in range(FP_WORDS):
            word = load_word(t + 8 * i)
            for j in range(8):
                data[row, FP_BYTES * half + FP_BYTES - 1 - 8 * i - j] = np.uint8(word >> np.uint64(8 * j))
    flags = FLAG_COMPRESSED
    if g2_affine_is_infinity(a):
        flags |= FLAG_INFINITY
    elif fp2_is_larger(a + _Y):
        flags |= FLAG_LARGER
    data[row, 0] |= flags


# Arrays ----------------------------------------------------------------------------------------------------------------------


@kernel
def g2_decode_many(out, data, status):
    """The ZCash form, subgroup included.

    In: data (n, 96) uint8.  Out: status (n,) uint8, POINT_... of g1.py; out (n, 24) affine, (0, 0) unless the status is POINT_OK.
    """
    for i in range(data.shape[0]):
        status[i] = _decode(out.ctypes.data + G2_AFFINE_BYTES * i, data, i)


@kernel
def g2_encode_many(data, points):
    """In: points (n, 24) affine.  Out: data (n, 96) uint8, the ZCash form."""
    for i in range(points.shape[0]):
        _encode(data, i, points.ctypes.data + G2_AFFINE_BYTES * i)


@kernel
def g2_check_many(status, points):
    """In: points (n, 24), any words.  Out: status (n,) uint8: POINT_NOT_CANONICAL for a coordinate >= p, and so on as in g2_decode_many."""
    for i in range(points.shape[0]):
        a = points.ctypes.data + G2_AFFINE_BYTES * i
        canonical = True
        for j in range(4):
            canonical = canonical and fp_is_canonical(a + FP_BYTES * j)
        if not canonical:
            status[i] = POINT_NOT_CANONICAL
        elif g2_affine_is_infinity(a):
            status[i] = POINT_INFINITY
        elif not g2_affine_is_on_curve(a):
            status[i] = POINT_NOT_ON_CURVE
        elif not g2_affine_is_in_subgroup(a):
            status[i] = POINT_NOT_IN_SUBGROUP
        else:
            status[i] = POINT_OK


@kernel
def _mul_many(out, base, scalars):
    p, q = stack(36), stack(36)
    step = G2_AFFINE_BYTES if base.shape[0] > 1 else 0
    for i in range(scalars.shape[0]):
        g2_from_affine(p, base.ctypes.data + step * i)
        g2_mul(q, p, scalars.ctypes.data + 32 * i)
        g2_to_affine(out.ctypes.data + G2_AFFINE_BYTES * i, q)


def g2_mul_many(base, scalars):
    """[k_i] P_i.  In: base (n, 24) or (1, 24) affine, scalars (n, 4) canonical.  Out: (n, 24) affine.  Variable time."""
    out = np.empty((scalars.shape[0], G2_AFFINE_WORDS), dtype=np.uint64)
    _mul_many(out, base, scalars)
    return out


@kernel
def g2_neg_many(out, points):
    """In: points (n, 24) affine.  Out: out (n, 24), the opposites."""
    for i in range(points.shape[0]):
        g2_affine_neg(out.ctypes.data + G2_AFFINE_BYTES * i, points.ctypes.data + G2_AFFINE_BYTES * i)


@kernel
def g2_to_affine_many(out, points):
    """In: points (n, 36) projective.  Out: out (n, 24) affine.  An inversion each."""
    for i in range(points.shape[0]):
        g2_to_affine(out.ctypes.data + G2_AFFINE_BYTES * i, points.ctypes.data + G2_BYTES * i)


@kernel
def g2_add_many(out, a, b):
    """out_i = a_i + b_i on (n, 36) projective arrays."""
    for i in range(a.shape[0]):
        g2_add(out.ctypes.data + G2_BYTES * i, a.ctypes.data + G2_BYTES * i, b.ctypes.data + G2_BYTES * i)


@kernel
def g2_add_mixed_many(out, a, b):
    """out_i = a_i + b_i; out, a (n, 36) projective, b (n, 24) affine."""
    for i in range(a.shape[0]):
        g2_add_mixed(out.ctypes.data + G2_BYTES * i, a.ctypes.data + G2_BYTES * i, b.ctypes.data + G2_AFFINE_BYTES * i)


@kernel
def g2_double_many(out, a):
    """out_i = 2 a_i on (n, 36) projective arrays."""
    for i in range(a.shape[0]):
        g2_double(out.ctypes.data + G2_BYTES * i, a.ctypes.data + G2_BYTES * i)

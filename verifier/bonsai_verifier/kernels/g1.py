"""E(Fp): y^2 = x^3 + 4, and G1, its subgroup of order r.

Affine x | y: 12 words, the point at infinity is (0, 0), which is not on the curve.  Projective X | Y | Z: 18 words, x = X/Z, y = Y/Z,
infinity (0 : 1 : 0).  Coordinates in Montgomery form.  Arguments are addresses unless named as arrays; d may
be an operand unless its function says otherwise.

The addition formulas are complete: they hold for all pairs of points, equal, opposite, infinite or outside G1, because the order of
E(Fp), r (z - 1)^2/3, is odd.  Callers may hand over points that an attacker chose.
Source: Renes, Costello, Batina, ePrint 2015/1060, section 3.3 (a = 0), with 3b = 12.
"""

import numpy as np

from ..parameters import BLS_X, CURVE_B, FP_MODULUS, G1_BYTES
from .cache import inner, kernel
from .formula import formula
from .fp import (
    FP_BYTES,
    FP_WORDS,
    fp_add,
    fp_copy,
    fp_eq,
    fp_from_mont,
    fp_inv,
    fp_is_canonical,
    fp_is_larger,
    fp_is_zero,
    fp_mul,
    fp_neg,
    fp_one,
    fp_sqrt,
    fp_sub,
    fp_to_mont,
    fp_zero,
)
from .limbs import constant, load_word, stack, store_word

G1_AFFINE_WORDS, G1_AFFINE_BYTES = 12, 96
G1_PROJECTIVE_WORDS, G1_PROJECTIVE_BYTES = 18, 144

# Status of a decoded point
POINT_OK = 0
POINT_INFINITY = 1  # a well-formed encoding of the point at infinity
POINT_NOT_COMPRESSED = 2  # the compression flag is unset
POINT_BAD_FLAGS = 3  # infinity, but another bit is set
POINT_NOT_CANONICAL = 4  # x >= p
POINT_NOT_ON_CURVE = 5  # x^3 + b has no root
POINT_NOT_IN_SUBGROUP = 6

# Flags, in the first byte of a compressed point
FLAG_COMPRESSED = np.uint8(0x80)
FLAG_INFINITY = np.uint8(0x40)
FLAG_LARGER = np.uint8(0x20)  # y > (p - 1)/2
_WITHOUT_FLAGS = np.uint8(0x1F)

_Y, _Z = FP_BYTES, 2 * FP_BYTES
_R = 1 << 384
# 2^((p - 1)/3): of the two primitive cube roots of 1 in Fp the one with (BETA x, y) = [-z^2](x, y) on G1
BETA = 0x5F19672FDF76CE51BA69C6076A0F77EADDB3A93BE6F89688DE17D813620A00022E01FFFFFFFEFFFE
_b = constant("bonsai_g1_b", CURVE_B * _R % FP_MODULUS, FP_WORDS)
_beta = constant("bonsai_g1_beta", BETA * _R % FP_MODULUS, FP_WORDS)
_ABS_X = np.uint64(-BLS_X)
_ABS_X_BITS = 64
_ONE = np.uint64(1)
_EIGHT = np.uint64(8)


# Projective points -----------------------------------------------------------------------------------------------------------


@formula
def g1_infinity(d):
    """(0 : 1 : 0)."""
    fp_zero(d)
    fp_one(d + _Y)
    fp_zero(d + _Z)


@inner
def g1_is_infinity(a):
    """Z = 0."""
    return fp_is_zero(a + _Z)


@formula
def g1_copy(d, a):
    fp_copy(d, a)
    fp_copy(d + _Y, a + _Y)
    fp_copy(d + _Z, a + _Z)


@formula
def g1_neg(d, a):
    """-(X : Y : Z) = (X : -Y : Z)."""
    fp_copy(d, a)
    fp_neg(d + _Y, a + _Y)
    fp_copy(d + _Z, a + _Z)


@formula
def _mul_by_12(d, a):
    """12 a = 4 (2 a + a)."""
    t = stack(6)
    fp_add(t, a, a)
    fp_add(t, t, a)
    fp_add(t, t, t)
    fp_add(d, t, t)


@formula
def _sum_from_products(d, xx, yy, zz12, xy, yz, xz12):
    """The three coordinates of a sum.  6M.

    X3 = xy (yy - 12 zz) - yz 12 xz,   Y3 = (yy - 12 zz)(yy + 12 zz) + 3 xx 12 xz,   Z3 = yz (yy + 12 zz) + 3 xx xy
    """
    minus, plus, t = stack(6), stack(6), stack(6)
    fp_sub(minus, yy, zz12)
    fp_add(plus, yy, zz12)
    fp_add(t, xx, xx)
    fp_add(xx, t, xx)
    fp_mul(d, xy, minus)
    fp_mul(t, yz, xz12)
    fp_sub(d, d, t)
    fp_mul(t, minus, plus)
    fp_mul(d + _Y, xx, xz12)
    fp_add(d + _Y, d + _Y, t)
    fp_mul(t, yz, plus)
    fp_mul(d + _Z, xx, xy)
    fp_add(d + _Z, d + _Z, t)


@formula
def _cross(d, a0, a1, b0, b1, p00, p11):
    """a0 b1 + a1 b0 = (a0 + a1)(b0 + b1) - a0 b0 - a1 b1.  1M."""
    t = stack(6)
    fp_add(t, a0, a1)
    fp_add(d, b0, b1)
    fp_mul(d, d, t)
    fp_sub(d, d, p00)
    fp_sub(d, d, p11)


@formula
def g1_add(d, a, b):
    """a + b, complete.  12M."""
    xx, yy, zz, xy, yz, xz = stack(6), stack(6), stack(6), stack(6), stack(6), stack(6)
    fp_mul(xx, a, b)
    fp_mul(yy, a + _Y, b + _Y)
    fp_mul(zz, a + _Z, b + _Z)
    _cross(xy, a, a + _Y, b, b + _Y, xx, yy)
    _cross(yz, a + _Y, a + _Z, b + _Y, b + _Z, yy, zz)
    _cross(xz, a, a + _Z, b, b + _Z, xx, zz)
    _mul_by_12(zz, zz)
    _mul_by_12(xz, xz)
    _sum_from_products(d, xx, yy, zz, xy, yz, xz)


@inner
def g1_add_mixed(d, a, b):
    """a + b for an affine b, complete, infinity included.  11M."""
    if g1_affine_is_infinity(b):
        g1_copy(d, a)
    else:
        _add_finite(d, a, b)


@formula
def _add_finite(d, a, b):
    """a + b for an affine b other than infinity, complete."""
    xx, yy, zz, xy, yz, xz = stack(6), stack(6), stack(6), stack(6), stack(6), stack(6)
    fp_mul(xx, a, b)
    fp_mul(yy, a + _Y, b + _Y)
    _cross(xy, a, a + _Y, b, b + _Y, xx, yy)
    fp_mul(yz, b + _Y, a + _Z)
    fp_add(yz, yz, a + _Y)
    fp_mul(xz, b, a + _Z)
    fp_add(xz, xz, a)
    _mul_by_12(zz, a + _Z)
    _mul_by_12(xz, xz)
    _sum_from_products(d, xx, yy, zz, xy, yz, xz)


@formula
def g1_double(d, a):
    """2 a, complete.  8M.

    X3 = 2 XY (Y^2 - 36 Z^2),   Y3 = (Y^2 - 36 Z^2)(Y^2 + 12 Z^2) + 8 Y^2 12 Z^2,   Z3 = 8 Y^2 YZ
    """
    yy, zz, xy, yz, t, u = stack(6), stack(6), stack(6), stack(6), stack(6), stack(6)
    fp_mul(yy, a + _Y, a + _Y)
    fp_mul(zz, a + _Z, a + _Z)
    _mul_by_12(zz, zz)
    fp_mul(xy, a, a + _Y)
    fp_mul(yz, a + _Y, a + _Z)
    fp_add(t, zz, zz)
    fp_add(t, t, zz)
    fp_sub(t, yy, t)
    fp_mul(d, xy, t)
    fp_add(d, d, d)
    fp_add(u, yy, zz)
    fp_mul(u, u, t)
    fp_add(yy, yy, yy)
    fp_add(yy, yy, yy)
    fp_add(yy, yy, yy)
    fp_mul(d + _Z, yy, yz)
    fp_mul(t, yy, zz)
    fp_add(d + _Y, t, u)


@inner
def g1_mul(d, a, scalar):
    """[k] a for a projective a and a 4-word canonical k, taken as an integer, never reduced.  d must not be a.  Variable time."""
    g1_infinity(d)
    for i in range(255, -1, -1):
        g1_double(d, d)
        if (load_word(scalar + 8 * (i >> 6)) >> np.uint64(i & 63)) & _ONE:
            g1_add(d, d, a)


# Affine points ---------------------------------------------------------------------------------------------------------------


@inner
def g1_affine_is_infinity(a):
    """x = y = 0."""
    return fp_is_zero(a) and fp_is_zero(a + _Y)


@formula
def g1_affine_neg(d, a):
    """(x, -y)."""
    fp_copy(d, a)
    fp_neg(d + _Y, a + _Y)


@inner
def g1_from_affine(d, a):
    """(x, y) -> (x : y : 1)."""
    if g1_affine_is_infinity(a):
        g1_infinity(d)
        return
    fp_copy(d, a)
    fp_copy(d + _Y, a + _Y)
    fp_one(d + _Z)


@inner
def g1_to_affine(d, a):
    """(X : Y : Z) -> (X/Z, Y/Z); infinity -> (0, 0).  One inversion."""
    t = stack(6)
    fp_inv(t, a + _Z)  # 0 for 0
    fp_mul(d, a, t)
    fp_mul(d + _Y, a + _Y, t)


@inner
def g1_affine_is_on_curve(a):
    """y^2 = x^3 + 4, or infinity."""
    t, u = stack(6), stack(6)
    if g1_affine_is_infinity(a):
        return True
    _curve_rhs(t, a)
    fp_mul(u, a + _Y, a + _Y)
    return fp_eq(t, u)


@formula
def _curve_rhs(d, x):
    """x^3 + 4."""
    t = stack(6)
    _b(t)
    fp_mul(d, x, x)
    fp_mul(d, d, x)
    fp_add(d, d, t)


@inner
def _mul_by_abs_x(d, a):
    """[|z|] a.  63 doublings, 5 additions.  d must not be a."""
    g1_copy(d, a)
    for i in range(_ABS_X_BITS - 2, -1, -1):
        g1_double(d, d)
        if (_ABS_X >> np.uint64(i)) & _ONE:
            g1_add(d, d, a)


@inner
def g1_affine_is_in_subgroup(a):
    """r a = O, for a on the curve.  126 doublings, 10 additions.

    Sound because phi(x, y) = (BETA x, y) is an endomorphism of the whole curve with phi^2 + phi + 1 = 0: phi(a) = [-z^2]a gives
    [z^4 - z^2 + 1]a = [r]a = O.  On G1 it holds by the choice of BETA.  Source: Scott, ePrint 2021/1130, section 6.
    """
    if g1_affine_is_infinity(a):
        return True
    p, q, t = stack(18), stack(18), stack(6)
    g1_from_affine(p, a)
    _mul_by_abs_x(q, p)
    _mul_by_abs_x(p, q)  # z^2 a = (X : Y : Z); its opposite shall be (BETA x : y : 1)
    if g1_is_infinity(p):
        return False
    _beta(t)
    fp_mul(t, t, a)
    fp_mul(t, t, p + _Z)
    if not fp_eq(t, p):
        return False
    fp_mul(t, a + _Y, p + _Z)
    fp_neg(t, t)
    return fp_eq(t, p + _Y)


# Bytes -----------------------------------------------------------------------------------------------------------------------


@inner
def _decode(d, data, row):
    """data[row] (48 bytes) -> affine point at d, and its status.  The subgroup is not checked."""
    x, t = stack(6), stack(6)
    fp_zero(d)
    fp_zero(d + _Y)
    first = data[row, 0]
    if not first & FLAG_COMPRESSED:
        return POINT_NOT_COMPRESSED
    if first & FLAG_INFINITY:
        rest = first & ~(FLAG_COMPRESSED | FLAG_INFINITY)
        for j in range(1, G1_BYTES):
            rest |= data[row, j]
        return POINT_BAD_FLAGS if rest else POINT_INFINITY
    for i in range(FP_WORDS):
        word = np.uint64(0)
        for j in range(8):
            byte = data[row, 40 - 8 * i + j]
            if i == FP_WORDS - 1 and j == 0:
                byte &= _WITHOUT_FLAGS
            word = (word << _EIGHT) | np.uint64(byte)
        store_word(x + 8 * i, word)
    if not fp_is_canonical(x):
        return POINT_NOT_CANONICAL
    fp_to_mont(x, x)
    _curve_rhs(t, x)
    if not fp_sqrt(d + _Y, t):
        fp_zero(d + _Y)
        return POINT_NOT_ON_CURVE
    fp_copy(d, x)
    if fp_is_larger(d + _Y) != bool(first & FLAG_LARGER):
        fp_neg(d + _Y, d + _Y)
    return POINT_OK


@inner
def _encode(data, row, a):
    """Affine point at a -> data[row] (48 bytes)."""
    x = stack(6)
    fp_from_mont(x, a)
    for i in range(FP_WORDS):
        word = load_word(x + 8 * i)
        for j in range(8):
            data[row, 47 - 8 * i - j] = np.uint8(word >> np.uint64(8 * j))
    flags = FLAG_COMPRESSED
    if g1_affine_is_infinity(a):
        flags |= FLAG_INFINITY
    elif fp_is_larger(a + _Y):
        flags |= FLAG_LARGER
    data[row, 0] |= flags


# Arrays ----------------------------------------------------------------------------------------------------------------------


@kernel
def g1_decode_many(out, data, status):
    """The ZCash form, without the subgroup check.

    In: data (n, 48) uint8.  Out: status (n,) uint8, POINT_...; out (n, 12) affine, (0, 0) unless the status is POINT_OK.
    """
    for i in range(data.shape[0]):
        status[i] = _decode(out.ctypes.data + G1_AFFINE_BYTES * i, data, i)


@kernel
def g1_check_subgroup_many(status, points):
    """Turns POINT_OK into POINT_NOT_IN_SUBGROUP where [r]P is not O.  In: points (n, 12) affine on the curve, status (n,) uint8."""
    for i in range(points.shape[0]):
        if status[i] == POINT_OK and not g1_affine_is_in_subgroup(points.ctypes.data + G1_AFFINE_BYTES * i):
            status[i] = POINT_NOT_IN_SUBGROUP


@kernel
def g1_encode_many(data, points):
    """In: points (n, 12) affine.  Out: data (n, 48) uint8, the ZCash form."""
    for i in range(points.shape[0]):
        _encode(data, i, points.ctypes.data + G1_AFFINE_BYTES * i)


@kernel
def g1_check_many(status, points):
    """In: points (n, 12), any words.  Out: status (n,) uint8: POINT_NOT_CANONICAL for a coordinate >= p, the others as for encodings."""
    for i in range(points.shape[0]):
        a = points.ctypes.data + G1_AFFINE_BYTES * i
        if not (fp_is_canonical(a) and fp_is_canonical(a + _Y)):
            status[i] = POINT_NOT_CANONICAL
        elif g1_affine_is_infinity(a):
            status[i] = POINT_INFINITY
        elif not g1_affine_is_on_curve(a):
            status[i] = POINT_NOT_ON_CURVE
        elif not g1_affine_is_in_subgroup(a):
            status[i] = POINT_NOT_IN_SUBGROUP
        else:
            status[i] = POINT_OK


@kernel
def g1_to_affine_many(out, points):
    """In: points (n, 18) projective.  Out: out (n, 12) affine.  One inversion, 5M a point."""
    n = points.shape[0]
    acc, inverse = stack(6), stack(6)
    fp_one(acc)
    for i in range(n):
        z, d = points.ctypes.data + G1_PROJECTIVE_BYTES * i + _Z, out.ctypes.data + G1_AFFINE_BYTES * i
        fp_copy(d, acc)  # the product of the earlier Z
        if not fp_is_zero(z):
            fp_mul(acc, acc, z)
    fp_inv(inverse, acc)
    for i in range(n - 1, -1, -1):
        a, d = points.ctypes.data + G1_PROJECTIVE_BYTES * i, out.ctypes.data + G1_AFFINE_BYTES * i
        if g1_is_infinity(a):
            fp_zero(d)
            fp_zero(d + _Y)
            continue
        fp_mul(acc, d, inverse)  # 1/Z
        fp_mul(inverse, inverse, a + _Z)
        fp_mul(d, a, acc)
        fp_mul(d + _Y, a + _Y, acc)


@kernel
def g1_from_affine_many(out, points):
    """In: points (n, 12) affine.  Out: out (n, 18) projective."""
    for i in range(points.shape[0]):
        g1_from_affine(out.ctypes.data + G1_PROJECTIVE_BYTES * i, points.ctypes.data + G1_AFFINE_BYTES * i)


@kernel
def g1_neg_many(out, points):
    """In: points (n, 12) affine.  Out: out (n, 12), the opposites."""
    for i in range(points.shape[0]):
        g1_affine_neg(out.ctypes.data + G1_AFFINE_BYTES * i, points.ctypes.data + G1_AFFINE_BYTES * i)


@kernel
def g1_add_many(out, a, b):
    """out_i = a_i + b_i on (n, 18) projective arrays."""
    for i in range(a.shape[0]):
        at = G1_PROJECTIVE_BYTES * i
        g1_add(out.ctypes.data + at, a.ctypes.data + at, b.ctypes.data + at)


@kernel
def g1_add_mixed_many(out, a, b):
    """out_i = a_i + b_i; out, a (n, 18) projective, b (n, 12) affine."""
    for i in range(a.shape[0]):
        at = G1_PROJECTIVE_BYTES * i
        g1_add_mixed(out.ctypes.data + at, a.ctypes.data + at, b.ctypes.data + G1_AFFINE_BYTES * i)


@kernel
def g1_double_many(out, a):
    """out_i = 2 a_i on (n, 18) projective arrays."""
    for i in range(a.shape[0]):
        g1_double(out.ctypes.data + G1_PROJECTIVE_BYTES * i, a.ctypes.data + G1_PROJECTIVE_BYTES * i)


@kernel
def g1_mul_many(out, a, scalars):
    """out_i = [k_i] a_i.  In: a (n, 12) affine, scalars (n, 4) canonical.  Out: out (n, 18) projective."""
    p = stack(18)
    for i in range(a.shape[0]):
        g1_from_affine(p, a.ctypes.data + G1_AFFINE_BYTES * i)
        g1_mul(out.ctypes.data + G1_PROJECTIVE_BYTES * i, p, scalars.ctypes.data + 32 * i)

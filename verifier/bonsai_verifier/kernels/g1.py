"""G1, the subgroup of order r of E(Fp): y^2 = x^3 + 4.

Affine points are 12 words, projective ones 18 (weierstrass.py).  Arguments are addresses unless named as arrays; d may be an operand unless
its function says otherwise.  Addition is complete on all of E(Fp), since its order, r (z - 1)^2/3, is odd.
"""

from ..parameters import CURVE_B
from .cache import inner, kernel
from .encoding import (
    FLAG_LARGER,
    POINT_INFINITY,
    POINT_NOT_CANONICAL,
    POINT_NOT_IN_SUBGROUP,
    POINT_NOT_ON_CURVE,
    POINT_OK,
    flags_status,
    fp_reverse_bytes,
    put_flags,
    take_flags,
)
from .fp import (
    FP_BYTES,
    FP_WORDS,
    fp_add,
    fp_constant,
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
    fp_sqr,
    fp_sqrt,
    fp_sub,
    fp_to_mont,
    fp_zero,
)
from .intrinsics import formula
from .limbs import row, stack
from .weierstrass import Field, group

G1_AFFINE_WORDS = 12
G1_PROJECTIVE_WORDS = 18
# 2^((p - 1)/3): of the two primitive cube roots of 1 in Fp the one with (BETA x, y) = [-z^2](x, y) on G1
BETA = 0x5F19672FDF76CE51BA69C6076A0F77EADDB3A93BE6F89688DE17D813620A00022E01FFFFFFFEFFFE

_Y, _Z = FP_BYTES, 2 * FP_BYTES
_beta = fp_constant("g1_beta", BETA)


@formula
def _mul_by_12(d, a):
    """3b a = 12 a = 4 (2 a + a)."""
    t = stack(6)
    fp_add(t, a, a)
    fp_add(t, t, a)
    fp_add(t, t, t)
    fp_add(d, t, t)


_group = group(
    "g1",
    Field(FP_WORDS, fp_mul, fp_add, fp_sub, fp_sqr, fp_neg, fp_copy, fp_inv, fp_zero, fp_one),
    fp_constant("g1_b", CURVE_B),
    _mul_by_12,
)
g1_infinity, g1_copy, g1_add, g1_double = _group.infinity, _group.copy, _group.add, _group.double
g1_affine_neg, _add_finite, _from_finite = _group.affine_neg, _group.add_finite, _group.from_finite
_mul_by_abs_z, _right_side = _group.mul_by_abs_z, _group.right_side


# Points ----------------------------------------------------------------------------------------------------------------------


@inner
def g1_is_infinity(a):
    """Z = 0, for a projective a."""
    return fp_is_zero(a + _Z)


@inner
def g1_affine_is_infinity(a):
    """x = y = 0, for an affine a."""
    return fp_is_zero(a) and fp_is_zero(a + _Y)


@inner
def g1_from_affine(d, a):
    """(x, y) -> (x : y : 1); (0, 0) -> (0 : 1 : 0)."""
    if g1_affine_is_infinity(a):
        g1_infinity(d)
    else:
        _from_finite(d, a)


@inner
def g1_add_mixed(d, a, b):
    """a + b for an affine b, complete.  11M."""
    if g1_affine_is_infinity(b):
        g1_copy(d, a)
    else:
        _add_finite(d, a, b)


@inner
def _is_on_curve(a):
    """y^2 = x^3 + 4, for an affine a."""
    t, u = stack(6), stack(6)
    _right_side(t, a)
    fp_sqr(u, a + _Y)
    return fp_eq(t, u)


@inner
def _is_in_subgroup(a):
    """r a = O, for an affine a on the curve.  126 doublings, 10 additions.

    Sound because phi(x, y) = (BETA x, y) is an endomorphism of the whole curve with phi^2 + phi + 1 = 0: phi(a) = [-z^2]a gives
    [z^4 - z^2 + 1]a = [r]a = O.  On G1 it holds by the choice of BETA.  Source: Scott, ePrint 2021/1130, section 6.
    """
    if g1_affine_is_infinity(a):
        return True
    p, q, t = stack(18), stack(18), stack(6)
    _from_finite(p, a)
    _mul_by_abs_z(q, p)
    _mul_by_abs_z(p, q)  # z^2 a = (X : Y : Z); its opposite shall be (BETA x : y : 1)
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


@inner
def _decode(d, data):
    """48 bytes -> affine point at d, (0, 0) if there is none, and its status.  The subgroup is not checked."""
    x, t = stack(6), stack(6)
    fp_zero(d)
    fp_zero(d + _Y)
    fp_reverse_bytes(x, data)
    flags = take_flags(x)
    status = flags_status(flags, fp_is_zero(x))
    if status != POINT_OK:
        return status
    if not fp_is_canonical(x):
        return POINT_NOT_CANONICAL
    fp_to_mont(x, x)
    _right_side(t, x)
    if not fp_sqrt(d + _Y, t):
        fp_zero(d + _Y)
        return POINT_NOT_ON_CURVE
    fp_copy(d, x)
    if fp_is_larger(d + _Y) != bool(flags & FLAG_LARGER):
        fp_neg(d + _Y, d + _Y)
    return POINT_OK


@inner
def _encode(data, a):
    """Affine point at a -> 48 bytes."""
    x = stack(6)
    fp_from_mont(x, a)
    put_flags(x, g1_affine_is_infinity(a), fp_is_larger(a + _Y))
    fp_reverse_bytes(data, x)


# Arrays ----------------------------------------------------------------------------------------------------------------------


@kernel
def g1_decode_many(out, data, status):
    """The ZCash form, without the subgroup check.

    In: data (n, 48) uint8.  Out: status (n,) uint8, POINT_...; out (n, 12) affine, (0, 0) unless the status is POINT_OK.
    """
    for i in range(len(data)):
        status[i] = _decode(row(out, i), row(data, i))


@kernel
def g1_check_subgroup_many(status, points):
    """Turns POINT_OK into POINT_NOT_IN_SUBGROUP where [r]P is not O.  In: points (n, 12) affine on the curve, status (n,) uint8."""
    for i in range(len(points)):
        if status[i] == POINT_OK and not _is_in_subgroup(row(points, i)):
            status[i] = POINT_NOT_IN_SUBGROUP


@kernel
def g1_check_many(status, points):
    """In: points (n, 12), any words.  Out: status (n,) uint8: POINT_NOT_CANONICAL for a coordinate >= p, the others as for encodings."""
    for i in range(len(points)):
        a = row(points, i)
        if not (fp_is_canonical(a) and fp_is_canonical(a + _Y)):
            status[i] = POINT_NOT_CANONICAL
        elif g1_affine_is_infinity(a):
            status[i] = POINT_INFINITY
        elif not _is_on_curve(a):
            status[i] = POINT_NOT_ON_CURVE
        elif not _is_in_subgroup(a):
            status[i] = POINT_NOT_IN_SUBGROUP
        else:
            status[i] = POINT_OK


@kernel
def g1_encode_many(data, points):
    """In: points (n, 12) affine.  Out: data (n, 48) uint8, the ZCash form."""
    for i in range(len(points)):
        _encode(row(data, i), row(points, i))


@kernel
def g1_neg_many(out, points):
    """In: points (n, 12) affine.  Out: out (n, 12), the opposites."""
    for i in range(len(points)):
        g1_affine_neg(row(out, i), row(points, i))


@kernel
def g1_to_affine_many(out, points):
    """In: points (n, 18) projective.  Out: out (n, 12) affine.  One inversion, 5M a point."""
    acc, inverse = stack(6), stack(6)
    fp_one(acc)
    for i in range(len(points)):
        fp_copy(row(out, i), acc)  # the product of the earlier Z
        if not g1_is_infinity(row(points, i)):
            fp_mul(acc, acc, row(points, i) + _Z)
    fp_inv(inverse, acc)
    for i in range(len(points) - 1, -1, -1):
        d, a = row(out, i), row(points, i)
        if g1_is_infinity(a):
            fp_zero(d)
            fp_zero(d + _Y)
            continue
        fp_mul(acc, d, inverse)  # 1/Z
        fp_mul(inverse, inverse, a + _Z)
        fp_mul(d, a, acc)
        fp_mul(d + _Y, a + _Y, acc)

"""G2, the subgroup of order r of E'(Fp2): y^2 = x^3 + 4 (u + 1).

Affine points are 24 words, projective ones 36 (weierstrass.py).  Arguments are addresses unless named as arrays; d may be an operand unless
its function says otherwise.  Addition is complete on all of E'(Fp2), since its order,
r (z^8 - 4 z^7 + 5 z^6 - 4 z^4 + 6 z^3 - 4 z^2 - 4 z + 13)/9, is odd.
"""

import numpy as np

from ..parameters import CURVE_B, FP_MODULUS
from .cache import inlined, inner, kernel
from .encoding import (
    FLAG_LARGER,
    POINT_NOT_CANONICAL,
    POINT_NOT_IN_SUBGROUP,
    POINT_NOT_ON_CURVE,
    POINT_OK,
    flags_status,
    fp_reverse_bytes,
    put_flags,
    take_flags,
)
from .fp import FP_BYTES, FP_WORDS, fp_constant, fp_from_mont, fp_is_canonical, fp_to_mont
from .fp2 import (
    FP2_BYTES,
    XI,
    fp2_add,
    fp2_conj,
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
from .fr import FR_WORDS
from .intrinsics import formula
from .limbs import WORD_BITS, WORD_BYTES, load_word, row, rows, stack
from .weierstrass import Field, group

G2_AFFINE_WORDS = 24
# (x, y) of E' is (x/w^2, y/w^3) of E, w^6 = xi.  Its p-th power is (conj(x)/w^2p, conj(y)/w^3p), back on E' (conj(x) w^(2 - 2p),
# conj(y) w^(3 - 3p)), and w^(1 - p) = xi^((1 - p)/6), where exponents of xi count modulo p^2 - 1.
PSI_X, PSI_Y = (plain_fp2_pow(XI, i * (1 - FP_MODULUS) // 6 % (FP_MODULUS**2 - 1)) for i in (2, 3))

_Y, _Z = FP2_BYTES, 2 * FP2_BYTES
_ONE = np.uint64(1)
_psi_x, _psi_y = fp_constant("g2_psi_x", *PSI_X), fp_constant("g2_psi_y", *PSI_Y)


@formula
def fp2_mul_by_3b(d, a):
    """3b a = 12 xi a = 4 (2 xi a + xi a)."""
    t = stack(12)
    fp2_mul_by_xi(d, a)
    fp2_dbl(t, d)
    fp2_add(d, d, t)
    fp2_dbl(d, d)
    fp2_dbl(d, d)


_group = group(
    "g2",
    Field(2 * FP_WORDS, fp2_mul, fp2_add, fp2_sub, fp2_sqr, fp2_neg, fp2_copy, fp2_inv, fp2_zero, fp2_one),
    fp_constant("g2_b", CURVE_B * XI[0], CURVE_B * XI[1]),
    fp2_mul_by_3b,
)
g2_infinity, g2_add, g2_double = _group.infinity, _group.add, _group.double
g2_affine_neg, g2_to_affine = _group.affine_neg, _group.to_affine
_from_finite, _mul_by_abs_z, _right_side = _group.from_finite, _group.mul_by_abs_z, _group.right_side


# Points ----------------------------------------------------------------------------------------------------------------------


@inner
def g2_affine_is_infinity(a):
    """x = y = 0, for an affine a."""
    return fp2_is_zero(a) and fp2_is_zero(a + _Y)


@inner
def g2_from_affine(d, a):
    """(x, y) -> (x : y : 1); (0, 0) -> (0 : 1 : 0)."""
    if g2_affine_is_infinity(a):
        g2_infinity(d)
    else:
        _from_finite(d, a)


@inner
def g2_mul(d, a, scalar):
    """[k] a for a projective a and a 4-word canonical k, taken as an integer, never reduced.  d must not be a.  Variable time."""
    g2_infinity(d)
    for i in range(FR_WORDS * WORD_BITS - 1, -1, -1):
        g2_double(d, d)
        if (load_word(scalar + WORD_BYTES * (i >> 6)) >> np.uint64(i & 63)) & _ONE:
            g2_add(d, d, a)


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


@inlined
def _is_in_subgroup(a):
    """r a = O, for an affine a on the curve, by psi(a) = [z] a.  63 doublings, 5 additions.

    Sound because psi is an endomorphism of the whole curve with psi^2 - [z + 1] psi + [p] = 0 (the trace of Frobenius on E is z + 1):
    psi(a) = [z] a gives [p - z] a = O.  p - z = r (z - 1)^2/3, and its greatest common divisor with the order of E'(Fp2) is r, so the
    order of a divides r.  On G2, psi is the multiplication by p, and p = z mod r.
    Source: Scott, ePrint 2021/1130, section 4; the condition on the divisor: El Housni, Guillevic, Piellard, ePrint 2022/352.
    """
    if g2_affine_is_infinity(a):
        return True
    p, q, image, t = stack(36), stack(36), stack(24), stack(12)
    _from_finite(p, a)
    _mul_by_abs_z(q, p)  # -z a = (X : Y : Z); its opposite shall be (x : y : 1) = psi(a)
    if fp2_is_zero(q + _Z):
        return False
    g2_affine_psi(image, a)
    fp2_mul(t, image, q + _Z)
    if not fp2_eq(t, q):
        return False
    fp2_mul(t, image + _Y, q + _Z)
    fp2_neg(t, t)
    return fp2_eq(t, q + _Y)


@inlined
def _decode(d, data):
    """96 bytes, x1 | x0 for x = x0 + x1 u -> affine point at d, (0, 0) if there is none, and its status.  The subgroup is not checked."""
    x, y = stack(12), stack(12)
    fp2_zero(d)
    fp2_zero(d + _Y)
    fp_reverse_bytes(x + FP_BYTES, data)
    fp_reverse_bytes(x, data + FP_BYTES)
    flags = take_flags(x + FP_BYTES)
    status = flags_status(flags, fp2_is_zero(x))
    if status != POINT_OK:
        return status
    if not (fp_is_canonical(x) and fp_is_canonical(x + FP_BYTES)):
        return POINT_NOT_CANONICAL
    fp_to_mont(x, x)
    fp_to_mont(x + FP_BYTES, x + FP_BYTES)
    _right_side(y, x)
    if not fp2_sqrt(d + _Y, y):
        fp2_zero(d + _Y)
        return POINT_NOT_ON_CURVE
    fp2_copy(d, x)
    if fp2_is_larger(d + _Y) != bool(flags & FLAG_LARGER):
        fp2_neg(d + _Y, d + _Y)
    return POINT_OK


@inlined
def _encode(data, a):
    """Affine point at a -> 96 bytes, x1 | x0."""
    x = stack(12)
    fp_from_mont(x, a)
    fp_from_mont(x + FP_BYTES, a + FP_BYTES)
    put_flags(x + FP_BYTES, g2_affine_is_infinity(a), fp2_is_larger(a + _Y))
    fp_reverse_bytes(data, x + FP_BYTES)
    fp_reverse_bytes(data + FP_BYTES, x)


# Arrays ----------------------------------------------------------------------------------------------------------------------


@kernel
def g2_decode_many(out, data, status):
    """The ZCash form, without the subgroup check.

    In: data (n, 96) uint8.  Out: status (n,) uint8, POINT_...; out (n, 24) affine, (0, 0) unless the status is POINT_OK.
    """
    for i in range(len(data)):
        status[i] = _decode(row(out, i), row(data, i))


@kernel
def g2_check_subgroup_many(status, points):
    """Turns POINT_OK into POINT_NOT_IN_SUBGROUP where [r]P is not O.  In: points (n, 24) affine on the curve, status (n,) uint8."""
    for i in range(len(points)):
        if status[i] == POINT_OK and not _is_in_subgroup(row(points, i)):
            status[i] = POINT_NOT_IN_SUBGROUP


@kernel
def g2_encode_many(data, points):
    """In: points (n, 24) affine.  Out: data (n, 96) uint8, the ZCash form."""
    for i in range(len(points)):
        _encode(row(data, i), row(points, i))


@kernel
def g2_neg_many(out, points):
    """In: points (n, 24) affine.  Out: out (n, 24), the opposites."""
    for i in range(len(points)):
        g2_affine_neg(row(out, i), row(points, i))


@kernel
def _mul_many(out, base, scalars):
    p, q = stack(36), stack(36)
    g2_from_affine(p, row(base, 0))
    for i in range(len(scalars)):
        g2_mul(q, p, row(scalars, i))
        g2_to_affine(row(out, i), q)


def g2_mul_many(base, scalars):
    """k_i Q for one Q.  Variable time.

    In: base (1, 24) or (24,) affine; scalars (n, 4) plain integers below 2^256.  Out: (n, 24) affine.
    """
    base, scalars = rows(base.reshape(1, -1), G2_AFFINE_WORDS), rows(scalars, FR_WORDS)
    out = np.empty((len(scalars), G2_AFFINE_WORDS), np.uint64)
    _mul_many(out, base, scalars)
    return out

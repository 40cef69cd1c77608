"""Pallas, y^2 = x^3 + 5 over Fp, p = 2^254 + 45560315531419706090280762371685220353: its base field, 4 x 64-bit limbs in Montgomery form
(contract: limbs.py), and the map of field elements to points that group hashes are made of.

A point is 8 words, x | y, never infinity.  Sources: Zcash protocol specification, sections 5.4.9.6 "Pallas and Vesta" and 5.4.9.8 "Group
Hash into Pallas and Vesta"; RFC 9380, section 6.6.2 (simplified SWU); Velu 1971 for the isogeny; Tonelli and Shanks for the root.
"""

import numpy as np

from bonsai_verifier.kernels.cache import inner, kernel
from bonsai_verifier.kernels.inverse import inversion
from bonsai_verifier.kernels.limbs import WORD_BITS, constant, field_operations, load_word, power, row, stack

PALLAS_MODULUS = 0x40000000000000000000000000000000224698FC094CF91B992D30ED00000001
PALLAS_WORDS, PALLAS_BYTES = 4, 32
POINT_WORDS = 2 * PALLAS_WORDS
CURVE_B = 5
# The curve iso-Pallas, y^2 = x^3 + a x + b, from which an isogeny of degree 3 leads to Pallas: SWU needs a b != 0
ISO_A = 0x18354A2EB0EA8C9C49BE2D7258370742B74134581A27A59F92BB4B0B657A014B
ISO_B = 1265
SWU_Z = -13
# The isogeny's kernel is infinity and the two points of iso-Pallas over this abscissa, a root of 3 x^4 + 6 a x^2 + 12 b x - a^2
ISO_KERNEL = 0x115468C111FB318052CFC0198FDB5AC34301A71D1FF0C7CD6A57031B4BA19471
TWO_ADICITY = 32  # p - 1 = 2^32 t, t odd
GENERATOR = 5  # of Fp*; the least integer that is one

_P, _Y = PALLAS_MODULUS, PALLAS_BYTES
_T = (_P - 1) >> TWO_ADICITY
# Velu's formulas: x + v / (x - x0) + u / (x - x0)^2 and y (1 - v / (x - x0)^2 - 2 u / (x - x0)^3), then (x/9, y/27), for Pallas's b
ISO_V = 2 * (3 * ISO_KERNEL**2 + ISO_A) % _P
ISO_U = 4 * (ISO_KERNEL**3 + ISO_A * ISO_KERNEL + ISO_B) % _P
_ONE, _ZERO = np.uint64(1), np.uint64(0)

_ops = field_operations("pallas", _P, PALLAS_WORDS)
pallas_mul, pallas_sqr, pallas_add, pallas_sub, pallas_neg = _ops.mul, _ops.sqr, _ops.add, _ops.sub, _ops.neg
pallas_copy, pallas_zero, pallas_one, pallas_is_zero, pallas_eq = _ops.copy, _ops.zero, _ops.one, _ops.is_zero, _ops.eq
pallas_to_mont, pallas_from_mont, pallas_is_canonical = _ops.to_mont, _ops.from_mont, _ops.is_canonical
pallas_inv = inversion(
    "pallas_inv", _P, PALLAS_WORDS, 2 ** (2 * WORD_BITS * PALLAS_WORDS)
)  # 1/a, 0 for 0; variable time

_root_power = power("pallas_root_power", _ops, (_T - 1) // 2, (2, 4))


def _constant(name, x):
    return constant(f"pallas_{name}", (x << WORD_BITS * PALLAS_WORDS) % _P, PALLAS_WORDS)


_put_a, _put_b, _put_z = _constant("iso_a", ISO_A), _constant("iso_b", ISO_B), _constant("swu_z", SWU_Z)
_put_first = _constant("swu_first", -ISO_B * pow(ISO_A, -1, _P))  # x_1 = -b/a (1 + 1/t)
_put_degenerate = _constant("swu_degenerate", ISO_B * pow(SWU_Z * ISO_A, -1, _P))  # x_1 for t = 0
_put_unity = _constant("root_of_unity", pow(GENERATOR, _T, _P))
_put_kernel, _put_u, _put_v = _constant("iso_kernel", ISO_KERNEL), _constant("iso_u", ISO_U), _constant("iso_v", ISO_V)
_put_ninth, _put_27th = _constant("ninth", pow(9, -1, _P)), _constant("27th", pow(27, -1, _P))
_put_five = _constant("curve_b", CURVE_B)


@kernel
def pallas_to_mont_many(out, a):
    """In: a (n, 4) canonical.  Out: out (n, 4) Montgomery."""
    for i in range(len(a)):
        pallas_to_mont(row(out, i), row(a, i))


@kernel
def pallas_from_mont_many(out, a):
    """In: a (n, 4) Montgomery.  Out: out (n, 4) canonical."""
    for i in range(len(a)):
        pallas_from_mont(row(out, i), row(a, i))


@kernel
def pallas_canonical_many(out, a):
    """out_i: whether the integer a_i, of (n, 4) words, is below p."""
    for i in range(len(a)):
        out[i] = pallas_is_canonical(row(a, i))


@inner
def pallas_sqrt(d, a):
    """d = a root of a, or False if there is none, and d means nothing.  d may not be a."""
    w, b, z, x = stack(4), stack(4), stack(4), stack(4)
    if pallas_is_zero(a):
        pallas_zero(d)
        return True
    pallas_one(d)
    _root_power(w, a)
    pallas_mul(x, a, w)  # x^2 = a b, b = a^t of an order that divides 2^32
    pallas_mul(b, x, w)
    _put_unity(z)
    order = TWO_ADICITY
    while True:
        k = 0
        pallas_copy(w, b)
        while k < order and not pallas_eq(w, d):
            pallas_sqr(w, w)
            k += 1
        if k == order:
            return False
        if k == 0:
            break
        for _ in range(order - k - 1):
            pallas_sqr(z, z)
        pallas_mul(x, x, z)
        pallas_sqr(z, z)
        pallas_mul(b, b, z)
        order = k
    pallas_copy(d, x)
    return True


@inner
def _iso_right_side(d, x):
    """d = x^3 + a x + b."""
    t = stack(4)
    pallas_sqr(t, x)
    _put_a(d)
    pallas_add(t, t, d)
    pallas_mul(t, t, x)
    _put_b(d)
    pallas_add(d, d, t)


@inner
def _is_odd(a):
    plain = stack(4)
    pallas_from_mont(plain, a)
    return load_word(plain) & _ONE != _ZERO


@inner
def map_to_iso(d, u):
    """The point of iso-Pallas that simplified SWU makes of u."""
    zu, t, x, y, g = stack(4), stack(4), stack(4), stack(4), stack(4)
    _put_z(t)
    pallas_sqr(zu, u)
    pallas_mul(zu, zu, t)  # Z u^2
    pallas_sqr(t, zu)
    pallas_add(t, t, zu)
    if pallas_is_zero(t):
        _put_degenerate(x)
    else:
        pallas_inv(t, t)
        pallas_one(y)
        pallas_add(t, t, y)
        _put_first(x)
        pallas_mul(x, x, t)
    _iso_right_side(g, x)
    if not pallas_sqrt(y, g):
        pallas_mul(x, x, zu)
        _iso_right_side(g, x)
        pallas_sqrt(y, g)
    if _is_odd(y) != _is_odd(u):
        pallas_neg(y, y)
    pallas_copy(d, x)
    pallas_copy(d + _Y, y)


@inner
def _iso_map(d, a):
    """The isogeny from iso-Pallas.  In: no point of its kernel, of which SWU makes none that anybody could find."""
    inverse, second, third, t = stack(4), stack(4), stack(4), stack(4)
    _put_kernel(t)
    pallas_sub(t, a, t)
    pallas_inv(inverse, t)
    _put_v(t)
    pallas_mul(second, t, inverse)  # v / (x - x0)
    _put_u(t)
    pallas_mul(third, t, inverse)
    pallas_mul(third, third, inverse)  # u / (x - x0)^2
    pallas_add(t, a, second)
    pallas_add(t, t, third)
    pallas_add(third, third, third)
    pallas_add(second, second, third)
    pallas_mul(second, second, inverse)
    pallas_one(third)
    pallas_sub(second, third, second)
    pallas_mul(second, second, a + _Y)
    _put_ninth(third)
    pallas_mul(d, t, third)
    _put_27th(third)
    pallas_mul(d + _Y, second, third)


@inner
def affine_add(d, a, b):
    """d = a + b for points that are not infinity, or False if their sum is.  d may be an operand.  An inversion, 4M 1S."""
    s, t, x = stack(4), stack(4), stack(4)
    pallas_sub(t, b, a)
    if pallas_is_zero(t):
        pallas_add(t, a + _Y, a + _Y)
        if pallas_is_zero(t) or not pallas_eq(a + _Y, b + _Y):
            return False
        pallas_sqr(x, a)
        pallas_add(s, x, x)
        pallas_add(s, s, x)
    else:
        pallas_sub(s, b + _Y, a + _Y)
    pallas_inv(t, t)
    pallas_mul(s, s, t)
    pallas_sqr(x, s)
    pallas_sub(x, x, a)
    pallas_sub(x, x, b)
    pallas_sub(t, a, x)
    pallas_mul(t, t, s)
    pallas_sub(t, t, a + _Y)
    pallas_copy(d, x)
    pallas_copy(d + _Y, t)
    return True


@kernel
def map_pairs_many(out, u):
    """out (n, 8): the sum of the points of Pallas of u_2i and u_2i+1, u (2 n, 4), in Montgomery form.

    Returns how many were no infinity: all, or those before the first that is.
    """
    p, q = stack(8), stack(8)
    for i in range(len(out)):
        map_to_iso(p, row(u, 2 * i))
        _iso_map(p, p)
        map_to_iso(q, row(u, 2 * i + 1))
        _iso_map(q, q)
        if not affine_add(row(out, i), p, q):
            return i
    return len(out)


@kernel
def lift_x_many(out, found, x):
    """out (n, 8): a point over each x (n, 4), in Montgomery form.  Out: found (n,) bool: there is one."""
    t = stack(4)
    for i in range(len(x)):
        d, a = row(out, i), row(x, i)
        pallas_sqr(t, a)
        pallas_mul(t, t, a)
        _put_five(d)
        pallas_add(t, t, d)
        found[i] = pallas_sqrt(d + _Y, t)
        pallas_copy(d, a)

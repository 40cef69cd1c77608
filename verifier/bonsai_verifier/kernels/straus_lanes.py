"""Chains of doublings and additions of one point: the vector bodies of straus.py.  The lanes hold a formula's products.

A point is a block (lanes.py): X, Y, Z in lanes 0, 1, 2, zeros in the others.  A sum is two multiplications of blocks, of six products
each, a doubling two of four.  Complete on the whole curve, as in weierstrass.py (ePrint 2015/1060, algorithms 7 and 9, a = 0, b = 4):

    sum       xx, yy, zz and xy = X1 Y2 + X2 Y1, yz, xz likewise, m = yy - 12 zz, n = yy + 12 zz:
              X = xy m - yz 12 xz,    Y = m n + 3 xx 12 xz,    Z = yz n + 3 xx xy
    double    yy, zz, xy, yz, m = yy - 36 zz, n = yy + 12 zz:
              X = 2 xy m,    Y = m n + 8 yy 12 zz,    Z = 8 yy yz

Between the multiplications values are carried, not reduced, since products may reach 2^31 p^2.
"""

import numpy as np

from .cache import inner, kernel
from .fp import FP_BYTES, FP_WORDS, fp_copy, fp_one, fp_zero
from .fp_lanes import FP_BLOCK, FP_LANES, fp8_enter, fp8_leave
from .g1 import BETA, G1_PROJECTIVE_WORDS, g1_affine_is_infinity, g1_to_affine_many
from .intrinsics import operation
from .lanes import (
    LANES,
    Limbs,
    Machine,
    Writer,
    carry,
    load,
    multiply,
    product,
    reduce,
    scaled,
    store,
    together,
    weaken,
)
from .limbs import WORD_BYTES, row, stack
from .straus import ODD, SCALAR_BITS, recode, split

MOST = 24

_USED = 6  # lanes
_ZERO = 7  # a lane of zeros
_OTHER = LANES  # from here on, lanes of the other operand of a shuffle
_BLOCK_WORDS = FP_BLOCK // WORD_BYTES
_POINT_ROWS = LANES * FP_WORDS  # words of a block's eight rows


# Writers ---------------------------------------------------------------------------------------------------------------------


def chosen(m: Machine, x: Limbs, lanes: list[int], other: Limbs | None = None) -> Limbs:
    """These lanes of x, and of `other` from _OTHER on, in this order; then zeros."""
    indices = lanes + [_ZERO] * (LANES - len(lanes))
    return [m.shuffle(a, b, indices) for a, b in zip(x, other or x)]


def combined(m: Machine, k: int, plus: list[Limbs], minus: list[Limbs]) -> Limbs:
    """The sum of `plus` less that of `minus`, plus k p in the lanes that are used.  In: loose, the result in [0, R).  Out: normalised."""
    out = []
    for i, limb in enumerate(FP_LANES.limbs(k * FP_LANES.modulus)):
        total = m.consts([limb] * _USED + [0] * (LANES - _USED))
        for x in plus:
            total = m.add(total, x[i])
        for x in minus:
            total = m.sub(total, x[i])
        out.append(total)
    out = carry(m, out)
    return [*out[:-1], m.claim(out[-1], 0, 2**52 - 1)]


def times(m: Machine, x: Limbs, k: int) -> Limbs:
    """k x, limb by limb; loose."""
    return [scaled(m, limb, k) for limb in x]


def sums_of_products(m: Machine, x: Limbs, y: Limbs, first: list[int], second: list[int]) -> Writer:
    """In lane i the product of lanes first_i plus that of lanes second_i, reduced; then zeros."""
    t = yield from product(m, x, y)
    return (yield from reduce(m, FP_LANES, [m.add(a, b) for a, b in zip(chosen(m, t, first), chosen(m, t, second))]))


def added(m: Machine, a: Limbs, b: Limbs) -> Writer:
    """a + b."""
    x, y = (
        combined(m, 0, [chosen(m, p, [0, 1, 2, 0, 1, 0]), chosen(m, p, [_ZERO] * 3 + [1, 2, 2])], []) for p in (a, b)
    )
    r = yield from multiply(m, FP_LANES, x, y)  # xx, yy, zz, (X1 + Y1)(X2 + Y2), (Y1 + Z1)(Y2 + Z2), (X1 + Z1)(X2 + Z2)
    r3, r12 = times(m, r, 3), times(m, r, 12)
    o, z = _OTHER, _ZERO
    # xy, m, yz, -yz, 3 xx, 3 xx
    x = combined(
        m,
        17,
        [chosen(m, r, [3, 1, 4, 1, o, o], r3), chosen(m, r, [z, z, z, 2])],
        [chosen(m, r, [0, o + 2, 1, 4], r12), chosen(m, r, [1, z, 2])],
    )
    # m, n, n, 12 xz, 12 xz, xy
    y = combined(
        m,
        33,
        [chosen(m, r, [1, 1, 1, o + 5, o + 5, 3], r12), chosen(m, r, [z, o + 2, o + 2], r12)],
        [chosen(m, r, [o + 2, z, z, o, o, 0], r12), chosen(m, r, [z, z, z, o + 2, o + 2, 1], r12)],
    )
    return (yield from sums_of_products(m, x, y, [0, 1, 2], [3, 4, 5]))


def doubled(m: Machine, a: Limbs) -> Writer:
    """2 a."""
    r = yield from multiply(m, FP_LANES, chosen(m, a, [1, 2, 0, 1]), chosen(m, a, [1, 2, 1, 2]))  # yy, zz, xy, yz
    r8, r12, r36 = times(m, r, 8), times(m, r, 12), times(m, r, 36)
    o, z = _OTHER, _ZERO
    # 2 xy, m, 8 yy, 8 yy
    x = combined(m, 49, [chosen(m, r, [2, 0, o, o], r8), chosen(m, r, [2])], [chosen(m, r, [z, o + 1], r36)])
    # m, n, yz, 12 zz
    y = combined(
        m,
        49,
        [chosen(m, r, [0, 0, 3, o + 1], r12), chosen(m, r, [z, o + 1], r12)],
        [chosen(m, r, [o + 1], r36)],
    )
    return (yield from sums_of_products(m, x, y, [0, 1, 2], [z, 3]))


def negated(m: Machine, a: Limbs) -> Limbs:
    """-a."""
    opposite = weaken(m, FP_LANES, [m.sub(m.zero, x) for x in a])
    return chosen(m, a, [0, _OTHER + 1, 2], opposite)


# Operations ------------------------------------------------------------------------------------------------------------------


@operation
def point_add(b, d, a, c):
    """a + c, complete."""
    m = Machine(b)
    (x,) = together(added(m, load(m, FP_LANES, a), load(m, FP_LANES, c)))
    store(m, FP_LANES, d, x)


@operation
def point_double(b, d, a):
    """2 a, complete."""
    m = Machine(b)
    (x,) = together(doubled(m, load(m, FP_LANES, a)))
    store(m, FP_LANES, d, x)


@operation
def point_neg(b, d, a):
    """-a."""
    m = Machine(b)
    store(m, FP_LANES, d, negated(m, load(m, FP_LANES, a)))


@operation
def point_image(b, d, a):
    """-phi(a) = (BETA X : -Y : Z)."""
    m, f = Machine(b), FP_LANES
    factors = zip(f.limbs(BETA * f.radix % f.modulus), f.limbs(f.radix % f.modulus))
    (x,) = together(multiply(m, f, load(m, f, a), [m.consts([beta, one, one] + [0] * 5) for beta, one in factors]))
    store(m, f, d, negated(m, x))


# Kernels ---------------------------------------------------------------------------------------------------------------------


@inner
def _enter(d, a):
    """The point at d for the affine point at a, in words."""
    words = stack(48)
    for i in range(LANES):
        fp_zero(words + FP_BYTES * i)
    if g1_affine_is_infinity(a):
        fp_one(words + FP_BYTES)
    else:
        fp_copy(words, a)
        fp_copy(words + FP_BYTES, a + FP_BYTES)
        fp_one(words + 2 * FP_BYTES)
    fp8_enter(d, words, FP_BYTES)


@inner
def _leave(out, a):
    """out (1, 12) = the point at a, affine."""
    words = np.empty((1, _POINT_ROWS), np.uint64)
    fp8_leave(row(words, 0), FP_BYTES, a)
    projective = np.empty((1, G1_PROJECTIVE_WORDS), np.uint64)
    projective[0] = words[0, :G1_PROJECTIVE_WORDS]
    g1_to_affine_many(out, projective)


@kernel
def join(out, planes):
    """As the portable body says."""
    total, p, one = stack(64), stack(64), np.zeros((1, 2 * FP_WORDS), np.uint64)
    _enter(total, row(one, 0))
    one[0, 0] = 0
    for j in range(len(planes) - 1, -1, -1):
        point_double(total, total)
        _enter(p, row(planes, j))
        point_add(total, total, p)
    _leave(out, total)


@kernel
def sum_few(out, points, scalars, in_g1):
    """As the portable body says."""
    n = len(points)
    m = 2 * n if in_g1 else n
    multiples = np.empty((m * ODD, _BLOCK_WORDS), np.uint64)
    digits = np.zeros((m, SCALAR_BITS + 1), np.int8)
    halves = np.empty((2, points.shape[1] // 3), np.uint64)
    infinity = np.zeros((1, 2 * FP_WORDS), np.uint64)
    total, p = stack(64), stack(64)
    top = 0
    for i in range(n):
        first = i * ODD
        _enter(row(multiples, first), row(points, i))
        point_double(p, row(multiples, first))
        for j in range(1, ODD):
            point_add(row(multiples, first + j), row(multiples, first + j - 1), p)
        if in_g1:
            split(row(halves, 0), row(halves, 1), row(scalars, i))
            top = max(top, recode(digits[i], halves[0]), recode(digits[n + i], halves[1]))
            for j in range(ODD):
                point_image(row(multiples, n * ODD + first + j), row(multiples, first + j))
        else:
            top = max(top, recode(digits[i], scalars[i]))
    _enter(total, row(infinity, 0))
    infinity[0, 0] = 0
    for at in range(top - 1, -1, -1):
        point_double(total, total)
        for i in range(m):
            digit = digits[i, at]
            if digit > 0:
                point_add(total, total, row(multiples, i * ODD + (digit >> 1)))
            elif digit < 0:
                point_neg(p, row(multiples, i * ODD + (-digit >> 1)))
                point_add(total, total, p)
    _leave(out, total)

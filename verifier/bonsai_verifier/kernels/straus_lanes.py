"""Chains of doublings and additions of one point: the vector body of straus.py.  The lanes hold a formula's products.

A point is a block (lanes.py): X, Y, Z in lanes 0, 1, 2, zeros in the others.  A sum is two multiplications of blocks, of six products
each, a doubling two of four.  Complete on the whole curve, as in weierstrass.py (ePrint 2015/1060, algorithms 7 and 9, a = 0, b = 4):

    sum       xx, yy, zz and xy = X1 Y2 + X2 Y1, yz, xz likewise, m = yy - 12 zz, n = yy + 12 zz:
              X = xy m - yz 12 xz,    Y = m n + 3 xx 12 xz,    Z = yz n + 3 xx xy
    double    yy, zz, xy, yz, m = yy - 36 zz, n = yy + 12 zz:
              X = 2 xy m,    Y = m n + 8 yy 12 zz,    Z = 8 yy yz

Between the multiplications values are carried, not reduced, since products may reach 2^31 p^2.
"""

from .cache import kernel
from .fp import FP_BYTES, fp_copy, fp_one, fp_zero
from .fp_lanes import FP_BLOCK, FP_LANES, fp8_enter, fp8_leave
from .g1 import BETA, g1_affine_is_infinity
from .intrinsics import operation
from .lane_machine import LANES, Limbs, Machine, Writer, together
from .lanes import carry, load, multiply, product, reduce, scaled, store, weaken
from .limbs import WORD_BYTES, row, stack
from .straus import DOUBLE, FIRST, IMAGE, SUBTRACT

MOST = 24

_USED = 6  # lanes
_ZERO = 7  # a lane of zeros
_OTHER = LANES  # from here on, lanes of the other operand of a shuffle
NUMBERED_WORDS = FP_BLOCK // WORD_BYTES


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


# The chain -------------------------------------------------------------------------------------------------------------------


@kernel
def run_chain(out, numbered, points, program):
    """As the portable body says."""
    opposite, words = stack(64), stack(48)
    for i in range(-1, len(points)):  # the total, O, and the points
        for j in range(LANES):
            fp_zero(words + FP_BYTES * j)
        if i < 0 or g1_affine_is_infinity(row(points, i)):
            fp_one(words + FP_BYTES)
        else:
            fp_copy(words, row(points, i))
            fp_copy(words + FP_BYTES, row(points, i) + FP_BYTES)
            fp_one(words + 2 * FP_BYTES)
        fp8_enter(row(numbered, FIRST + i if i >= 0 else 0), words, FP_BYTES)
    for i in range(len(program)):
        what, d = program[i, 0], row(numbered, program[i, 1])
        a, b = row(numbered, program[i, 2]), row(numbered, program[i, 3])
        if what == DOUBLE:
            point_double(d, a)
        elif what == IMAGE:
            point_image(d, a)
        else:
            if what == SUBTRACT:
                point_neg(opposite, b)
                b = opposite
            point_add(d, a, b)
    for i in range(len(out)):
        fp8_leave(words, FP_BYTES, row(numbered, i))
        for j in range(3):
            fp_copy(row(out, i) + FP_BYTES * j, words + FP_BYTES * j)

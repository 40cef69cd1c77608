"""Fp12 in lanes: one element is two blocks (lanes.py).  A vector body: compiled only where cpu.py says that it may run.

Fp12 = Fp4[w]/(w^3 - s), Fp4 = Fp2[s]/(s^2 - xi): as s = w^3, sum_i a_i w^i = A + B w + C w^2 with A = a_0 + a_3 s, B = a_1 + a_4 s,
C = a_2 + a_5 s.  A, B, C lie side by side, each a_i of Fp2 in a pair of lanes, c0 | c1:

    low   a_0  a_1  a_2  -          high   a_3  a_4  a_5  -

The last pair holds anything within the bounds.  So one instruction works on all of A, B, C, products in Fp4 need no lane but its own pair,
and lanes are exchanged only where A, B, C meet.  Products stay columns, not reduced, while they are summed in Fp2 and Fp4.

Bounds, in lanes.py's terms, of what operations take and give:
  element   limbs of at most 57 bits and a sign, every lane of a value in [0, 64 p]
Intervals prove them (tests/verifier/kernels/test_fp12_lanes.py), and that what comes between fits.
"""

from itertools import chain

from numba.core import cgutils

from .fp import FP_BYTES, FP_WORDS
from .fp2 import FP2_BYTES
from .fp12 import FROBENIUS, FROBENIUS_2
from .fp_lanes import FP_BLOCK, FP_LANES
from .intrinsics import I64, formula, operation
from .lane_machine import LIMB_MASK, LaneField, Limbs, Machine, together
from .lanes import (
    carry,
    enter,
    fold,
    leave,
    load,
    load_blocks,
    load_rows,
    minus,
    plus,
    product_columns,
    reduce,
    ripple,
    store_blocks,
    store_rows,
)
from .limbs import stack

LANE12_BYTES = 2 * FP_BLOCK
BOUND = 64  # of an element's lanes, in multiples of p
MOST_SQUARINGS = 8  # cyclotomic ones, one after the other
SQUARING_BOUND = 2**14  # of what each of them takes: starting from BOUND, each doubles and adds 12

_N = FP_LANES.n
_COLUMNS = 2 * FP_BLOCK  # bytes of columns
_OFFSETS = [FP2_BYTES * (3 * (i % 2) + i // 2) for i in range(6)]  # of a_i among the words of fp12.py


# Pairs -----------------------------------------------------------------------------------------------------------------------


def _each(m: Machine, x: Limbs, y: Limbs, lanes: list[int]) -> Limbs:
    return [m.shuffle(a, b, lanes) for a, b in zip(x, y)]


def pairs(m: Machine, x: Limbs, y: Limbs, *order: int) -> Limbs:
    """Pair i is pair order_i of x | y: 0 to 3 of x, 4 to 7 of y."""
    return _each(m, x, y, [lane for pair in order for lane in (2 * pair, 2 * pair + 1)])


def swapped(m: Machine, x: Limbs) -> Limbs:
    """c1 | c0 of each pair."""
    return _each(m, x, x, [1, 0, 3, 2, 5, 4, 7, 6])


def firsts(m: Machine, x: Limbs) -> Limbs:
    """c0 | c0 of each pair."""
    return _each(m, x, x, [0, 0, 2, 2, 4, 4, 6, 6])


def seconds(m: Machine, x: Limbs) -> Limbs:
    """c1 | c1 of each pair."""
    return _each(m, x, x, [1, 1, 3, 3, 5, 5, 7, 7])


def alternate(m: Machine, x: Limbs, y: Limbs) -> Limbs:
    """c0 of x | c1 of y."""
    return _each(m, x, y, [0, 9, 2, 11, 4, 13, 6, 15])


def plus_u_times(m: Machine, x: Limbs, y: Limbs) -> Limbs:
    """x + u y = x0 - y1 | x1 + y0."""
    s = swapped(m, y)
    return plus(m, x, alternate(m, _opposite(m, s), s))


def _opposite(m: Machine, x: Limbs) -> Limbs:
    return [m.sub(m.zero, limb) for limb in x]


def times_xi(m: Machine, x: Limbs) -> Limbs:
    """(1 + u) x."""
    return plus_u_times(m, x, x)


def multiple_of_p(m: Machine, f: LaneField, k: int) -> Limbs:
    """k p in every lane, k p < R."""
    return [m.const(limb) for limb in f.limbs(k * f.modulus)]


def digits(m: Machine, x: Limbs) -> Limbs:
    """A carry pass for multiplications.  In: value in [0, R)."""
    x = ripple(m, x)
    return [*x[:-1], m.claim(x[-1], 0, LIMB_MASK)]


def carried(m: Machine, x: Limbs) -> Limbs:
    """A carry pass.  In: value in [0, R).  Out: normalised."""
    x = carry(m, x)
    return [*x[:-1], m.claim(x[-1], 0, LIMB_MASK)]


def pair_product(m: Machine, f: LaneField, x: Limbs, y: Limbs) -> Limbs:
    """Columns of x y in Fp2: x0 y0 - x1 y1 | x0 y1 + x1 y0.  In: values in [0, 256 p].  4 products a pair, in 2 steps of all lanes."""
    x1, y = seconds(m, x), digits(m, y)
    x0, x1 = firsts(m, digits(m, x)), digits(m, alternate(m, minus(m, multiple_of_p(m, f, 4 * BOUND), x1), x1))
    return product_columns(m, x1, swapped(m, y), product_columns(m, x0, y))


def square_operands(m: Machine, f: LaneField, x: Limbs, k: int) -> tuple[Limbs, Limbs]:
    """X = x0 + x1 | 2 x0 and Y = x0 - x1 | x1, so that X Y is x^2 in Fp2; each plus 2 k p, carried.  In: values in [-k p, k p].

    They are linear in x, but for the multiple of p: those of a sum are the sums.  2 k p included, 2 x + 4 k p = (X | Y) + Y.
    """
    s, positive = swapped(m, x), multiple_of_p(m, f, 2 * k)
    big = carried(m, plus(m, plus(m, firsts(m, x), s), positive))
    return big, carried(m, plus(m, alternate(m, minus(m, x, s), x), positive))


def fourth_degree_square_factors(
    m: Machine, f: LaneField, low: Limbs, high: Limbs, k: int
) -> list[tuple[Limbs, Limbs]]:
    """Of a^2, b^2 and (a + b)^2 for a of low, b of high.  In: values in [-k p, k p]."""
    a, b = square_operands(m, f, low, k), square_operands(m, f, high, k)
    return [a, b, (digits(m, plus(m, a[0], b[0])), digits(m, plus(m, a[1], b[1])))]


def fourth_degree_square_columns(m: Machine, aa: Limbs, bb: Limbs, ss: Limbs) -> tuple[Limbs, Limbs]:
    """(a + b s)^2 = (a^2 + xi b^2) + ((a + b)^2 - a^2 - b^2) s, from columns of the three squares."""
    both = plus(m, aa, bb)
    return plus_u_times(m, both, bb), minus(m, ss, both)


# Elements --------------------------------------------------------------------------------------------------------------------


def plus_signed(m: Machine, x: Limbs, y: Limbs, *signs: int) -> Limbs:
    """x + y or x - y, by the sign of each pair."""
    return plus(m, x, pairs(m, y, _opposite(m, y), *(i if sign > 0 else 4 + i for i, sign in enumerate(signs))))


def cyclotomic_square(m: Machine, f: LaneField, low: Limbs, high: Limbs, k: int) -> tuple[Limbs, Limbs]:
    """a^2 for a in the cyclotomic subgroup.  In: values in [-b p, b p], b <= k.  Out: in [-(2 b + 12) p, (2 b + 12) p], limbs of 61 bits.

    (3 A^2 - 2 bar A) + (3 s C^2 + 2 bar B) w + (3 B^2 - 2 bar C) w^2, bar: s -> -s.  Source: Granger, Scott, ePrint 2009/565, 3.2.
    """
    factors = fourth_degree_square_factors(m, f, low, high, k)
    doubles = [plus(m, y, alternate(m, x, y)) for x, y in factors[:2]]  # raised by 4 k p
    columns = fourth_degree_square_columns(m, *(product_columns(m, *xy) for xy in factors))
    c0, c1 = together(*(reduce(m, f, t) for t in columns))
    squares = pairs(m, c0, times_xi(m, c1), 0, 6, 1, 3), pairs(m, c0, c1, 4, 2, 5, 3)  # of A^2, s C^2, B^2
    offset = f.limbs(4 * k * f.modulus)
    halves = []
    for square, twice, signs in zip(squares, doubles, ((-1, 1, -1, 1), (1, -1, 1, -1))):
        back = [m.consts([-sign * limb for sign in signs for _ in range(2)]) for limb in offset]
        thrice = plus(m, square, plus(m, square, plus(m, square, back)))
        halves.append(plus_signed(m, thrice, twice, *signs))
    return halves[0], halves[1]


def folded(m: Machine, f: LaneField, x: Limbs) -> Limbs:
    """x modulo p, weak.  In: values in [-2 SQUARING_BOUND p, 2 SQUARING_BOUND p]."""
    return fold(m, f, carried(m, plus(m, x, multiple_of_p(m, f, 2 * SQUARING_BOUND))))


def factors_12(m: Machine, low: Limbs, high: Limbs) -> list[Limbs]:
    """What Karatsuba's method multiplies, of A, B, C, A + B: both coefficients and their sum; of B + C, A + C: the same in two blocks."""
    zeros = [m.zero] * _N
    low_4, high_4 = (plus(m, pairs(m, x, x, 0, 1, 2, 0), pairs(m, x, zeros, 4, 4, 4, 1)) for x in (low, high))
    with_c = plus(m, pairs(m, low, high, 1, 0, 5, 4), pairs(m, low, high, 2, 2, 6, 6))
    return [low_4, high_4, plus(m, low_4, high_4), with_c, plus(m, with_c, pairs(m, with_c, with_c, 2, 3, 0, 1))]


def product_12_columns(
    m: Machine, lows: Limbs, highs: Limbs, sums: Limbs, mixed: Limbs, mixed_sums: Limbs
) -> list[Limbs]:
    """From five products, columns of AA', BB', CC', (A + B)(A' + B'): of 1, of s; and of (B + C)(B' + C'), (A + C)(A' + C'): of both."""
    both = plus(m, lows, highs)
    highs_of_mixed = pairs(m, mixed, mixed, 2, 3, 2, 3)
    both_mixed = plus(m, mixed, highs_of_mixed)
    mixed = pairs(m, plus_u_times(m, both_mixed, highs_of_mixed), minus(m, mixed_sums, both_mixed), 0, 1, 4, 5)
    return [plus_u_times(m, both, highs), minus(m, sums, both), mixed]


def product_12(m: Machine, f: LaneField, w0: Limbs, w1: Limbs, x: Limbs) -> list[Limbs]:
    """A product from the reduced columns: 6 products in Fp4, which is 18 in Fp2, by Karatsuba's method at both levels.

    AA' + s ((B + C)(B' + C') - BB' - CC'),   (A + B)(A' + B') - AA' - BB' + s CC',   (A + C)(A' + C') - AA' - CC' + BB'.
    """

    def half(w: Limbs, s_w: Limbs, ac: int, s_x: Limbs, bc: int) -> Limbs:
        """From the coefficients of 1, or of s, in w, s w, x, s x."""
        r = pairs(m, w, x, 0, 3, 4 + ac, 3)
        r = plus_signed(m, r, pairs(m, s_x, w, bc, 4, 4, 7), 1, -1, -1, -1)
        r = minus(m, r, pairs(m, s_w, w, 1, 5, 6, 7))
        r = plus_signed(m, r, pairs(m, s_w, w, 2, 2, 5, 7), -1, 1, 1, 1)
        return plus(m, r, multiple_of_p(m, f, 16))

    return [half(w0, times_xi(m, w1), 1, times_xi(m, x), 2), half(w1, w0, 3, x, 0)]


def square_12_factors(
    m: Machine, f: LaneField, low: Limbs, high: Limbs
) -> tuple[list[tuple[Limbs, Limbs]], Limbs, Limbs]:
    """Factors of the squares of A, A + B + C, A - B + C, C; then both coefficients and their sum of B, and of C."""
    zeros = [m.zero] * _N

    def spread(x: Limbs) -> Limbs:
        with_c = plus(m, pairs(m, x, x, 0, 0, 0, 2), pairs(m, x, zeros, 4, 2, 2, 4))
        return plus_signed(m, with_c, pairs(m, x, zeros, 4, 1, 1, 4), 1, 1, -1, 1)

    def both_and_sum(i: int) -> Limbs:
        return plus(m, pairs(m, low, high, i, 4 + i, i, i), pairs(m, high, zeros, 4, 4, i, 4))

    squares = fourth_degree_square_factors(m, f, spread(low), spread(high), 4 * BOUND)
    return squares, both_and_sum(1), both_and_sum(2)


def square_12_twice(m: Machine, f: LaneField, w0: Limbs, w1: Limbs, bc: Limbs) -> list[Limbs]:
    """2 a^2 from the reduced columns: 4 squares and a product in Fp4.  Source: Chung, Hasan 2007, SQR3, without its divisions by 2.

    With S_1 = (A + B + C)^2, S_2 = (A - B + C)^2:  2 A^2 + 4 s BC,   S_1 - S_2 - 4 BC + 2 s C^2,   S_1 + S_2 - 2 A^2 - 2 C^2.
    """
    # bc_0 + xi bc_1, bc_2 - bc_0 - bc_1, xi (bc_2 - bc_0 - bc_1): BC = T_0 + T_1 s, and T_2 = xi T_1; four times them
    zeros, xi_bc = [m.zero] * _N, times_xi(m, bc)
    t = plus_signed(m, pairs(m, bc, xi_bc, 0, 2, 6, 3), pairs(m, bc, xi_bc, 5, 0, 4, 3), 1, -1, -1, -1)
    t = pairs(m, t, minus(m, t, pairs(m, bc, xi_bc, 0, 1, 5, 3)), 0, 5, 6, 3)
    t = plus(m, t, t)
    t = plus(m, t, t)

    def half(w: Limbs, s_w: Limbs, s_bc: int, bc: int) -> Limbs:
        """From the coefficients of 1, or of s, in w, s w, and of s BC, BC in t."""
        w_2 = plus(m, w, w)
        r = plus_signed(m, pairs(m, w, w, 0, 1, 1, 3), pairs(m, w, w, 0, 2, 2, 3), 1, -1, 1, -1)
        r = plus_signed(m, r, pairs(m, pairs(m, t, plus(m, s_w, s_w), s_bc, 7, 3, 3), w_2, 0, 1, 4, 3), 1, 1, -1, -1)
        r = minus(m, r, pairs(m, pairs(m, t, zeros, 4, bc, 4, 4), w_2, 0, 1, 7, 3))
        return plus(m, r, multiple_of_p(m, f, 32))

    return [half(w0, times_xi(m, w1), 2, 0), half(w1, w0, 0, 1)]


def frobenius_12(m: Machine, f: LaneField, low: Limbs, high: Limbs) -> list[Limbs]:
    """a^p.  In, out: elements."""
    halves = []
    for x, constants in ((low, FROBENIUS[:3]), (high, FROBENIUS[3:])):
        conjugate = alternate(m, x, minus(m, multiple_of_p(m, f, BOUND), x))
        halves.append(pair_product(m, f, conjugate, _coefficients(m, f, constants)))
    return together(*(reduce(m, f, t) for t in halves))


def frobenius_2_12(m: Machine, f: LaneField, low: Limbs, high: Limbs) -> list[Limbs]:
    """a^(p^2).  In, out: elements."""
    halves = []
    for x, constants in ((low, FROBENIUS_2[:3]), (high, FROBENIUS_2[3:])):
        in_fp = _coefficients(m, f, [(c0, c0) for c0, _ in constants])
        halves.append(product_columns(m, digits(m, x), in_fp))
    return together(*(reduce(m, f, t) for t in halves))


def conjugate_12(m: Machine, f: LaneField, low: Limbs, high: Limbs) -> list[Limbs]:
    """a^(p^6), the opposites of a_1, a_3, a_5.  In, out: elements."""
    halves = []
    for x, signs in ((low, (1, -1, 1, 1)), (high, (-1, 1, -1, 1))):
        offset = [
            m.consts([limb * (sign < 0) for sign in signs for _ in range(2)]) for limb in f.limbs(BOUND * f.modulus)
        ]
        halves.append(carried(m, plus_signed(m, offset, x, *signs)))
    return halves


def _coefficients(m: Machine, f: LaneField, values: list[tuple[int, int]]) -> Limbs:
    """Three constants of Fp2 in Montgomery form, as pairs 0 to 2."""
    lanes = [f.limbs(x * f.radix % f.modulus) for x in [*chain(*values), 0, 0]]
    return [m.consts(list(limb)) for limb in zip(*lanes)]


# Operations ------------------------------------------------------------------------------------------------------------------
#
# A product and a square are formulas of small functions that they share, and loops over blocks: written in one piece they are 50 KiB of
# code, more than an instruction cache holds, and a loop over both takes a tenth to a half longer.


def _read(m, a, n=2):
    return load_blocks(m, FP_LANES, a, n)


def _write(m, d, blocks):
    store_blocks(m, FP_LANES, d, blocks)


def _read_columns(m, t, n):
    return [[m.load(t, 2 * _N * i + j) for j in range(2 * _N)] for i in range(n)]


def _write_columns(m, t, columns):
    for i, limb in enumerate(chain(*columns)):
        m.store(t, i, limb)


@operation
def _factors(b, x, a):
    m = Machine(b)
    _write(m, x, factors_12(m, *_read(m, a)))


@operation
def _square_factors(b, x, y, a):
    """Four blocks each: of three squares, and of B and C."""
    m = Machine(b)
    squares, factor_b, factor_c = square_12_factors(m, FP_LANES, *_read(m, a))
    _write(m, x, [*(x for x, _ in squares), factor_b])
    _write(m, y, [*(y for _, y in squares), factor_c])


@operation
def _products(b, t, x, y, n):
    """n times the columns of a product, lane by lane."""
    with cgutils.for_range(b, n) as loop:
        m = Machine(b)
        x, y = (load(m, FP_LANES, b.add(a, b.mul(loop.index, I64(FP_BLOCK)))) for a in (x, y))
        _write_columns(m, b.add(t, b.mul(loop.index, I64(_COLUMNS))), [product_columns(m, x, y)])


@operation
def _pair_products(b, t, x, y, n):
    """n times the columns of a product in Fp2."""
    with cgutils.for_range(b, n) as loop:
        m = Machine(b)
        x, y = (load(m, FP_LANES, b.add(a, b.mul(loop.index, I64(FP_BLOCK)))) for a in (x, y))
        _write_columns(m, b.add(t, b.mul(loop.index, I64(_COLUMNS))), [pair_product(m, FP_LANES, x, y)])


@operation
def _reductions(b, d, t, n):
    with cgutils.for_range(b, n) as loop:
        m = Machine(b)
        columns = _read_columns(m, b.add(t, b.mul(loop.index, I64(_COLUMNS))), 1)
        _write(m, b.add(d, b.mul(loop.index, I64(FP_BLOCK))), together(reduce(m, FP_LANES, *columns)))


@operation
def _product_columns(b, w, t):
    m = Machine(b)
    _write_columns(m, w, product_12_columns(m, *_read_columns(m, t, 5)))


@operation
def _square_columns(b, w, t):
    m = Machine(b)
    _write_columns(m, w, fourth_degree_square_columns(m, *_read_columns(m, t, 3)))


@operation
def _product_result(b, d, r):
    m = Machine(b)
    _write(m, d, product_12(m, FP_LANES, *_read(m, r, 3)))


@operation
def _square_result(b, d, r):
    m = Machine(b)
    _write(m, d, square_12_twice(m, FP_LANES, *_read(m, r, 3)))


@formula
def lane12_mul(d, a, b):
    """a b."""
    x, y, t, w, r = stack(320), stack(320), stack(640), stack(384), stack(192)
    _factors(x, a)
    _factors(y, b)
    _pair_products(t, x, y, 5)
    _product_columns(w, t)
    _reductions(r, w, 3)
    _product_result(d, r)


@formula
def lane12_sqr_twice(d, a):
    """2 a^2."""
    x, y, t, w, r = stack(256), stack(256), stack(384), stack(384), stack(192)
    _square_factors(x, y, a)
    _products(t, x, y, 3)
    _square_columns(w, t)
    _pair_products(w + 2 * _COLUMNS, x + 3 * FP_BLOCK, y + 3 * FP_BLOCK, 1)
    _reductions(r, w, 3)
    _square_result(d, r)


def _unary(name, writer):
    def write(b, d, a):
        m = Machine(b)
        _write(m, d, writer(m, FP_LANES, *_read(m, a)))

    write.__doc__ = writer.__doc__
    return operation(write, f"lane12_{name}")


lane12_conj = _unary("conj", conjugate_12)
lane12_frobenius = _unary("frobenius", frobenius_12)
lane12_frobenius_2 = _unary("frobenius_2", frobenius_2_12)
lane12_copy = _unary("copy", lambda m, f, *halves: halves)


@operation
def lane12_cyclotomic_sqr(b, d, n):
    """d <- d^(2^n) for d in the cyclotomic subgroup, 0 <= n <= MOST_SQUARINGS."""
    m = Machine(b)
    with cgutils.for_range(b, n):
        _write(m, d, cyclotomic_square(m, FP_LANES, *_read(m, d), SQUARING_BOUND))
    _write(m, d, [folded(m, FP_LANES, x) for x in _read(m, d)])


@operation
def lane12_one(b, d):
    m = Machine(b)
    zeros = [(0, 0)] * 3
    _write(m, d, [_coefficients(m, FP_LANES, c) for c in ([(1, 0), *zeros[1:]], zeros)])


@operation
def lane12_enter(b, d, a):
    """An element from 72 words of fp12.py, reduced."""
    m = Machine(b)
    _write(m, d, [enter(m, FP_LANES, load_rows(m, _addresses(m, a, i), FP_WORDS)) for i in (0, 3)])


@operation
def lane12_leave(b, d, a):
    """72 words of fp12.py, reduced, from an element."""
    m = Machine(b)
    for i, x in zip((0, 3), _read(m, a)):
        store_rows(m, _addresses(m, d, i)[:6], leave(m, FP_LANES, fold(m, FP_LANES, carried(m, x))))


def _addresses(m, a, first):
    """Of both coordinates of three a_i, and twice again of the first: the spare pair."""
    starts = [m.offset(a, _OFFSETS[i] + c) for i in range(first, first + 3) for c in (0, FP_BYTES)]
    return [*starts, *starts[:2]]

"""Pallas in lanes: the contracts of lanes.py for its field, and the bounds and results of the writers of sinsemilla_lanes.py."""

from fractions import Fraction

import pytest

from bonsai_circuits.kernels import sinsemilla_lanes as writers
from bonsai_circuits.kernels.pallas_lanes import PALLAS_LANES
from bonsai_circuits.native import pallas
from bonsai_verifier.kernels import lanes
from bonsai_verifier.kernels.lane_machine import LANES, LIMB_BITS, together
from tests.verifier.kernels import test_lane_bounds as contracts
from tests.verifier.kernels.machines import IntegerMachine, Interval, IntervalMachine
from tests.verifier.kernels.test_lane_bounds import WEAK, is_weak, limbs_below, normal, number, samples, weak, within

F = PALLAS_LANES
P, RADIX, N = F.modulus, F.radix, F.n
ROOM = Fraction(RADIX, P)
LEFT = Fraction(1001, 1000)  # of p, by a reduction
OPERAND = Fraction(10, 3)  # of p: a difference of weak operands plus 2 p
TAKEN = 21  # times p^2, for a weak result
WEAKENED = Fraction(39, 10)
PRODUCT = Fraction(107, 100)  # P^3 and V
G = (P - 1, 2)


@pytest.mark.parametrize(
    "contract",
    [
        contracts.test_products_stay_within_lanes_and_columns,
        contracts.test_products_of_weak_operands_are_normalised,
        contracts.test_reduction_takes_signed_columns,
        contracts.test_reductions_of_loose_limbs_are_weak,
        contracts.test_words_enter_and_leave_within_lanes,
        contracts.test_weakening_guesses_a_quotient_that_is_never_too_large,
        contracts.test_folding_guesses_a_quotient_that_is_never_too_large,
        contracts.test_multiplications_equal_integers,
        contracts.test_reduction_equals_integers_for_signed_columns,
        contracts.test_weakening_equals_integers,
        contracts.test_folding_and_exact_reduction_equal_integers,
        contracts.test_differences_equal_integers,
        contracts.test_conversions_equal_integers,
    ],
    ids=lambda contract: contract.__name__.removeprefix("test_"),
)
def test_lanes_keep_their_contracts(contract) -> None:
    contract(F)


def test_a_limb_that_is_zero_is_not_multiplied() -> None:
    assert F.limbs(P)[3] == 0

    class Counting(IntegerMachine):
        steps = 0

        def _products(self, x, y):
            self.steps += 1
            return super()._products(x, y)

    for write, steps in ((lanes.multiply, 90), (lanes.multiply_self, 70)):
        m = Counting()
        x = normal(F, [1] * LANES)
        together(write(m, F, *([x, x] if write is lanes.multiply else [x])))
        assert m.steps == steps


# Bounds ----------------------------------------------------------------------------------------------------------------------


def test_values_are_as_the_docstrings_say() -> None:
    p = Fraction(1)
    assert Fraction(6398, 100) < ROOM
    assert p + Fraction(F.limb_inverse, P * 2 ** (LIMB_BITS * (N - 1))) < LEFT
    assert Fraction(TAKEN) / ROOM + LEFT < WEAK
    assert WEAK + 2 <= OPERAND
    assert OPERAND**2 <= TAKEN  # squares of differences; a slope's products are smaller
    assert 2 * WEAK < WEAKENED  # s^2 - x_A - x_B, from below
    assert WEAK**2 / ROOM + LEFT < WEAKENED
    square = OPERAND**2 / ROOM + LEFT
    cube, v = OPERAND * square / ROOM + LEFT, WEAK * square / ROOM + LEFT
    assert max(cube, v) < PRODUCT
    assert 3 * PRODUCT < WEAKENED  # R^2 - P^3 - 2 V, from below
    assert square < WEAKENED
    assert max(square, cube, v) < WEAK  # each is an operand as if weak
    assert WEAK * cube < 2  # what difference_of_products takes
    assert OPERAND**2 <= 12
    assert Fraction(12) / ROOM + LEFT < WEAKENED
    assert max(square, WEAK) + 2 <= OPERAND
    assert OPERAND**2 / ROOM + LEFT < WEAK  # both products of sum_of_halves, subtracted


def test_writers_keep_limbs_within_lanes() -> None:
    m, x, operand = IntervalMachine(), weak(F), limbs_below(F, int(OPERAND * P) + 1)
    word = Interval(0, 2**64 - 1)
    top = Interval(0, 2**63 - 1)
    for limbs in writers.coordinates(m, [Interval(0, 2**63 - 1)] * LANES):
        assert within(limbs[:-1], weak(F)[:-1])
    assert within(lanes.limbs_from_words(m, F, [word, word, word, top])[:-1], weak(F)[:-1])
    results = [
        *together(writers.abscissa(m, x, x, operand)),
        *together(writers.ordinate(m, x, operand, x)),
        *together(writers.difference_of_products(m, operand, operand, x, x)),
        writers.third_abscissa(m, x, x, x),
        *together(writers.third_abscissa_of(m, x, x, x)),
    ]
    for distance in (4, 2, 1):
        (halves,) = together(writers.sum_of_halves(m, (x, x, x, x), distance))
        results += halves[:2]
    (short,) = together(writers.sum_of_halves(m, (x, x, x, x), 1, abscissa_only=True))
    results.append(short[0])
    for result in results:
        assert within(result, weak(F))


# Results ---------------------------------------------------------------------------------------------------------------------


def mont(xs: list[int], shift: int = 0) -> list[list[int]]:
    """Eight numbers in Montgomery form; `shift` times p more, for operands that are not reduced."""
    return normal(F, [x * RADIX % P + shift * P for x in xs])


def plain(x: list[list[int]]) -> list[int]:
    return [v * pow(RADIX, -1, P) % P for v in number(x)]


def points(first: int) -> list[tuple[int, int]]:
    out = [pallas.multiply(G, first + 7 * i) for i in range(LANES)]
    assert None not in out
    return out


def block_pair(ps) -> tuple[list[list[int]], list[list[int]]]:
    return mont([x for x, _ in ps]), mont([y for _, y in ps])


def scaled(ps, zs: list[int]):
    """The points as (X, Y, ZZ, ZZZ) for Z = zs."""
    return (
        mont([x * z * z % P for (x, _), z in zip(ps, zs, strict=True)]),
        mont([y * z**3 % P for (_, y), z in zip(ps, zs, strict=True)]),
        mont([z * z for z in zs]),
        mont([z**3 for z in zs]),
    )


def affine(blocks) -> list[tuple[int, int]]:
    x, y, zz, zzz = (plain(b) for b in blocks)
    return [(a * pow(c, -1, P) % P, b * pow(d, -1, P) % P) for a, b, c, d in zip(x, y, zz, zzz, strict=True)]


def test_third_points_equal_integers() -> None:
    """R^2 - P^3 - 2 V in both ways, and the difference of two products, the operands as large as they may be."""
    m, unit = IntegerMachine(), pow(RADIX, -1, P)
    bounds = [int(k * P) for k in (WEAK, PRODUCT, PRODUCT, OPERAND, OPERAND)]
    for columns in zip(*(samples(F, bound, seed) for seed, bound in enumerate(bounds)), strict=True):
        a, b, c, d, e = (normal(F, xs) for xs in columns)
        third = writers.third_abscissa(m, a, b, c)
        (third_of,) = together(writers.third_abscissa_of(m, a, b, c))
        (difference,) = together(writers.difference_of_products(m, d, e, a, b))
        for got in (third, third_of, difference):
            assert is_weak(F, got)
        lanes_of = list(zip(*columns, strict=True))
        assert [v % P for v in number(third)] == [(x - y - 2 * z) % P for x, y, z, _, _ in lanes_of]
        assert [v % P for v in number(third_of)] == [(x * x * unit - y - 2 * z) % P for x, y, z, _, _ in lanes_of]
        assert [v % P for v in number(difference)] == [(u * v - x * y) * unit % P for x, y, _, u, v in lanes_of]


@pytest.mark.parametrize("distance", [4, 2, 1])
def test_sums_of_halves_equal_points(distance: int) -> None:
    m, a = IntegerMachine(), points(5)
    (got,) = together(writers.sum_of_halves(m, scaled(a, [pow(3, i + 1, P) for i in range(LANES)]), distance))
    sums = affine(got)
    for lane in range(LANES):
        if not lane & distance:
            assert sums[lane] == pallas.add(a[lane], a[lane + distance])
    assert all(is_weak(F, block) for block in got[:2])
    (short,) = together(
        writers.sum_of_halves(m, scaled(a, [pow(3, i + 1, P) for i in range(LANES)]), distance, abscissa_only=True)
    )
    x, zz = map(plain, short)
    for lane in range(LANES):
        if not lane & distance:
            assert x[lane] * pow(zz[lane], -1, P) % P == sums[lane][0]
    assert is_weak(F, short[0])


def test_chords_equal_points() -> None:
    """A slope's abscissa and ordinate, the operands as large as they may be."""
    m, a, b = IntegerMachine(), points(3), points(2000)
    (x_a, y_a), (x_b, _) = block_pair(a), block_pair(b)
    s = mont([(q[1] - p[1]) * pow(q[0] - p[0], -1, P) % P for p, q in zip(a, b, strict=True)])
    (x,) = together(writers.abscissa(m, s, x_a, lanes.difference(m, F, x_b, x_a, 2)))
    (y,) = together(writers.ordinate(m, s, lanes.difference(m, F, x_a, x, 2), y_a))
    assert list(zip(plain(x), plain(y), strict=True)) == [pallas.add(p, q) for p, q in zip(a, b, strict=True)]
    for xs, ys in zip(samples(F, int(WEAK * P), 3), samples(F, int(OPERAND * P), 4), strict=True):
        (z,) = together(writers.ordinate(m, normal(F, xs), normal(F, ys), normal(F, xs)))
        assert is_weak(F, z)
        assert [v * RADIX % P for v in number(z)] == [(u * v - u * RADIX) % P for u, v in zip(xs, ys, strict=True)]


def test_rows_of_a_table_are_cut_into_limbs() -> None:
    m, ps = IntegerMachine(), points(9)
    rows = [[c >> 64 * i & 2**64 - 1 for c in p for i in range(4)] for p in ps]
    x, y = writers.coordinates(m, rows)
    assert list(zip(number(x), number(y), strict=True)) == ps

"""The writers of affine_lanes.py and straus_lanes.py on machines of intervals and of integers: bounds, and results on every processor."""

from fractions import Fraction
from typing import Any

import pytest
from py_ecc.fields import optimized_bls12_381_FQ as FQ
from py_ecc.optimized_bls12_381.optimized_curve import G1, Z1, add, multiply, neg

from bonsai_verifier.kernels import affine_lanes, lanes, straus_lanes
from bonsai_verifier.kernels.fp_lanes import FP_LANES as F
from bonsai_verifier.kernels.lane_machine import LANES, LIMB_MASK, together
from tests.verifier.kernels.machines import IntegerMachine, IntervalMachine
from tests.verifier.kernels.test_g1 import Point, on_curve, same
from tests.verifier.kernels.test_lane_bounds import (
    WEAK,
    is_weak,
    limbs_below,
    normal,
    normalised,
    number,
    samples,
    weak,
    within,
)

P = F.modulus
R_INVERSE = pow(F.radix, -1, P)


def below(multiple: Fraction | int) -> list[Any]:
    return limbs_below(F, int(multiple * P) + 1)


def test_limbs_stay_within_lanes() -> None:
    m = IntervalMachine()
    d = below(2 + WEAK)
    (x,) = together(affine_lanes.abscissa(m, weak(F), weak(F), d))
    assert within(x, weak(F))
    (y,) = together(affine_lanes.ordinate(m, weak(F), d, weak(F)))
    assert within(lanes.weaken(m, F, y), weak(F))
    assert within(affine_lanes.halved(m, weak(F)), normalised(F))
    (point,) = together(affine_lanes.doubled(m, weak(F), weak(F), below(2 * WEAK)))
    assert within(point[0], weak(F))
    assert within(point[1], normalised(F))
    affine_lanes.equal_abscissas(m, d, F.n)


def test_values_stay_where_weakening_takes_them() -> None:
    """`weaken` takes [-3.9 p, 3.9 p]; a product leaves at most 1.25 p and what its operands make."""
    left = Fraction(5, 4) + Fraction(1, 1000)
    for least, largest in (
        (2 * WEAK, left),  # abscissa
        (2 * WEAK + 2 * WEAK - 2, left + 2),  # and where d became 2 y_A, or 1
        (WEAK, left),  # ordinate
        (2 * WEAK, 2 * left),  # the ordinate of a doubling, twice
        (2 * WEAK, 2 * WEAK),  # y_B - y_A, y_B with any sign
    ):
        assert max(least, largest) < Fraction(39, 10)
    assert (WEAK + 1) / 2 < WEAK  # halved
    assert 3 * left * WEAK < 2**31  # the slope of a doubling, as it is multiplied


def lines(seed: int) -> Any:
    """s, x_A, x_B, run, y_A: weak, in eights."""
    bound = int(WEAK * P)
    return zip(*(samples(F, bound, seed + i) for i in range(5)), strict=True)


def test_sums_equal_integers() -> None:
    m = IntegerMachine()
    for s, x_a, x_b, run, y_a in lines(1):
        d = [b - a + 2 * P for a, b in zip(x_a, x_b, strict=True)]
        (x,) = together(affine_lanes.abscissa(m, normal(F, s), normal(F, x_a), normal(F, d)))
        assert is_weak(F, x)
        for got, k, a, b in zip(number(x), s, x_a, x_b, strict=True):
            assert (got - (k * k * R_INVERSE - a - b)) % P == 0
        (y,) = together(affine_lanes.ordinate(m, normal(F, s), normal(F, run), normal(F, y_a)))
        y = lanes.weaken(m, F, y)
        assert is_weak(F, y)
        for got, k, a, b in zip(number(y), s, run, y_a, strict=True):
            assert (got - (k * a * R_INVERSE - b)) % P == 0


def test_doublings_equal_integers() -> None:
    m = IntegerMachine()
    for xs, ts, ys, *_ in lines(10):
        (point,) = together(affine_lanes.doubled(m, normal(F, xs), normal(F, ts), normal(F, [2 * y for y in ys])))
        assert all(is_weak(F, coordinate) for coordinate in point)
        for x, y, a, t, b in zip(*map(number, point), xs, ts, ys, strict=True):
            slope = 3 * a * a * t * R_INVERSE**2
            assert (x - (slope * slope * R_INVERSE - 2 * a)) % P == 0
            assert (y - (slope * (a - x) * R_INVERSE - b)) % P == 0


def test_halves_equal_integers() -> None:
    m = IntegerMachine()
    for xs in samples(F, int(WEAK * P), 20):
        half = affine_lanes.halved(m, normal(F, xs))
        assert is_weak(F, half)
        assert [2 * h % P for h in number(half)] == [x % P for x in xs]


@pytest.mark.parametrize("difference", [-P, 0, P])
def test_equal_abscissas_are_found_in_every_form(difference: int) -> None:
    m = IntegerMachine()
    d = normal(F, [difference + 2 * P] * LANES)
    for limbs in (1, F.n):
        assert affine_lanes.equal_abscissas(m, d, limbs) == [True] * LANES


def test_unequal_abscissas_may_share_a_limb_but_not_all() -> None:
    m = IntegerMachine()
    shared = [(1 << 52) * (i + 1) + k * P for i, k in zip(range(LANES), [1, 2, 3, 1, 2, 3, 2, 2], strict=True)]
    assert affine_lanes.equal_abscissas(m, normal(F, shared), 1) == [True] * LANES
    assert affine_lanes.equal_abscissas(m, normal(F, shared), F.n) == [False] * LANES
    for xs, ys in zip(samples(F, int(WEAK * P), 30), samples(F, int(WEAK * P), 31), strict=True):
        d = [x - y + 2 * P for x, y in zip(xs, ys, strict=True)]
        assert max(map(max, normal(F, d))) <= LIMB_MASK
        assert affine_lanes.equal_abscissas(m, normal(F, d), F.n) == [
            (x - y) % P == 0 for x, y in zip(xs, ys, strict=True)
        ]


# Formulas in the lanes of one point (straus_lanes.py) ------------------------------------------------------------------------


def points_in_lanes() -> list[Point]:
    torsion, outside = on_curve(0), on_curve(5)
    return [Z1, G1, neg(G1), multiply(G1, 7), torsion, neg(torsion), outside, add(torsion, G1)]


def lanes_of_point(p: Point) -> list[list[int]]:
    """X, Y, Z in the first lanes, with any form of each: some plus p where that is weak."""
    coordinates = [0, 1, 0] if p[2].n == 0 else [c.n * F.radix % P for c in p]
    return normal(F, [c if c > P // 4 else c + P for c in coordinates] + [0] * 5)


def point_of_lanes(block: list[list[int]]) -> Point:
    x, y, z = (FQ(v % P) for v in number(block)[:3])
    assert number(block)[3:] == [0] * 5
    return Z1 if z.n == 0 else (x, y, z)


def test_a_formula_in_lanes_is_complete() -> None:
    m = IntegerMachine()
    for p in points_in_lanes():
        a = lanes_of_point(p)
        (twice,) = together(straus_lanes.doubled(m, a))
        assert is_weak(F, twice)
        assert same(point_of_lanes(twice), add(p, p))
        assert same(point_of_lanes(straus_lanes.negated(m, a)), neg(p))
        for q in points_in_lanes():
            (total,) = together(straus_lanes.added(m, a, lanes_of_point(q)))
            assert is_weak(F, total)
            assert same(point_of_lanes(total), add(p, q))


def test_a_formula_in_lanes_stays_within_bounds() -> None:
    m = IntervalMachine()
    for writer in (straus_lanes.added(m, weak(F), weak(F)), straus_lanes.doubled(m, weak(F))):
        (x,) = together(writer)
        assert within(x, weak(F))


def test_offsets_keep_sums_of_coordinates_positive_and_small() -> None:
    """Least and largest value of each sum in `added` and `doubled`, in multiples of p, with 5/4 for a product and k the offset."""
    r = Fraction(5, 4) + Fraction(1, 1000)
    for k, least, largest in ((17, -12 * r, 3 * r), (33, -24 * r, 13 * r), (49, -36 * r, 8 * r), (49, -36 * r, 13 * r)):
        assert k + least > 0
        assert (k + largest) ** 2 * 2 < 2**31  # two products in a lane

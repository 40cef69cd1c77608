"""The writers that decode points, on integers and on intervals: what the vector body computes, on every machine."""

from fractions import Fraction

import numpy as np
import pytest

from bonsai_verifier.kernels import encoding, g1_lanes, lanes
from bonsai_verifier.kernels.fp_lanes import FP_LANES
from bonsai_verifier.kernels.lane_machine import LANES, LIMB_MASK, together
from bonsai_verifier.parameters import FP_MODULUS as P
from tests.verifier.kernels.machines import IntegerMachine, Interval, IntervalMachine
from tests.verifier.kernels.test_g1 import NAMED, any_encodings, reference
from tests.verifier.kernels.test_lane_bounds import WEAK, limbs_below, normal, number, samples, weak, within

ROOT_EXPONENT = (3 * P - 1) // 4
R = FP_LANES.radix


def test_decoding_equals_integers() -> None:
    m, r = IntegerMachine(), R
    data = [d for d, _ in NAMED] + any_encodings(2 * LANES + LANES - len(NAMED) % LANES, 400)
    for start in range(0, len(data), LANES):
        chosen = data[start : start + LANES]
        expected = [reference(d) for d in chosen]
        words = [[int(x) for x in column] for column in np.frombuffer(b"".join(chosen), "<u8").reshape(LANES, 6).T]
        ((x, right, status, flags),) = together(g1_lanes.abscissa(m, words))
        xs = [int.from_bytes(d, "big") % 2**381 for d in chosen]
        assert [v % P for v in number(x)] == [v * r % P for v in xs]
        assert [v % P for v in number(right)] == [(v**3 + 4) * r % P for v in xs]
        assert max(number(right)) < 7 * P // 3
        for opposite in (False, True):
            roots = [pow(v**3 + 4, ROOT_EXPONENT, P) for v in xs]
            y = normal(FP_LANES, [(P - v if opposite else v) * r % P for v in roots])
            ((chosen_y, final),) = together(g1_lanes.ordinate(m, y, right, status, flags))
            assert final == [s for s, _ in expected]
            for v, s, (_, ordinate) in zip(number(chosen_y), final, (xy for _, xy in expected), strict=True):
                assert s != encoding.POINT_OK or v % P == ordinate * r % P


def test_decoding_stays_within_lanes() -> None:
    m = IntervalMachine()
    ((x, right, _, flags),) = together(g1_lanes.abscissa(m, [Interval(0, 2**64 - 1)] * 6))
    assert within(x, limbs_below(FP_LANES, 2 * P))
    below = limbs_below(FP_LANES, 7 * P // 3)
    assert within(right[:-1], below[:-1])
    ((y, _),) = together(g1_lanes.ordinate(m, weak(FP_LANES), below, m.const(0), flags))
    assert within(y, weak(FP_LANES))
    assert within(lanes.leave(m, FP_LANES, y), [Interval(0, 2**64 - 1)] * 6)


# The steps of a doubling: a writer, the bounds of its operands in p, what it computes of them, the bounds of its results
STEPS = {
    "tripled_square": ((13,), lambda x: [3 * x * x], (4,)),
    "doubled_product": ((13, 3), lambda x, y: [2 * x * y], (3,)),
    "doubled_x": ((4, WEAK), lambda e, xb: [e * e - 8 * R * xb, 12 * R * xb - e * e], (13, 18)),
    "doubled_y": ((4, 18, WEAK), lambda e, t, c: [e * t - 8 * R * c], (13,)),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_a_doubling_equal_integers_within_their_bounds(name: str) -> None:
    """On operands up to their bounds: results times R, as products are divided by it."""
    m, (bounds, formula, out_bounds) = IntegerMachine(), STEPS[name]
    operands = zip(*(samples(FP_LANES, int(bound * P), 20 + i) for i, bound in enumerate(bounds)), strict=True)
    for values in operands:
        (results,) = together(getattr(g1_lanes, name)(m, *(normal(FP_LANES, xs) for xs in values)))
        expected = zip(*(formula(*xs) for xs in zip(*values, strict=True)), strict=True)
        for got, wanted, bound in zip(results, expected, out_bounds, strict=True):
            assert [v * R % P for v in number(got)] == [w % P for w in wanted]
            assert max(number(got)) < bound * P
            assert max(map(max, got)) <= LIMB_MASK


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_a_doubling_stay_within_lanes(name: str) -> None:
    bounds, _, _ = STEPS[name]
    operands = [limbs_below(FP_LANES, int(bound * P)) for bound in bounds]
    (results,) = together(getattr(g1_lanes, name)(IntervalMachine(), *operands))
    for got in results:
        assert within(got, limbs_below(FP_LANES, FP_LANES.radix))


def test_bounds_of_a_doubling() -> None:
    """The least and the largest value of every result, over operands within their bounds: products divided by R are in [0, 1.26 p)."""
    room, product = Fraction(P, R), Fraction(126, 100)
    assert max(13 * 13, 4 * 4, 4 * 18, 13 * 3) * room + Fraction(5, 4) < product
    assert 3 * product < 4
    assert 2 * product < 3
    assert 11 - 8 * WEAK > 0
    assert product + 11 < 13
    assert 2 - product > 0
    assert 12 * WEAK + 2 <= 18

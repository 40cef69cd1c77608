"""The writers that decode points, on integers and on intervals: what the vector body computes, on every machine."""

import numpy as np

from bonsai_verifier.kernels import encoding, g1_lanes, lanes
from bonsai_verifier.kernels.fp_lanes import FP_LANES
from bonsai_verifier.kernels.lanes import LANES, together
from bonsai_verifier.parameters import BLS_X
from bonsai_verifier.parameters import FP_MODULUS as P
from tests.verifier.kernels.machines import IntegerMachine, Interval, IntervalMachine
from tests.verifier.kernels.test_g1 import NAMED, any_encodings, reference
from tests.verifier.kernels.test_lane_bounds import limbs_below, normal, number, weak, within

ROOT_EXPONENT = (3 * P - 1) // 4


def test_the_exponent_is_that_of_a_root() -> None:
    """2 e = 1 modulo (p - 1)/2, and the factors of e in x = |z|."""
    x = -BLS_X
    assert 2 * ROOT_EXPONENT % ((P - 1) // 2) == 1
    assert x * (x - 1) * (x * (x + 1) ** 3 + 1) == 4 * ROOT_EXPONENT


def test_decoding_equals_integers() -> None:
    m, r = IntegerMachine(), FP_LANES.radix
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

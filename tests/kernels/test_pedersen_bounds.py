"""The bounds that pedersen_lanes.py states: of limbs by intervals, of values by exact sums, and its sums by integers."""

from fractions import Fraction

from bonsai_circuits.kernels import pedersen_lanes
from bonsai_circuits.native import jubjub
from bonsai_circuits.native.pedersen import generator
from bonsai_verifier.kernels.fr_lanes import FR_LANES
from bonsai_verifier.kernels.lane_machine import LANES, LIMB_BITS
from tests.verifier.kernels.machines import IntegerMachine, IntervalMachine
from tests.verifier.kernels.test_lane_bounds import limbs_below, normal, number, samples, within

F = FR_LANES
P, RADIX, N = F.modulus, F.radix, F.n
UVT, Z = Fraction(3, 2), Fraction(17, 10)
LEFT, UNIT = Fraction(1001, 1000), Fraction(P, RADIX)


def times(x: Fraction, y: Fraction) -> Fraction:
    """The bound of a product that is reduced."""
    assert x * y < RADIX // P
    return x * y * UNIT + LEFT


def test_values_between_additions_are_as_the_page_says() -> None:
    a, b, c = times(UVT + 2, Fraction(1)), times(2 * UVT, Fraction(1)), times(UVT, Fraction(1))
    assert a < Fraction(111, 100)
    assert b < Fraction(109, 100)
    assert c < Fraction(105, 100)
    assert UVT < 2  # V - U + 2 is positive, and so are B - A + 2 and D - C + 2
    assert max(a, c) < 2
    e, f, g, h = b + 2, 2 * Z + 2, 2 * Z + c, a + b
    assert e < Fraction(31, 10)
    assert f == Fraction(54, 10)
    assert g < Fraction(445, 100)
    assert h < Fraction(22, 10)
    assert max(times(e, f), times(g, h), times(e, h)) < UVT
    assert max(times(e, g), times(f, h)) < UVT  # where the entry is subtracted F and G are exchanged
    assert times(f, g) < Z
    assert times(e, f) < Fraction(148, 100)
    assert Z * Fraction(4, 3) < 11  # Z times a weak number is weak
    assert UVT * Fraction(4, 3) * UNIT + LEFT < Fraction(5, 2)  # what plain_words takes


def test_additions_keep_limbs_within_lanes() -> None:
    m = IntervalMachine()
    u, z, entry = (limbs_below(F, int(x * P) + 1) for x in (UVT, Z, Fraction(1)))
    out = pedersen_lanes.added(m, [u, u, z, u], [entry] * 3, None)
    for x, before in zip(out, (u, u, z, u), strict=True):
        assert within(x[:-1], before[:-1])
        assert x[-1].low >= 0
        assert x[-1].high < 2 * P >> LIMB_BITS * (N - 1)
    words = pedersen_lanes.affine(m, u, limbs_below(F, 4 * P // 3 + 1))
    assert all(word.low >= 0 and word.high < 2**64 for word in words)


def test_additions_equal_integers_at_the_largest_operands() -> None:
    """Sums and differences of points in extended form, whose numbers are as large as they may be."""
    m, i = IntegerMachine(), pow(RADIX, -1, P)
    points = [jubjub.multiply(generator(0), k) for k in (1, 2, 3, 5, 8, 13, 21, 34)]
    (u2, v2) = generator(1)
    entry = [x * RADIX % P for x in (v2 - u2, v2 + u2, 2 * jubjub.D * u2 * v2)]
    for scales in samples(F, P, 3):
        scales = [k or 1 for k in scales]
        lanes = [
            [x * RADIX % P for x in (u * k, v * k, k, u * v * k)]
            for (u, v), k in zip(points, (scale % P or 1 for scale in scales), strict=True)
        ]
        largest = [
            [x + P if x + P < bound * P else x for x in column]
            for column, bound in zip(zip(*lanes, strict=True), (UVT, UVT, Z, UVT), strict=True)
        ]
        for negative in (False, True):
            mask = [negative] * LANES
            out = pedersen_lanes.added(
                m, [normal(F, column) for column in largest], [normal(F, [x] * LANES) for x in entry], mask
            )
            numbers = [number(x) for x in out]
            for column, bound in zip(numbers, (UVT, UVT, Z, UVT), strict=True):
                assert all(x < bound * P for x in column)
            other = (-u2 % P, v2) if negative else (u2, v2)
            for lane, point in enumerate(points):
                u, v, z, t = (column[lane] * i % P for column in numbers)
                inverse = pow(z, -1, P)
                assert (u * inverse % P, v * inverse % P) == jubjub.add(point, other)
                assert t * z % P == u * v % P

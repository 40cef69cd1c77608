"""The bounds that poseidon_lanes.py states: of limbs by intervals, of values by exact fractions, and of results by integers."""

from fractions import Fraction
from math import ceil

import pytest

from bonsai_circuits.kernels import poseidon_lanes as kernel
from bonsai_circuits.kernels.poseidon import MODULI
from bonsai_verifier.kernels.lane_machine import LANES, LIMB_BITS, LIMB_MASK, LaneField, together
from bonsai_verifier.kernels.lanes import product_columns
from tests.verifier.kernels.machines import IntegerMachine, Interval, IntervalMachine
from tests.verifier.kernels.test_lane_bounds import limbs_below, normal, number, samples, within

fields = pytest.mark.parametrize("f", kernel.FIELDS, ids=["bls12_381", "bn254"])
LEFT = Fraction(1001, 1000)  # of the modulus, by a reduction: lanes.py, `reduced`
MOST = 16  # inputs
BOUNDS = {MODULI[0]: (Fraction(13), Fraction(17, 10)), MODULI[1]: (Fraction(9), Fraction(12, 10))}  # docstring


def rounded(x: Fraction) -> Fraction:
    """A little more, with a small denominator."""
    return Fraction(ceil(x * 10**6), 10**6)


def unit(f: LaneField) -> Fraction:
    """p / R."""
    return rounded(Fraction(f.modulus, f.radix))


def fifth_bound(f: LaneField, x: Fraction) -> Fraction:
    """What an S-box leaves, in multiples of p; every operand fits its limbs."""
    u = unit(f)
    square = x * x * u + LEFT
    fourth = square * square * u + LEFT
    assert max(x * x, square * square, fourth * x) * u < 1 / u  # what `reduced` takes
    assert max(x, square, fourth) * u < 1
    return rounded(fourth * x * u + LEFT)


def row_bound(f: LaneField, products: Fraction, last: Fraction) -> Fraction:
    """k + sum f_j v_j + last, for elements that sum to `products`."""
    assert products * unit(f) < 1 / unit(f)
    out = rounded(products * unit(f) + LEFT + 1 + last)
    assert out * unit(f) < 1  # so that carries end in the top limb
    return out


def largest(f: LaneField, n: int, rounds: int) -> tuple[Fraction, Fraction, Fraction]:
    """The largest element, S-box and digest, through every row in the order of the kernel."""
    x, s = Fraction(2), Fraction(0)
    most_x, most_s = x, s

    def box(x: Fraction) -> Fraction:
        nonlocal most_x, most_s
        s = fifth_bound(f, x)
        most_x, most_s = max(most_x, x), max(most_s, s)
        return s

    for _ in range(4):
        s = box(x)
        x = row_bound(f, n * s, s)
    later = x
    for i in range(n):
        s = max(s, box(x))
        x = max(x, row_bound(f, (i + 1) * s, later))
    for _ in range(rounds):
        s = max(s, box(x))
        x = max(x, row_bound(f, max(n, 2) * (x + s), s))
    x = row_bound(f, n * (x + s), x)
    for _ in range(3):
        s = box(x)
        x = row_bound(f, n * s, s)
    s = box(x)
    return most_x, most_s, rounded((n + 1) * s * unit(f) + LEFT)


@fields
@pytest.mark.parametrize("n", range(1, MOST + 1))
def test_values_stay_below_what_the_docstring_says(f: LaneField, n: int) -> None:
    x, s, digest = largest(f, n, 75)
    assert digest < 2  # what `exact` takes
    assert x < BOUNDS[f.modulus][0]
    assert s < BOUNDS[f.modulus][1]


@fields
def test_limbs_stay_within_lanes(f: LaneField) -> None:
    m = IntervalMachine()
    x = limbs_below(f, int(BOUNDS[f.modulus][0] * f.modulus))
    c, n = limbs_below(f, f.modulus), f.n
    normalised = [Interval(0, LIMB_MASK)] * n
    (power,) = together(kernel.fifth_power(m, f, x))
    assert within(power, normalised)
    columns = [*[m.zero] * n, *(m.add(a, b) for a, b in zip(c, x, strict=True))]
    for _ in range(2 * MOST):
        columns = product_columns(m, x, c, columns)
    assert max(t.high for t in columns) < 2**61  # what `reduced` takes
    (row,) = together(kernel.settled(m, f, columns))
    assert within(row, normalised)
    columns = [*[m.zero] * n, *c]
    for _ in range(2 * MOST - 4):
        columns = product_columns(m, x, c, columns)
    (rest,) = together(kernel.linear_part(m, f, columns, [x] * 4, [c] * 4))
    (loose,) = together(kernel.fifth(m, f, x))
    assert within(kernel.next_round(m, loose, rest), normalised * 2)
    words = [*[Interval(0, 2**64 - 1)] * (f.n_words - 1), Interval(0, f.modulus >> 192)]
    assert within(kernel.entered(m, f, words, c), normalised)
    assert within(kernel.left(m, f, limbs_below(f, 2 * f.modulus)), [Interval(0, 2**64 - 1)] * f.n_words)


@fields
def test_results_equal_integers_at_their_largest(f: LaneField) -> None:
    m, p, radix = IntegerMachine(), f.modulus, f.radix
    inverse = pow(radix, -1, p)
    x_most = int(BOUNDS[p][0] * p)
    for xs, ys, cs in zip(samples(f, x_most, 1), samples(f, x_most, 2), samples(f, p, 3), strict=True):
        x, y, c = normal(f, xs), normal(f, ys), normal(f, cs)
        (power,) = together(kernel.fifth_power(m, f, x))
        assert [a % p for a in number(power)] == [a**5 * inverse**4 % p for a in xs]
        columns = [*[m.zero] * f.n, *c]
        (loose,), (rest,) = (
            together(writer)
            for writer in (kernel.fifth(m, f, x), kernel.linear_part(m, f, columns, [x, y] * MOST, [c] * 2 * MOST))
        )
        s_and_next = kernel.next_round(m, loose, rest)
        assert max(max(limb) for limb in s_and_next) <= LIMB_MASK
        expected = [
            (a**5 * inverse**4 + k + MOST * (a + b) * k * inverse) % p for a, b, k in zip(xs, ys, cs, strict=True)
        ]
        assert [a % p for a in number(s_and_next[f.n :])] == expected
    for xs, cs in zip(samples(f, p, 4), samples(f, p, 5), strict=True):
        words = [[a >> 64 * i & (2**64 - 1) for a in xs] for i in range(f.n_words)]
        entered = kernel.entered(m, f, words, normal(f, cs))
        assert number(entered) == [a + b for a, b in zip(xs, cs, strict=True)]
        out = kernel.left(m, f, entered)
        assert [sum(out[i][lane] << 64 * i for i in range(f.n_words)) for lane in range(LANES)] == [
            (a + b) % p for a, b in zip(xs, cs, strict=True)
        ]


def test_numbers_of_the_table_are_normalised() -> None:
    for field, f in enumerate(kernel.FIELDS):
        table = kernel.table(field, [0, f.modulus - 1])
        assert [sum(int(x) << LIMB_BITS * i for i, x in enumerate(row)) for row in table] == [0, f.modulus - 1]
        assert table.max() <= LIMB_MASK

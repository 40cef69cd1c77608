"""The bounds that lanes.py states: of limbs by intervals, of values by exact sums, and of results on every machine by integers."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from bonsai_verifier.kernels import lanes
from bonsai_verifier.kernels.fp_lanes import FP_LANES
from bonsai_verifier.kernels.fr_lanes import FR_LANES
from bonsai_verifier.kernels.lane_machine import LANES, LIMB_BITS, LIMB_MASK, LaneField, in_sequence, together
from tests.verifier.kernels.machines import IntegerMachine, Interval, IntervalMachine, signed

FIELDS = {"fp": FP_LANES, "fr": FR_LANES}
fields = pytest.mark.parametrize("f", FIELDS.values(), ids=FIELDS.keys())
WEAK = Fraction(4, 3)
LOOSE = 2**62 - 1


# Intervals: no lane overflows, every operand of the multiplier fits, and results have the limbs that the contract says --------


def limbs_below(f: LaneField, bound: int) -> list[Interval]:
    """Normalised, of a value below `bound`."""
    return [*[Interval(0, LIMB_MASK)] * (f.n - 1), Interval(0, bound - 1 >> LIMB_BITS * (f.n - 1))]


def weak(f: LaneField) -> list[Interval]:
    return limbs_below(f, int(WEAK * f.modulus) + 1)


def normalised(f: LaneField) -> list[Interval]:
    return limbs_below(f, f.radix)


def loose(f: LaneField, bound: int = LOOSE) -> list[Interval]:
    return [Interval(-bound, bound)] * f.n


def within(xs: list[Interval], bounds: list[Interval]) -> bool:
    return all(b.low <= x.low and x.high <= b.high for x, b in zip(xs, bounds, strict=True))


@fields
def test_products_stay_within_lanes_and_columns(f: LaneField) -> None:
    m = IntervalMachine()
    for x in (weak(f), normalised(f)):
        for writer in (lanes.product(m, x, x), lanes.square(m, x)):
            (columns,) = together(writer)
            assert within(columns, [Interval(0, 2 * f.n * 2**LIMB_BITS - 1)] * (2 * f.n))


@fields
def test_products_of_weak_operands_are_normalised(f: LaneField) -> None:
    m, x = IntervalMachine(), weak(f)
    (a,), (b,) = together(lanes.multiply(m, f, x, x)), together(lanes.multiply_self(m, f, x))
    assert within(a, normalised(f))
    assert within(b, normalised(f))
    assert a[-1].high < 2 * f.modulus >> LIMB_BITS * (f.n - 1)


@fields
def test_reduction_takes_signed_columns(f: LaneField) -> None:
    (x,) = together(lanes.reduce(IntervalMachine(), f, [Interval(-(2**61), 2**61)] * (2 * f.n)))
    assert within(x[:-1], normalised(f)[:-1])


@fields
def test_reductions_of_loose_limbs_are_weak(f: LaneField) -> None:
    m = IntervalMachine()
    assert within(lanes.weaken(m, f, loose(f)), weak(f))
    assert within(lanes.fold(m, f, normalised(f)), weak(f))
    assert within(lanes.exact(m, f, limbs_below(f, 2 * f.modulus)), limbs_below(f, 2 * f.modulus))
    assert within(lanes.difference(m, f, weak(f), weak(f), 2), normalised(f))


@fields
def test_squarings_for_multiplications_alone_fit(f: LaneField) -> None:
    m = IntervalMachine()
    (x,) = together(lanes.square_open(m, f, weak(f)))
    (y,) = together(lanes.multiply_self(m, f, x))
    assert within(y, normalised(f))
    assert y[-1].high < 2 * f.modulus >> LIMB_BITS * (f.n - 1)


@fields
def test_words_enter_and_leave_within_lanes(f: LaneField) -> None:
    m = IntervalMachine()
    words = [*[Interval(0, 2**64 - 1)] * (f.n_words - 1), Interval(0, 2**63 - 1)]
    assert within(lanes.limbs_from_words(m, f, words, f.lift), normalised(f))
    assert within(lanes.enter(m, f, words), weak(f))
    assert within(lanes.leave(m, f, weak(f)), [Interval(0, 2**64 - 1)] * f.n_words)


def test_intervals_find_what_does_not_fit() -> None:
    m = IntervalMachine()
    with pytest.raises(AssertionError):
        m.lo(m.zero, Interval(0, 2**52), m.const(1))
    with pytest.raises(AssertionError):
        m.hi(m.zero, Interval(-1, 5), m.const(1))
    with pytest.raises(AssertionError):
        m.add(Interval(0, 2**62), Interval(0, 2**62))
    with pytest.raises(AssertionError):
        m.sub(Interval(-(2**63), 0), Interval(0, 1))
    with pytest.raises(AssertionError):
        together(lanes.product(m, [*normalised(FP_LANES)[:-1], Interval(0, 2**52)], normalised(FP_LANES)))


# Values ----------------------------------------------------------------------------------------------------------------------


@fields
def test_reduction_leaves_what_the_contracts_say(f: LaneField) -> None:
    """T/R + p + c/2^(52 (n - 1 - folds)), for T of multiplications whose results the contract of `multiply` calls weak."""
    p, folds = f.modulus, f.folds
    left = Fraction(p) + Fraction(f.limb_inverse, 2 ** (LIMB_BITS * (f.n - 1 - folds)))
    assert left < Fraction(5, 4) * p if f is FP_LANES else left < Fraction(1001, 1000) * p
    most = 2**31 if f is FP_LANES else 11
    assert Fraction(most * p * p, f.radix) + left < WEAK * p
    assert most >= WEAK**2
    assert most >= (2 * WEAK) ** 2  # sums of two


@fields
def test_weakening_guesses_a_quotient_that_is_never_too_large(f: LaneField) -> None:
    """For all values of [-3.9 p, 3.9 p]: the guess is a step function of the top limb, so its steps' ends decide."""
    p, shift = f.modulus, LIMB_BITS * (f.n - 1)
    four = (4 * p >> shift + f.dropped) - 2
    below = Fraction(
        LOOSE * 2 ** (shift - 2 * LIMB_BITS) * 2, 1
    )  # limbs under the two that the guess sees are at most that much

    def guess(top: int) -> int:
        assert 0 <= top + four <= LIMB_MASK
        return (top + four) * f.reciprocal >> LIMB_BITS

    least = (-39 * p // 10 - int(below) >> shift) - 1 >> f.dropped
    most = (39 * p // 10 + int(below) >> shift) + 1 >> f.dropped
    steps = [least]
    for k in range(guess(least), guess(most)):
        steps.append(bisect(guess, k, steps[-1], most))
    for first, last in zip(steps, [*(s - 1 for s in steps[1:]), most], strict=True):
        assert guess(first) == guess(last)
        assert 0 <= guess(first) < 8
        rest = (4 - guess(first)) * p
        # A top of t stands for values from t 2^dropped 2^shift on, to below that of t + 1, but for what lower limbs carry
        assert rest + max((first << f.dropped + shift) - below, Fraction(-39 * p, 10)) >= 0
        assert rest + min((last + 1 << f.dropped + shift) + below, Fraction(39 * p, 10)) < Fraction(102, 100) * p


def bisect(step: Callable[[int], int], k: int, low: int, high: int) -> int:
    """The least x with step(x) > k, for a step function that grows by one."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if step(middle) > k else (middle + 1, high)
    return low


@fields
def test_folding_guesses_a_quotient_that_is_never_too_large(f: LaneField) -> None:
    """For all x in [0, R): q <= x/p, and x/p - q < 1 + what the guess leaves out of the top limb and of the reciprocal."""
    p, weight = f.modulus, 1 << LIMB_BITS * (f.n - 1) + f.dropped
    assert f.reciprocal <= LIMB_MASK
    assert f.reciprocal * p <= weight << LIMB_BITS  # so q <= top weight / p <= x / p
    most_top = LIMB_MASK >> f.dropped
    lost = Fraction(weight, p) + most_top * (Fraction(weight, p) - Fraction(f.reciprocal, 2**LIMB_BITS))
    assert 1 + lost < Fraction(102, 100)


# Integers: the result of every writer, on any machine ------------------------------------------------------------------------


def lanes_of(values: list[list[int]]) -> list[list[int]]:
    """Limb lists of eight numbers -> one list of eight lanes a limb."""
    return [[x % 2**64 for x in column] for column in zip(*values, strict=True)]


def normal(f: LaneField, xs: list[int]) -> list[list[int]]:
    return lanes_of([f.limbs(x) for x in xs])


def number(x: list[list[int]]) -> list[int]:
    """The values of eight numbers of signed limbs."""
    return [sum(signed(limb[i]) << (LIMB_BITS * j) for j, limb in enumerate(x)) for i in range(LANES)]


def samples(f: LaneField, bound: int, seed: int) -> list[list[int]]:
    """Integers in [0, bound), in eights: edges, limbs of all ones or zeros, and random ones."""
    rng = np.random.default_rng(seed)
    p = f.modulus
    chosen = [0, 1, 2, p - 1, p, p + 1, bound - 1, bound - 2, bound // 2]
    chosen += [f.radix - 1 - (LIMB_MASK << LIMB_BITS * int(i)) for i in range(f.n)]
    chosen += [
        sum(LIMB_MASK << LIMB_BITS * i for i in range(f.n) if mask >> i & 1) for mask in rng.integers(0, 256, 40)
    ]
    chosen += [int.from_bytes(rng.bytes(64), "little") for _ in range(81)]
    chosen = [x if 0 <= x < bound else x % bound for x in chosen]
    rng.shuffle(chosen)
    return [chosen[i : i + LANES] for i in range(0, len(chosen) - LANES + 1, LANES)]


def is_weak(f: LaneField, x: list[list[int]]) -> bool:
    return max(map(max, x)) <= LIMB_MASK and max(number(x)) <= WEAK * f.modulus


@fields
def test_multiplications_equal_integers(f: LaneField) -> None:
    m, p = IntegerMachine(), f.modulus
    for bound, always_weak in ((int(WEAK * p) + 1, True), (f.radix, False)):
        for xs, ys in zip(samples(f, bound, 1), samples(f, bound, 2), strict=True):
            x, y = normal(f, xs), normal(f, ys)
            ((a, b), (c,)) = (
                together(lanes.multiply(m, f, x, y), lanes.multiply(m, f, y, x)),
                together(lanes.multiply_self(m, f, x)),
            )
            assert a == b
            for got, expected in ((a, [s * t for s, t in zip(xs, ys, strict=True)]), (c, [s * s for s in xs])):
                assert [v * f.radix % p for v in number(got)] == [e % p for e in expected]
                assert all(
                    v < Fraction(e, f.radix) + Fraction(5, 4) * p for v, e in zip(number(got), expected, strict=True)
                )
                assert is_weak(f, got) or not always_weak


@fields
def test_squaring_again_and_again_equals_integers(f: LaneField) -> None:
    """Between two squarings bits above 52 stay in the limbs."""
    m, p = IntegerMachine(), f.modulus
    for xs in samples(f, int(WEAK * p) + 1, 14):
        (opened,) = together(lanes.square_open(m, f, normal(f, xs)))
        (got,) = together(lanes.multiply_self(m, f, opened))
        assert [v * f.radix**3 % p for v in number(got)] == [x**4 % p for x in xs]
        assert is_weak(f, got)


def test_scaled_lanes_equal_integers() -> None:
    m = IntegerMachine()
    for k in (1, 2, 3, 12, 15, 36, 1023):
        assert lanes.scaled(m, list(range(LANES)), k) == [k * x for x in range(LANES)]


def test_products_of_any_lengths_add_up() -> None:
    m, f = IntegerMachine(), FP_LANES
    for xs, ys in zip(samples(f, f.radix, 16), samples(f, f.radix, 17), strict=True):
        x, y = normal(f, xs), normal(f, ys)
        once = lanes.product_columns(m, x[:3], y)
        assert number(once) == [(a % 2**156) * b for a, b in zip(xs, ys, strict=True)]
        assert number(lanes.product_columns(m, x[:3], y, once)) == [2 * v for v in number(once)]


@fields
def test_reduction_equals_integers_for_signed_columns(f: LaneField) -> None:
    m, p, rng = IntegerMachine(), f.modulus, np.random.default_rng(3)
    for _ in range(20):
        columns = [[int(x) for x in rng.integers(-(2**61), 2**61, LANES)] for _ in range(2 * f.n - 1)]
        columns.append([int(x) for x in rng.integers(-(2**20), 2**20, LANES)])
        (got,) = together(lanes.reduce(m, f, [[x % 2**64 for x in c] for c in columns]))
        total = [sum(c[i] << LIMB_BITS * k for k, c in enumerate(columns)) for i in range(LANES)]
        for value, t in zip(number(got), total, strict=True):
            assert value * f.radix % p == t % p
            assert Fraction(t, f.radix) <= value < Fraction(t, f.radix) + Fraction(5, 4) * p


@fields
def test_weakening_equals_integers(f: LaneField) -> None:
    m, p, rng = IntegerMachine(), f.modulus, np.random.default_rng(4)
    for xs, ys, zs in zip(*(samples(f, p, seed) for seed in (5, 6, 7)), strict=True):
        for k in range(-3, 4):
            noise = [[int(x) for x in rng.integers(-(2**8), 2**8, LANES)] for _ in range(f.n)]
            noise[-1] = [0] * LANES
            total = [x - y + k * z for x, y, z in zip(xs, ys, zs, strict=True)]
            total = [max(min(t, 39 * p // 10 - f.radix // 2**80), -39 * p // 10 + f.radix // 2**80) for t in total]
            limbs = [[t >> LIMB_BITS * i & LIMB_MASK for i in range(f.n - 1)] for t in total]
            limbs = [[*low, t >> LIMB_BITS * (f.n - 1)] for low, t in zip(limbs, total, strict=True)]
            # Move 2^52 noise from each limb to the one below: the same value in loose limbs
            for i in range(LANES):
                for j in range(1, f.n):
                    limbs[i][j] -= noise[j][i]
                    limbs[i][j - 1] += noise[j][i] << LIMB_BITS
            got = lanes.weaken(m, f, lanes_of(limbs))
            assert is_weak(f, got)
            assert [v % p for v in number(got)] == [t % p for t in total]


@fields
def test_folding_and_exact_reduction_equal_integers(f: LaneField) -> None:
    m, p = IntegerMachine(), f.modulus
    for xs in samples(f, f.radix, 8):
        got = lanes.fold(m, f, normal(f, xs))
        assert is_weak(f, got)
        assert [v % p for v in number(got)] == [x % p for x in xs]
    for xs in samples(f, 2 * p, 9):
        got = lanes.exact(m, f, normal(f, xs))
        assert number(got) == [x % p for x in xs]
        assert max(map(max, got)) <= LIMB_MASK
        assert lanes.is_zero(m, f, normal(f, xs)) == [x % p == 0 for x in xs]


@fields
def test_differences_equal_integers(f: LaneField) -> None:
    m, p = IntegerMachine(), f.modulus
    for xs, ys in zip(samples(f, 4 * p // 3, 10), samples(f, 4 * p // 3, 11), strict=True):
        got = lanes.difference(m, f, normal(f, xs), normal(f, ys), 2)
        assert number(got) == [x - y + 2 * p for x, y in zip(xs, ys, strict=True)]
        assert max(map(max, got)) <= LIMB_MASK


@fields
def test_conversions_equal_integers(f: LaneField) -> None:
    m, p = IntegerMachine(), f.modulus
    for xs in samples(f, p, 12):
        words = [[x >> 64 * i & 2**64 - 1 for x in xs] for i in range(f.n_words)]
        assert number(lanes.limbs_from_words(m, f, words)) == xs
        assert number(lanes.limbs_from_words(m, f, words, f.lift)) == [x << f.lift for x in xs]
        assert lanes.words_from_limbs(m, f, normal(f, xs)) == words
        entered = lanes.enter(m, f, words)
        assert is_weak(f, entered)
        assert lanes.leave(m, f, entered) == words
        assert number(lanes.constant(m, f, xs[0])) == [xs[0] * f.radix % p] * LANES
    for xs in samples(f, int(WEAK * p), 13):
        left = lanes.leave(m, f, normal(f, xs))
        assert [sum(w[i] << 64 * k for k, w in enumerate(left)) << f.lift for i in range(LANES)] == [
            x * pow(2, -f.lift, p) % p << f.lift for x in xs
        ]


def test_transposition_exchanges_rows_and_lanes() -> None:
    rows = [[8 * i + j for j in range(LANES)] for i in range(LANES)]
    assert lanes.transpose(IntegerMachine(), rows) == [list(column) for column in zip(*rows, strict=True)]


def test_choices_and_signs() -> None:
    m: Any = IntegerMachine()
    mask = [i % 3 == 0 for i in range(LANES)]
    x, y = [list(range(LANES))] * 2, [[7] * LANES] * 2
    assert lanes.select(m, mask, x, y) == [[i if i % 3 == 0 else 7 for i in range(LANES)]] * 2
    assert number(lanes.negate_where(m, mask, x)) == [(-1 if i % 3 == 0 else 1) * v for i, v in enumerate(number(x))]
    assert number(lanes.plus(m, x, y)) == [a + b for a, b in zip(number(x), number(y), strict=True)]
    assert number(lanes.minus(m, x, y)) == [a - b for a, b in zip(number(x), number(y), strict=True)]


def test_together_and_in_sequence_return_results_in_order() -> None:
    def writer(k: int):
        for _ in range(k):
            yield
        return [k]

    for run in (together, in_sequence):
        assert run(writer(3), writer(0), writer(1)) == [[3], [0], [1]]

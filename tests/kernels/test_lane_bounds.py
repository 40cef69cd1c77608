"""The bounds that the vector bodies state: of limbs by intervals, of values by exact sums, and of results by integers."""

from fractions import Fraction

import pytest

from bonsai_circuits.kernels import ntt_lanes, polynomial_lanes, sparse_lanes
from bonsai_verifier.kernels.fr_lanes import FR_LANES
from bonsai_verifier.kernels.lane_machine import LANES, LIMB_BITS, LIMB_MASK, together
from bonsai_verifier.kernels.lanes import product_columns
from tests.verifier.kernels.machines import IntegerMachine, Interval, IntervalMachine
from tests.verifier.kernels.test_lane_bounds import WEAK, is_weak, limbs_below, normal, number, samples, weak, within

F = FR_LANES
P, RADIX, N = F.modulus, F.radix, F.n
BELOW = int(WEAK * P) + 1
HORNER = Fraction(5, 2)


def factors(k: int) -> list[list[Interval]]:
    return [limbs_below(F, P)] * k


# Intervals -------------------------------------------------------------------------------------------------------------------


def test_stages_keep_limbs_within_lanes() -> None:
    m, x = IntervalMachine(), weak(F)
    (w,) = factors(1)
    for out in (
        ntt_lanes.forward_4(m, [x] * 4, factors(3), w),
        ntt_lanes.forward_4(m, [x] * 4, [], w),
        ntt_lanes.backward_4(m, [x] * 4, factors(3), w),
        ntt_lanes.forward_2(m, x, x, w),
        ntt_lanes.backward_2(m, x, x, w),
    ):
        for y in out:
            assert within(y[:-1], weak(F)[:-1])
            assert y[-1].low >= 0
            assert y[-1].high < 2 * P >> LIMB_BITS * (N - 1)


@pytest.mark.parametrize("p", [3, 11, 19])
def test_odd_radices_keep_limbs_within_lanes(p: int) -> None:
    m, x = IntervalMachine(), weak(F)
    (w,) = factors(1)
    s, d = ntt_lanes.sum_and_difference(m, x, x)
    assert within(s[:-1], weak(F)[:-1])
    even, odd = [m.zero] * (2 * N), [m.zero] * (2 * N)
    for _ in range(p // 2):
        even, odd = product_columns(m, s, w, even), product_columns(m, d, w, odd)
    assert max(t.high for t in [*even, *odd]) < 2**61
    for y in ntt_lanes.close_pair(m, x, even, odd):
        assert within(y, weak(F))
    assert within(ntt_lanes.total(m, [x] * p), weak(F))


def test_polynomials_keep_limbs_within_lanes() -> None:
    m, x = IntervalMachine(), weak(F)
    (w,) = factors(1)
    (out,) = together(polynomial_lanes.quotient_and_rest(m, x, x, x, x, [w] * 3))
    assert within(out[: N - 1], x[:-1])
    assert within(out[N:], x)
    acc = limbs_below(F, int(HORNER * P))
    (y,) = together(polynomial_lanes.horner(m, acc, x, w))
    assert within(y[:-1], acc[:-1])
    assert within(polynomial_lanes.plain_words(m, acc), [Interval(0, 2**64 - 1)] * F.n_words)


def test_sums_of_rows_keep_limbs_within_lanes() -> None:
    m, word = IntervalMachine(), Interval(0, 2**64 - 1)
    top = sparse_lanes.MAX_ENTRIES // LANES * (P * P >> LIMB_BITS * (2 * N - 1))
    before = [*[Interval(0, LIMB_MASK)] * (2 * N - 1), Interval(0, top)]
    words = [word, word, word, Interval(0, P >> 192)]
    after = sparse_lanes.add_entries(m, before, words, words, None)
    assert within(after[:-1], before[:-1])
    x = sparse_lanes.row_sums(m, [[column] * LANES for column in before])
    assert within(x[:-1], weak(F)[:-1])
    x = sparse_lanes.lane_sums(m, [*before[:-1], Interval(0, LANES * top)])
    assert within(x[:-1], weak(F)[:-1])


# Values ----------------------------------------------------------------------------------------------------------------------

LEFT = Fraction(1001, 1000)  # of the modulus, by a reduction: `multiply` of lanes.py
UNIT = Fraction(P, RADIX)  # of a product of two numbers of the modulus's size
WEAKENED = Fraction(39, 10)  # what `weaken` takes
TAKEN = 11  # times the square of the modulus, for a weak result


def test_values_of_stages_are_as_the_docstrings_say() -> None:
    t3 = (WEAK + 2) * UNIT + LEFT
    assert t3 < Fraction(11, 10)
    assert 4 * WEAK - 2 < WEAKENED
    assert max(2 + WEAK + t3, 3 + 2 * WEAK, 3 + WEAK) < TAKEN  # y_1 + 2, y_2 + 3, y_3 + 3
    assert WEAK + t3 < 3  # y_3 + 3 is positive
    assert 2 * WEAK < 3
    assert max(2 * WEAK, WEAK + t3) < WEAKENED  # without factors
    product = WEAK * UNIT + LEFT
    assert product < Fraction(104, 100)
    assert WEAK + 3 * product - 2 < Fraction(247, 100)
    assert max(2 * product, WEAK + product) + t3 < WEAKENED


def test_values_of_odd_radices_are_as_the_docstrings_say() -> None:
    even, odd = 9 * 2 * WEAK, 9 * (2 + WEAK)
    assert max(even, odd) * P * P < RADIX * P  # what `reduced` takes
    e, o = even * UNIT + LEFT, odd * UNIT + LEFT
    assert WEAK + e + o - 1 < WEAKENED
    assert o < WEAKENED
    assert WEAK + e < WEAKENED
    assert 19 * BELOW < RADIX  # what `fold` takes


def test_values_of_polynomials_are_as_the_docstrings_say() -> None:
    assert (WEAK + 2) + 2 * WEAK <= 6 < TAKEN
    assert HORNER * UNIT + LEFT + WEAK < HORNER < TAKEN
    assert HORNER * P / RADIX + LEFT < 2  # what `exact` takes
    full = sparse_lanes.MAX_ENTRIES * (P * P >> LIMB_BITS * (2 * N - 1)) + 8 * 2**10
    assert full < 2**60
    rest = Fraction(2**512 + 2**16 * P, RADIX * P)
    assert rest < 1
    assert rest + LEFT < WEAK
    assert WEAK < TAKEN


# Integers --------------------------------------------------------------------------------------------------------------------


def mont(x: int) -> int:
    return x * RADIX % P


def equal(x: list[list[int]], expected: list[int]) -> bool:
    return [a % P for a in number(x)] == [e % P for e in expected]


def test_stages_equal_integers() -> None:
    m = IntegerMachine()
    w4 = pow(7, (P - 1) // 4, P)
    ws = [pow(7, k, P) for k in (1, 2, 3)]
    table, i4 = [normal(F, [mont(w)] * LANES) for w in ws], normal(F, [mont(w4)] * LANES)
    columns = [samples(F, BELOW, seed) for seed in range(4)]
    for xs in zip(*columns, strict=True):
        blocks = [normal(F, x) for x in xs]

        def points(xs: list[list[int]], k: int) -> list[int]:
            return [sum(x * pow(w4, i * k, P) for i, x in enumerate(lane)) for lane in zip(*xs, strict=True)]

        plain = [points(xs, k) for k in range(4)]
        twisted = [[x * w for x in lane] for lane, w in zip(plain, [1, *ws], strict=True)]
        inputs = [[x * w for x in lane] for lane, w in zip(xs, [1, *ws], strict=True)]
        for got, expected in (
            (ntt_lanes.forward_4(m, blocks, table, i4), twisted),
            (ntt_lanes.forward_4(m, blocks, [], i4), plain),
            (ntt_lanes.backward_4(m, blocks, table, i4), [points(inputs, k) for k in range(4)]),
        ):
            for y, e in zip(got, expected, strict=True):
                assert is_weak(F, y)
                assert equal(y, e)
        a, b = xs[:2]
        for got, expected in (
            (
                ntt_lanes.forward_2(m, *blocks[:2], table[0]),
                [[x + y, (x - y) * ws[0]] for x, y in zip(a, b, strict=True)],
            ),
            (
                ntt_lanes.backward_2(m, *blocks[:2], table[0]),
                [[x + y * ws[0], x - y * ws[0]] for x, y in zip(a, b, strict=True)],
            ),
        ):
            for y, e in zip(got, zip(*expected, strict=True), strict=True):
                assert is_weak(F, y)
                assert equal(y, list(e))


def test_pairs_of_odd_radices_equal_integers_at_their_largest() -> None:
    m, h = IntegerMachine(), 9
    for xs, ys in zip(samples(F, BELOW, 5), samples(F, BELOW, 6), strict=True):
        x, y = normal(F, xs), normal(F, ys)
        s, d = ntt_lanes.sum_and_difference(m, x, y)
        assert number(s) == [a + b for a, b in zip(xs, ys, strict=True)]
        assert number(d) == [a - b + 2 * P for a, b in zip(xs, ys, strict=True)]
        c = normal(F, [P - 1] * LANES)
        even, odd = [m.zero] * (2 * N), [m.zero] * (2 * N)
        for _ in range(h):
            even, odd = product_columns(m, s, c, even), product_columns(m, d, c, odd)
        scale = h * (P - 1) * pow(RADIX, -1, P)
        e = [a + scale * (a + b) for a, b in zip(xs, ys, strict=True)]
        o = [scale * (a - b) for a, b in zip(xs, ys, strict=True)]
        first, second = ntt_lanes.close_pair(m, x, even, odd)
        assert is_weak(F, first)
        assert is_weak(F, second)
        assert equal(first, [a + b for a, b in zip(e, o, strict=True)])
        assert equal(second, [a - b for a, b in zip(e, o, strict=True)])
        total = ntt_lanes.total(m, [x, *[y] * 18])
        assert is_weak(F, total)
        assert equal(total, [a + 18 * b for a, b in zip(xs, ys, strict=True)])


def test_horner_and_plain_words_equal_integers_at_their_largest() -> None:
    m, c = IntegerMachine(), pow(7, 5, P)
    for accs, xs in zip(samples(F, int(HORNER * P), 8), samples(F, BELOW, 9), strict=True):
        acc, x = normal(F, accs), normal(F, xs)
        (y,) = together(polynomial_lanes.horner(m, acc, x, normal(F, [mont(c)] * LANES)))
        assert max(number(y)) < HORNER * P
        assert equal(y, [a * c + b for a, b in zip(accs, xs, strict=True)])
        words = polynomial_lanes.plain_words(m, acc)
        plain = [sum(word[i] << 64 * j for j, word in enumerate(words)) for i in range(LANES)]
        assert plain == [a * pow(RADIX, -1, P) % P for a in accs]


def test_sums_of_rows_equal_integers_at_their_largest() -> None:
    m = IntegerMachine()
    for n in (1, 16, sparse_lanes.MAX_ENTRIES // LANES):
        whole = n * (P - 1) ** 2
        columns = [whole >> LIMB_BITS * k & LIMB_MASK for k in range(2 * N - 1)]
        columns.append(whole >> LIMB_BITS * (2 * N - 1))
        x = sparse_lanes.row_sums(m, [[[c] * LANES] * LANES for c in columns])
        assert is_weak(F, x)
        assert equal(x, [LANES * whole * pow(2**256, -1, P) * RADIX] * LANES)

"""One element of Fp12 in two blocks: against py_ecc on every machine, bounds by intervals, operations where a vector unit runs them."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from py_ecc.fields import optimized_bls12_381_FQ12 as FQ12

from bonsai_verifier.field import fp_from_ints, fp_to_ints
from bonsai_verifier.kernels import fp12_lanes
from bonsai_verifier.kernels.fp12_lanes import BOUND, MOST_SQUARINGS, SQUARING_BOUND
from bonsai_verifier.kernels.fp_lanes import FP_LANES
from bonsai_verifier.kernels.lane_machine import LANES, LIMB_BITS, LIMB_MASK, LaneField, Limbs
from bonsai_verifier.kernels.lane_operations import blocks
from bonsai_verifier.parameters import FP_MODULUS as P
from tests.verifier.kernels.calling import call
from tests.verifier.kernels.machines import IntegerMachine, Interval, IntervalMachine, signed
from tests.verifier.kernels.test_tower import coefficients, fq12

Element = tuple[Limbs, Limbs]
Coefficients = list[int]  # of fp12.py, in the order of its memory
PAGE = Path(__file__).parents[3] / "docs" / "kernels.md"
POSITIONS = [3 * (i % 2) + i // 2 for i in range(6)]  # of a_i among the six of fp12.py


def samples(n: int, seed: int) -> list[Coefficients]:
    """Edges in every place, then random elements."""
    rng = random.Random(seed)
    edges = [0, 1, P - 1, P // 2, 2**380]
    chosen = [[edge] * 12 for edge in edges]
    chosen += [[rng.choice(edges) for _ in range(12)] for _ in range(n)]
    return chosen + [[rng.randrange(P) for _ in range(12)] for _ in range(n)]


def cyclotomic(seed: int) -> Coefficients:
    rng = random.Random(seed)
    return coefficients(fq12([rng.randrange(P) for _ in range(12)]) ** ((P**6 - 1) * (P**2 + 1)))


def lanes(a: Coefficients, multiples: int = 0) -> list[list[int]]:
    """Both halves as eight integers in Montgomery form, raised by as many multiples of p."""
    values = [x * FP_LANES.radix % P + multiples * P for i in POSITIONS for x in a[2 * i : 2 * i + 2]]
    return [[*half, *half[:2]] for half in (values[:6], values[6:])]


def element_of(halves: list[list[int]]) -> Coefficients:
    out = [0] * 12
    for i, position in enumerate(POSITIONS):
        for c in range(2):
            x = halves[i // 3][2 * (i % 3) + c]
            assert 0 <= x <= BOUND * P
            out[2 * position + c] = x * pow(FP_LANES.radix, -1, P) % P
    return out


# Integers: every writer, on any machine ----------------------------------------------------------------------------------------


def written(a: Coefficients, multiples: int = 0) -> Element:
    """An element of the integer machine."""
    low, high = ([list(limb) for limb in zip(*map(FP_LANES.limbs, half), strict=True)] for half in lanes(a, multiples))
    return low, high


def read(halves: Any) -> list[list[int]]:
    return [
        [sum(signed(limb[lane]) << LIMB_BITS * i for i, limb in enumerate(half)) for lane in range(LANES)]
        for half in halves
    ]


def reduced(m: Any, columns: Any) -> list[Limbs]:
    return [fp12_lanes.together(fp12_lanes.reduce(m, FP_LANES, t))[0] for t in columns]


def multiplied(m: Any, a: Element, b: Element) -> list[Limbs]:
    """What lane12_mul does, with values for memory."""
    factors = zip(fp12_lanes.factors_12(m, *a), fp12_lanes.factors_12(m, *b), strict=True)
    products = [fp12_lanes.pair_product(m, FP_LANES, x, y) for x, y in factors]
    return fp12_lanes.product_12(m, FP_LANES, *reduced(m, fp12_lanes.product_12_columns(m, *products)))


def squared_twice(m: Any, f: LaneField, low: Limbs, high: Limbs) -> list[Limbs]:
    """What lane12_sqr_twice does."""
    factors, b, c = fp12_lanes.square_12_factors(m, f, low, high)
    squares = [fp12_lanes.product_columns(m, *xy) for xy in factors]
    columns = [*fp12_lanes.fourth_degree_square_columns(m, *squares), fp12_lanes.pair_product(m, f, b, c)]
    return fp12_lanes.square_12_twice(m, f, *reduced(m, columns))


UNARY: dict[str, tuple[Any, Callable[[FQ12], FQ12]]] = {
    "sqr_twice": (squared_twice, lambda a: a * a * 2),
    "conj": (fp12_lanes.conjugate_12, lambda a: a ** (P**6)),
    "frobenius": (fp12_lanes.frobenius_12, lambda a: a**P),
    "frobenius_2": (fp12_lanes.frobenius_2_12, lambda a: a ** (P**2)),
}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("multiples", [0, BOUND - 1])
def test_unary_writer_equals_the_oracle(name: str, multiples: int) -> None:
    writer, oracle = UNARY[name]
    m = IntegerMachine()
    for a in samples(1, 1):
        got = element_of(read(writer(m, FP_LANES, *written(a, multiples))))
        assert got == coefficients(oracle(fq12(a)))


@pytest.mark.parametrize("multiples", [0, BOUND - 1])
def test_product_equals_the_oracle(multiples: int) -> None:
    m = IntegerMachine()
    for a, b in zip(samples(1, 1), reversed(samples(1, 2)), strict=True):
        got = element_of(read(multiplied(m, written(a, multiples), written(b, multiples))))
        assert got == coefficients(fq12(a) * fq12(b))


def test_squarings_one_after_the_other_equal_the_oracle_and_stay_in_bounds() -> None:
    m, f = IntegerMachine(), FP_LANES
    a = cyclotomic(3)
    x, expected, bound = written(a, BOUND - 1), fq12(a), BOUND
    for _ in range(MOST_SQUARINGS):
        x, expected, bound = fp12_lanes.cyclotomic_square(m, f, *x, SQUARING_BOUND), expected * expected, 2 * bound + 12
        assert all(abs(v) <= bound * P for half in read(x) for v in half)
        got = [fp12_lanes.folded(m, f, half) for half in x]
        assert element_of(read(got)) == coefficients(expected)


class CountingMachine(IntegerMachine):
    """Counts multiplier steps."""

    steps = 0

    def lo(self, t, x, y):
        self.steps += 1
        return super().lo(t, x, y)

    def hi(self, t, x, y):
        self.steps += 1
        return super().hi(t, x, y)


def test_steps_are_as_many_as_the_page_says() -> None:
    """docs/kernels.md, "Pairings"."""
    a = written(samples(0, 0)[0])
    for steps, run in (
        (640, lambda m: fp12_lanes.cyclotomic_square(m, FP_LANES, *a, SQUARING_BOUND)),
        (1024, lambda m: squared_twice(m, FP_LANES, *a)),
        (1664, lambda m: multiplied(m, a, a)),
    ):
        m = CountingMachine()
        run(m)
        assert m.steps == steps
        assert f"| {steps:,} |" in PAGE.read_text()


# Intervals: nothing leaves its lane, and results are elements --------------------------------------------------------------------


class Intervals:
    """An IntervalMachine for each lane.  A claim may cut what lower limbs lend the top one, p/26, not more."""

    def __init__(self) -> None:
        self._machine = IntervalMachine()
        self.zero = self.const(0)

    def const(self, x: int) -> list[Interval]:
        return [self._machine.const(x)] * LANES

    def consts(self, xs: list[int]) -> list[Interval]:
        return [self._machine.const(x) for x in xs]

    def shuffle(self, x: Any, y: Any, indices: list[int]) -> list[Interval]:
        return [(x + y)[i] for i in indices]

    def claim(self, x: Any, low: int, high: int) -> list[Interval]:
        for lane in x:
            assert low - 2**12 <= lane.low <= lane.high <= high
        return [Interval(max(lane.low, low), lane.high) for lane in x]

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._machine, name)

        def every_lane(*args: Any) -> list[Interval]:
            return [operation(*(a[i] if isinstance(a, list) else a for a in args)) for i in range(LANES)]

        return every_lane


def in_top(k: int) -> int:
    """The top limb of k p, carried."""
    return k * P >> LIMB_BITS * (FP_LANES.n - 1)


def any_value(low: int, high: int, limb: int) -> Limbs:
    """Limbs within +-`limb` of a value in [low p, high p], in every lane."""
    lent = (limb >> LIMB_BITS) + 1
    top = Interval(in_top(low) - lent, in_top(high) + lent)
    return [[Interval(-limb, limb)] * LANES] * (FP_LANES.n - 1) + [[top] * LANES]


def any_element() -> Element:
    return any_value(0, BOUND, 2**57), any_value(0, BOUND, 2**57)


def assert_value(m: Any, x: Limbs, low: int, high: int) -> None:
    """By the top limb after a carry pass: the value lies in [low p, high p]."""
    top = fp12_lanes.carry(m, x)[-1]
    assert all(in_top(low) <= lane.low and lane.high < in_top(high) for lane in top)


@pytest.mark.parametrize("name", [*UNARY, "mul"])
def test_results_are_elements(name: str) -> None:
    m: Any = Intervals()
    if name == "mul":
        halves = multiplied(m, any_element(), any_element())
    else:
        halves = UNARY[name][0](m, FP_LANES, *any_element())
    for half in halves:
        assert all(max(-lane.low, lane.high) <= 2**57 for limb in half for lane in limb)
        if name != "conj":  # 64 p - x: the same interval
            assert_value(m, half, 0, BOUND)


def test_a_squaring_doubles_and_adds_twelve() -> None:
    """3 c -+ 2 x, for c in [-4 p, 4 p] whatever the x within bounds; and 2 x is exact, as the sums of integers above show."""
    m: Any = Intervals()
    x = any_value(-SQUARING_BOUND, SQUARING_BOUND, 2**61)
    factors = fp12_lanes.fourth_degree_square_factors(m, FP_LANES, x, x, SQUARING_BOUND)
    squares = [fp12_lanes.product_columns(m, *xy) for xy in factors]
    c0, c1 = reduced(m, fp12_lanes.fourth_degree_square_columns(m, *squares))
    for c in (c0, c1, fp12_lanes.times_xi(m, c1)):
        assert_value(m, c, -4, 4)
    for half in fp12_lanes.cyclotomic_square(m, FP_LANES, x, x, SQUARING_BOUND):
        assert all(max(-lane.low, lane.high) <= 2**61 for limb in half[:-1] for lane in limb)
    bounds = [BOUND]
    for _ in range(MOST_SQUARINGS):
        bounds.append(2 * bounds[-1] + 12)
    assert bounds[MOST_SQUARINGS - 1] <= SQUARING_BOUND
    assert bounds[MOST_SQUARINGS] <= 2 * SQUARING_BOUND
    raised = any_value(-2 * SQUARING_BOUND, 2 * SQUARING_BOUND, 2**61)
    fp12_lanes.carried(
        m, fp12_lanes.plus(m, raised, fp12_lanes.multiple_of_p(m, FP_LANES, 2 * SQUARING_BOUND))
    )  # to fold


def test_intervals_find_a_value_below_zero() -> None:
    m: Any = Intervals()
    with pytest.raises(AssertionError):
        fp12_lanes.digits(m, any_value(-1, 1, 2**57))
    with pytest.raises(AssertionError):
        fp12_lanes.digits(m, any_value(0, 2**36, 2**57))


# Operations: where they run ------------------------------------------------------------------------------------------------------


def memory(a: Coefficients, multiples: int = 0) -> np.ndarray:
    block = blocks(2, FP_LANES)
    block[:] = np.array([[FP_LANES.limbs(x) for x in half] for half in lanes(a, multiples)], np.uint64).transpose(
        0, 2, 1
    )
    return block.reshape(1, -1)


def value(block: np.ndarray) -> Coefficients:
    return element_of(read([[[int(x) for x in limb] for limb in half] for half in block.reshape(2, FP_LANES.n, LANES)]))


@pytest.mark.usefixtures("vector")
@pytest.mark.parametrize("name", UNARY)
def test_unary_operation_equals_the_oracle(name: str) -> None:
    op, oracle = getattr(fp12_lanes, f"lane12_{name}"), UNARY[name][1]
    for a in samples(3, 4):
        d, x = memory([7] * 12), memory(a, BOUND - 1)
        call(op, d, x)
        call(op, x, x)
        assert value(d) == value(x) == coefficients(oracle(fq12(a)))


@pytest.mark.usefixtures("vector")
def test_multiplication_equals_the_oracle() -> None:
    for a, b in zip(samples(5, 5), reversed(samples(5, 6)), strict=True):
        d, x, y, z = memory([7] * 12), memory(a), memory(b, BOUND - 1), memory(a)
        call(fp12_lanes.lane12_mul, d, x, y)
        call(fp12_lanes.lane12_mul, x, x, y)
        call(fp12_lanes.lane12_mul, y, z, y)
        assert value(d) == value(x) == value(y) == coefficients(fq12(a) * fq12(b))
        call(fp12_lanes.lane12_mul, z, z, z)
        assert value(z) == coefficients(fq12(a) * fq12(a))


@pytest.mark.usefixtures("vector")
def test_cyclotomic_squarings_equal_the_oracle() -> None:
    a = cyclotomic(8)
    expected = fq12(a)
    for n in range(MOST_SQUARINGS + 1):
        d = memory(a, BOUND - 1)
        call(fp12_lanes.lane12_cyclotomic_sqr, d, n)
        assert value(d) == coefficients(expected)
        expected *= expected


@pytest.mark.usefixtures("vector")
def test_elements_enter_and_leave_as_words() -> None:
    for a in samples(5, 9):
        words, d = fp_from_ints(a).reshape(1, -1), memory([7] * 12)
        call(fp12_lanes.lane12_enter, d, words)
        assert value(d) == a
        out = np.full((1, 80), 7, np.uint64)
        for block in (d, memory(a, BOUND - 1)):
            call(fp12_lanes.lane12_leave, out, block)
            assert fp_to_ints(out[0, :72].reshape(12, 6)) == a
            assert (out[0, 72:] == 7).all()


@pytest.mark.usefixtures("vector")
def test_one_and_copies() -> None:
    d = memory([7] * 12)
    call(fp12_lanes.lane12_one, d)
    assert value(d) == [1, *[0] * 11]
    a = memory(samples(1, 10)[-1])
    call(fp12_lanes.lane12_copy, d, a)
    assert np.array_equal(d, a)


def test_limbs_of_a_multiple_are_normalised() -> None:
    for k in (1, BOUND, SQUARING_BOUND):
        limbs = [limb[0] for limb in fp12_lanes.multiple_of_p(IntegerMachine(), FP_LANES, k)]
        assert max(limbs) <= LIMB_MASK
        assert sum(x << LIMB_BITS * i for i, x in enumerate(limbs)) == k * P

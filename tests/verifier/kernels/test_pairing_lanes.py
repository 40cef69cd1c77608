"""Lines in lanes: Fp2 eight at a time, and products of three lines, against py_ecc; the bounds by intervals and at their ends."""

import random
from typing import Any

import numpy as np
import pytest
from py_ecc.fields import optimized_bls12_381_FQ12 as FQ12

from bonsai_verifier.kernels import pairing_lanes
from bonsai_verifier.kernels.fp12_lanes import BOUND, LANE12_BYTES
from bonsai_verifier.kernels.fp_lanes import FP_LANES
from bonsai_verifier.kernels.lane_machine import LANES
from bonsai_verifier.kernels.lane_operations import blocks
from bonsai_verifier.parameters import FP_MODULUS as P
from tests.verifier.kernels.calling import call
from tests.verifier.kernels.machines import IntegerMachine
from tests.verifier.kernels.test_fp12_lanes import Intervals, any_value, assert_value, read, value
from tests.verifier.kernels.test_tower import coefficients, fq12

R = FP_LANES.radix
W = FQ12([0, 1] + [0] * 10)
Numbers = list[list[int]]  # eight integers for each block


def numbers(n: int, bound: int, seed: int) -> Numbers:
    """n times eight integers of [0, bound p]: the ends, and random ones."""
    rng = random.Random(seed)
    return [[rng.choice([0, bound * P, rng.randrange(bound * P)]) for _ in range(LANES)] for _ in range(n)]


def memory(xs: Numbers) -> np.ndarray:
    a = blocks(len(xs), FP_LANES)
    a[:] = np.array([[FP_LANES.limbs(x) for x in block] for block in xs], np.uint64).transpose(0, 2, 1)
    return a.reshape(1, -1)


def result(op: Any, n: int, *operands: Numbers) -> Numbers:
    d = memory([[7] * LANES] * n)
    call(op, d, *map(memory, operands))
    return read([[[int(x) for x in limb] for limb in block] for block in d.reshape(n, FP_LANES.n, LANES)])


def plain(xs: Numbers, lane: int) -> list[int]:
    """The integers of one lane, out of Montgomery form."""
    return [block[lane] * pow(R, -1, P) % P for block in xs]


def test_products_in_fp2_equal_the_oracle_on_integers() -> None:
    m: Any = IntegerMachine()
    x, y = numbers(2, BOUND, 1), numbers(2, BOUND, 2)
    limbs = [[list(limb) for limb in zip(*map(FP_LANES.limbs, block), strict=True)] for block in (*x, *y)]
    got = read(pairing_lanes.multiply_2(m, FP_LANES, limbs[:2], limbs[2:]))
    for lane in range(LANES):
        assert plain(got, lane) == coefficients(fq12(plain(x, lane)) * fq12(plain(y, lane)), 2)
    assert all(0 <= v <= 3 * P for block in got for v in block)


def test_products_in_fp2_stay_in_bounds() -> None:
    m: Any = Intervals()
    x = [any_value(0, BOUND, 2**56)] * 2
    for c in pairing_lanes.multiply_2(m, FP_LANES, x, x):
        assert_value(m, c, 0, 3)


@pytest.mark.usefixtures("vector")
def test_operations_on_fp2_equal_the_oracle_at_their_bounds() -> None:
    a, b, in_fp = numbers(2, BOUND, 3), numbers(2, BOUND, 4), numbers(1, BOUND, 5)
    three, other, eight = numbers(2, 3, 6), numbers(2, 3, 7), numbers(2, 8, 8)
    xi = fq12([1, 1])
    cases = [
        (pairing_lanes.fp2x8_mul, (a, b), lambda x, y: x * y, 3),
        (pairing_lanes.fp2x8_add, (a, b), lambda x, y: x + y, 2 * BOUND),
        (pairing_lanes.fp2x8_mul_fp, (a, in_fp), lambda x, y: x * y, 2),
        (pairing_lanes._mixed, (a, three, other), lambda x, y, z: x - y - z, BOUND + 6),
        (pairing_lanes._xi_times, (eight,), lambda x: xi * x, 16),
        (pairing_lanes._add_xi_times, (a, eight), lambda x, y: x + xi * y, BOUND + 16),
    ]
    for op, operands, oracle, bound in cases:
        got = result(op, 2, *operands)
        assert all(0 <= v <= bound * P for block in got for v in block)
        for lane in range(LANES):
            expected = oracle(*(fq12([*plain(x, lane), 0][:2]) for x in operands))
            assert plain(got, lane) == coefficients(expected, 2)


@pytest.mark.usefixtures("vector")
def test_product_of_three_lines_equals_the_oracle() -> None:
    lines = [numbers(4, 2, seed) for seed in (9, 10, 11)]
    got = result(pairing_lanes._three_lines, 12, *lines)
    assert all(0 <= v <= BOUND * P for block in got for v in block)
    for lane in range(LANES):
        expected = FQ12.one()
        for line in lines:
            c = plain(line, lane)
            expected *= fq12(c[:2]) + fq12(c[2:]) * W**2 + W**3
        powers = [fq12(plain(got[2 * i : 2 * i + 2], lane)) * W**i for i in range(6)]
        assert sum(powers, FQ12.zero()) == expected


@pytest.mark.usefixtures("vector")
def test_lanes_become_elements() -> None:
    xs = numbers(12, BOUND, 12)
    d = blocks(2 * LANES, FP_LANES).reshape(LANES, -1)
    assert d.shape[1] * 8 == LANE12_BYTES
    a = memory(xs)
    call(pairing_lanes._transpose_half, d, a)
    call(pairing_lanes._transpose_half, d.reshape(-1, FP_LANES.n * LANES)[1:], a.reshape(12, -1)[6:])
    for lane in range(LANES):
        expected = sum((fq12(plain(xs[2 * i : 2 * i + 2], lane)) * W**i for i in range(6)), FQ12.zero())
        assert value(d[lane : lane + 1]) == coefficients(expected)

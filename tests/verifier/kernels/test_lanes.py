"""Operations on blocks of eight against integers, in both fields."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bonsai_verifier.field import ints_from_limbs, limbs_from_ints
from bonsai_verifier.kernels import fp_lanes, fr_lanes
from bonsai_verifier.kernels.lane_machine import LANES, LIMB_BITS, LaneField
from bonsai_verifier.kernels.lane_operations import LaneOperations, blocks, pair_operations
from bonsai_verifier.parameters import FP_MODULUS, FR_MODULUS
from tests.verifier.kernels.calling import call

pytestmark = pytest.mark.usefixtures("vector")
FIELDS = {"fp": fp_lanes._ops, "fr": fr_lanes._ops}
INVERSES = {fp_lanes.FP_LANES: fp_lanes.fp8_inv, fr_lanes.FR_LANES: fr_lanes.fr8_inv}
fields = pytest.mark.parametrize("ops", FIELDS.values(), ids=FIELDS.keys())


def to_block(f: LaneField, xs: list[int]) -> np.ndarray:
    """Eight integers below 2^(52 n) -> (1, 8 n) words of a block."""
    block = blocks(1, f)
    block[0] = np.array([f.limbs(x) for x in xs], np.uint64).T
    return block.reshape(1, -1)


def from_block(f: LaneField, block: np.ndarray) -> list[int]:
    limbs = block.reshape(f.n, LANES)
    return [sum(int(limbs[i, lane]) << (LIMB_BITS * i) for i in range(f.n)) for lane in range(LANES)]


def to_pair(f: LaneField, xs: list[int], ys: list[int]) -> np.ndarray:
    """Sixteen integers -> (1, 16 n) words of a pair."""
    pair = blocks(2, f).reshape(1, -1)
    pair[:] = np.concatenate([to_block(f, xs), to_block(f, ys)], axis=1)
    return pair


def samples(f: LaneField, seed: int) -> list[list[int]]:
    """Weak values, eight at a time: edges beside each other in every order, then random ones."""
    p, rng = f.modulus, np.random.default_rng(seed)
    edges = [0, 1, 2, p - 1, p, p + 1, 4 * p // 3, p // 2, 2**52 - 1, 2**52, 2**104 - 1, p - 2**52]
    chosen = [edges[int(i)] for i in rng.integers(0, len(edges), 10 * LANES)]
    chosen += [int.from_bytes(rng.bytes(64), "little") % (4 * p // 3 + 1) for _ in range(20 * LANES)]
    return [chosen[i : i + LANES] for i in range(0, len(chosen), LANES)]


def check(f: LaneField, got: np.ndarray, expected: list[int]) -> None:
    """The block is weak and its values are those, modulo p."""
    assert got.max() < 2**LIMB_BITS
    values = from_block(f, got)
    assert all(3 * x < 4 * f.modulus for x in values)
    assert [x % f.modulus for x in values] == [x % f.modulus for x in expected]


BINARY: dict[str, Callable[[int, int, int], int]] = {
    "mul": lambda a, b, r_inverse: a * b * r_inverse,
    "sub": lambda a, b, r_inverse: a - b,
}
UNARY: dict[str, Callable[[int, int, int], int]] = {
    "sqr": lambda a, r, r_inverse: a * a * r_inverse,
    "copy": lambda a, r, r_inverse: a,
}


def r_inverse(f: LaneField) -> int:
    return pow(f.radix, -1, f.modulus)


@fields
@pytest.mark.parametrize("name", BINARY)
def test_binary_operation_equals_integers(ops: LaneOperations, name: str) -> None:
    f, op = ops.field, getattr(ops, name)
    for xs, ys in zip(samples(f, 1), samples(f, 2), strict=True):
        expected = [BINARY[name](x, y, r_inverse(f)) for x, y in zip(xs, ys, strict=True)]
        for destination in range(3):
            operands = [to_block(f, [0] * LANES), to_block(f, xs), to_block(f, ys)]
            call(op, operands[destination], operands[1], operands[2])
            check(f, operands[destination], expected)


@fields
@pytest.mark.parametrize("name", UNARY)
def test_unary_operation_equals_integers(ops: LaneOperations, name: str) -> None:
    f, op = ops.field, getattr(ops, name)
    for xs in samples(f, 3):
        expected = [UNARY[name](x, f.radix, r_inverse(f)) for x in xs]
        for destination in range(2):
            operands = [to_block(f, [0] * LANES), to_block(f, xs)]
            call(op, operands[destination], operands[1])
            check(f, operands[destination], expected)


@fields
def test_two_at_once_equal_one_after_the_other(ops: LaneOperations) -> None:
    f = ops.field
    for xs, ys, zs, ws in zip(*(samples(f, seed) for seed in range(4, 8)), strict=True):
        a, b, u, v = (to_block(f, values) for values in (xs, ys, zs, ws))
        d, e = to_block(f, xs), to_block(f, xs)
        call(ops.mul2, d, a, b, e, u, v)
        check(f, d, [x * y * r_inverse(f) for x, y in zip(xs, ys, strict=True)])
        check(f, e, [x * y * r_inverse(f) for x, y in zip(zs, ws, strict=True)])
        call(ops.mul2, a, a, v, v, u, v)
        check(f, a, [x * y * r_inverse(f) for x, y in zip(xs, ws, strict=True)])
        check(f, v, [x * y * r_inverse(f) for x, y in zip(zs, ws, strict=True)])
        call(ops.sqr2, d, b, u, u)
        check(f, d, [y * y * r_inverse(f) for y in ys])
        check(f, u, [z * z * r_inverse(f) for z in zs])


@fields
@pytest.mark.parametrize("times", [1, 2, 5])
def test_repeated_squaring(ops: LaneOperations, times: int) -> None:
    f = ops.field
    for xs, ys in zip(samples(f, 8), samples(f, 9), strict=True):
        a, b = to_block(f, xs), to_block(f, ys)
        call(ops.sqr2_times, a, b, times)
        for block, values in ((a, xs), (b, ys)):
            expected = [pow(x * r_inverse(f), 2**times, f.modulus) * f.radix for x in values]
            check(f, block, expected)


PAIRS = pair_operations("test_fp16", fp_lanes.FP_LANES)
ON_PAIRS: dict[str, tuple[Any, Callable[[int, int, LaneField], int]]] = {
    "mul": (PAIRS.mul, lambda a, b, f: a * b * r_inverse(f)),
    "sub": (PAIRS.sub, lambda a, b, f: a - b),
    "sqr": (PAIRS.sqr, lambda a, b, f: a * a * r_inverse(f)),
    "neg": (PAIRS.neg, lambda a, b, f: -a),
    "copy": (PAIRS.copy, lambda a, b, f: a),
    "one": (PAIRS.one, lambda a, b, f: f.radix),
}


@pytest.mark.parametrize("name", ON_PAIRS)
def test_operation_on_pairs_equals_integers(name: str) -> None:
    f, (op, oracle) = fp_lanes.FP_LANES, ON_PAIRS[name]
    n_operands = {"mul": 2, "sub": 2, "one": 0}.get(name, 1)
    for values in zip(*(samples(f, seed) for seed in (12, 13, 14, 15)), strict=True):
        for destination in range(n_operands + 1):
            arrays = [to_pair(f, [0] * LANES, [1] * LANES), to_pair(f, *values[:2]), to_pair(f, *values[2:])]
            call(op, arrays[destination], *arrays[1 : n_operands + 1])
            for half, (xs, ys) in enumerate(((values[0], values[2]), (values[1], values[3]))):
                expected = [oracle(x, y, f) for x, y in zip(xs, ys, strict=True)]
                check(f, arrays[destination][:, half * 64 : half * 64 + 64], expected)


@pytest.mark.parametrize("times", [1, 2, 3, 6])
def test_repeated_squaring_of_pairs(times: int) -> None:
    f = fp_lanes.FP_LANES
    for xs, ys in zip(samples(f, 16), samples(f, 17), strict=True):
        pair = to_pair(f, xs, ys)
        call(PAIRS.sqr_times, pair, times)
        for half, values in enumerate((xs, ys)):
            expected = [pow(x * r_inverse(f), 2**times, f.modulus) * f.radix for x in values]
            check(f, pair[:, half * 64 : half * 64 + 64], expected)


@fields
def test_inverses_of_a_block(ops: LaneOperations) -> None:
    f = ops.field
    invert = INVERSES[f]
    for xs in [*samples(f, 11), [0] * LANES, [f.modulus] * LANES, [0] * 7 + [5]]:
        values = [x * r_inverse(f) % f.modulus for x in xs]
        expected = [pow(v, -1, f.modulus) * f.radix if v else 0 for v in values]
        d, a = to_block(f, [1] * LANES), to_block(f, xs)
        call(invert, d, a)
        check(f, d, expected)
        call(invert, a, a)
        check(f, a, expected)


@fields
def test_constants(ops: LaneOperations) -> None:
    f = ops.field
    block = to_block(f, [7] * LANES)
    call(ops.one, block)
    check(f, block, [f.radix] * LANES)
    call(ops.zero, block)
    assert not block.any()


@fields
def test_masks_know_zero_and_equals_in_every_form(ops: LaneOperations) -> None:
    f, p = ops.field, ops.field.modulus
    xs = [0, 1, p, p - 1, p + 1, 2**52, 0, p]
    ys = [p, p + 1, 0, p - 2, 1, 2**52, 1, p]
    assert call(ops.zeros, to_block(f, xs)) == 0b11000101
    assert call(ops.equals, to_block(f, xs), to_block(f, ys)) == 0b10110111
    for lane in range(LANES):
        assert call(ops.zeros, to_block(f, [int(i != lane) for i in range(LANES)])) == 1 << lane
    for bit in range(p.bit_length() - 1):
        assert call(ops.zeros, to_block(f, [1 << bit] * LANES)) == 0


@fields
def test_select_takes_lanes_by_bits(ops: LaneOperations) -> None:
    f = ops.field
    xs, ys = list(range(LANES)), list(range(10, 10 + LANES))
    for bits in (0, 255, 1, 128, 0b10110):
        d = to_block(f, xs)
        call(ops.select, d, bits, to_block(f, xs), to_block(f, ys))
        assert from_block(f, d) == [xs[i] if bits >> i & 1 else ys[i] for i in range(LANES)]


@fields
@pytest.mark.parametrize("gap", [0, 3])
def test_rows_enter_and_leave(ops: LaneOperations, gap: int) -> None:
    f = ops.field
    width = f.n_words + gap
    for xs in samples(f, 10):
        xs = [x % f.modulus for x in xs]
        rows = np.full((LANES, width), 2**64 - 1, np.uint64)
        rows[:, : f.n_words] = limbs_from_ints(xs, f.n_words)
        d = to_block(f, [0] * LANES)
        call(ops.enter, d, rows, 8 * width)
        check(f, d, [x << f.lift for x in xs])
        out = np.full((LANES, width), 2**64 - 1, np.uint64)
        call(ops.leave, out, 8 * width, d)
        assert ints_from_limbs(out[:, : f.n_words]) == xs
        assert (out[:, f.n_words :] == 2**64 - 1).all()


def test_moduli_are_those_of_the_curve() -> None:
    assert fp_lanes.FP_LANES.modulus == FP_MODULUS
    assert fr_lanes.FR_LANES.modulus == FR_MODULUS
    assert [f.field.lift for f in FIELDS.values()] == [32, 4]

"""Batched affine additions against py_ecc, in both bodies: every pair that an attacker can make, in every place of a batch."""

from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py_ecc.optimized_bls12_381.optimized_curve import G1, Z1, add, multiply, neg

from bonsai_verifier.kernels import cpu, g1, msm
from bonsai_verifier.kernels.buckets import MAX_POOL_ROWS, NONE
from bonsai_verifier.parameters import FR_MODULUS, G1_COFACTOR
from tests.verifier.kernels.test_g1 import Point, affine, from_affine, on_curve, same

Words = np.ndarray[Any, Any]
pytestmark = pytest.mark.usefixtures("body")


@pytest.fixture
def adder(body: str) -> ModuleType:
    return msm.adder()


def test_each_body_is_the_module_of_its_name(body: str) -> None:
    assert msm.adder().__name__.endswith("affine_lanes" if body == cpu.VECTOR else "affine")


@cache
def some_points() -> tuple[list[Point], Words]:
    """Points of G1, of order 3, of the cofactor's, of both; opposites and neighbours of each other among them.  None is infinity."""
    torsion, outside = on_curve(0), on_curve(5)
    cofactor = multiply(outside, FR_MODULUS)
    chosen = [multiply(G1, k) for k in range(1, 9)]
    chosen += [neg(chosen[0]), neg(chosen[3]), torsion, neg(torsion), outside, neg(outside), cofactor, add(torsion, G1)]
    return chosen, affine(chosen)


@cache
def sum_words(i: int, j: int, opposite: int) -> tuple[bool, bytes]:
    """Whether P_i +- P_j is infinity, and its words."""
    chosen, _ = some_points()
    total = add(chosen[i], neg(chosen[j]) if opposite else chosen[j])
    return total[2].n == 0, affine([total]).tobytes()


def run_pairs(
    adder: ModuleType, pairs: list[tuple[int, int, int]], in_place: int, scratch: Any = None
) -> tuple[Words, Words]:
    """Each pair (i, j, opposite) on copies of its own points -> sums as words, with the sign of D; and what is reported infinite.

    in_place: 0 a fresh row, 1 over the first, 2 over the second point.
    """
    _, words = some_points()
    n = len(pairs)
    pool = adder.new_pool(3 * n + 1)
    order = np.array([index for i, j, _ in pairs for index in (i, j)], np.intp)
    absent = np.empty(2 * n, np.bool_)
    adder.put_points(pool, 0, np.ascontiguousarray(words[order]), absent)
    assert not absent.any()
    table = np.full((4, n + adder.SPARE_COLUMNS), -7, np.int32)
    for k, (_, _, opposite) in enumerate(pairs):
        row = (2 * n + k, 2 * k, 2 * k + 1)[in_place]
        table[:3, k] = 4 * k, 2 * (2 * k + 1) + opposite, 2 * row + k % 2
    infinite = np.full(n + adder.SPARE_COLUMNS, 9, np.uint8)
    adder.add_pairs(pool, table, infinite, n, adder.scratch() if scratch is None else scratch)
    assert (infinite[n:] == 9).all()
    out = np.empty((n, 12), np.uint64)
    adder.take_points(out, pool, np.ascontiguousarray(table[2, :n]))
    untouched = np.empty((2 * n, 12), np.uint64)
    adder.take_points(untouched, pool, np.arange(0, 4 * n, 2, dtype=np.int32))
    mine = np.arange(2 * n) % 2 == in_place - 1
    assert np.array_equal(untouched[~mine], words[order][~mine])
    return out, infinite[:n]


def check(pairs: list[tuple[int, int, int]], sums: Words, infinite: Words) -> None:
    for k, ((i, j, opposite), got) in enumerate(zip(pairs, sums, strict=True)):
        is_infinite, expected = sum_words(i, j, opposite)
        assert bool(infinite[k]) == is_infinite
        if not is_infinite:
            signed = got[None].copy()
            if k % 2:
                g1.g1_neg_many(signed, got[None].copy())
            assert signed.tobytes() == expected


@pytest.mark.parametrize("in_place", [0, 1, 2])
def test_every_pair_of_points(adder: ModuleType, in_place: int) -> None:
    n = len(some_points()[0])
    pairs = [(i, j, opposite) for i in range(n) for j in range(n) for opposite in (0, 1)]
    check(pairs, *run_pairs(adder, pairs, in_place))


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15), st.integers(0, 1)), min_size=1, max_size=40),
    st.integers(0, 2),
)
def test_mixtures_in_any_order(body: str, pairs: list[tuple[int, int, int]], in_place: int) -> None:
    check(pairs, *run_pairs(msm.adder(), pairs, in_place))


def test_all_pairs_cancel_or_all_are_doublings(adder: ModuleType) -> None:
    for opposite in (0, 1):
        pairs = [(k % 16, k % 16, opposite) for k in range(37)]
        check(pairs, *run_pairs(adder, pairs, 1))


@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_batches_meet_without_a_seam(adder: ModuleType, shift: int) -> None:
    """More pairs than one inversion serves, with special ones at the ends of batches and of steps."""
    n = 2 * adder.BATCH + shift
    pairs = [(k % 7, 7, k % 2) for k in range(n)]
    for k in (0, 7, 8, adder.BATCH - 1, adder.BATCH, adder.BATCH + 1, n - 1):
        pairs[k] = (3, 3, k % 2)
    check(pairs, *run_pairs(adder, pairs, shift % 3))


def test_scratch_of_an_earlier_call_does_not_matter(adder: ModuleType) -> None:
    scratch = adder.scratch()
    scratch[:] = 2**64 - 1
    for n in (1, 50, 9, 1):
        pairs = [(k % 16, (k + n) % 16, k % 2) for k in range(n)]
        check(pairs, *run_pairs(adder, pairs, 0, scratch))


def test_no_pair_is_none(adder: ModuleType) -> None:
    pool = adder.new_pool(2)
    adder.add_pairs(pool, np.zeros((4, adder.SPARE_COLUMNS + 1), np.int32), np.zeros(1, np.uint8), 0, adder.scratch())


def test_a_pool_has_no_more_rows_than_names(adder: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checked before anything is taken: the pool itself would be of 100 gigabytes."""
    assert np.iinfo(np.int32).max == 2 * (MAX_POOL_ROWS - 1) + 1
    monkeypatch.setattr(adder, "MAX_POOL_ROWS", 40)
    assert len(adder.new_pool(40 - adder.SPARE_ROWS)) == 40
    with pytest.raises(ValueError, match="have names"):
        adder.new_pool(41 - adder.SPARE_ROWS)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 40])
def test_points_come_back_as_they_were_put(adder: ModuleType, n: int) -> None:
    chosen, _ = some_points()
    mixed = [chosen[i % 16] if i % 5 != 3 else Z1 for i in range(n)]
    pool, absent = adder.new_pool(n + 4), np.empty(n, np.bool_)
    points = affine(mixed) if n else np.empty((0, 12), np.uint64)
    adder.put_points(pool, 2, points, absent)
    assert absent.tolist() == [i % 5 == 3 for i in range(n)]
    names = np.array([NONE if absent[i] else 2 * (i + 2) + i % 2 for i in range(n)], np.int32)
    out = np.full((n, 12), 7, np.uint64)
    adder.take_points(out, pool, names)
    expected = [neg(p) if i % 2 and not absent[i] else p for i, p in enumerate(mixed)]
    assert all(same(p, q) for p, q in zip(from_affine(out), expected, strict=True))
    for i in np.flatnonzero(absent):
        assert not out[i].any()


def test_long_chains_stay_exact(adder: ModuleType) -> None:
    """A row that is summed over and over: coordinates do not drift out of their bounds."""
    pool, absent = adder.new_pool(8), np.empty(2, np.bool_)
    adder.put_points(pool, 0, affine([G1, multiply(G1, 3)]), absent)
    scratch, infinite = adder.scratch(), np.empty(1 + adder.SPARE_COLUMNS, np.uint8)
    for k in range(200):
        table = np.zeros((4, 1 + adder.SPARE_COLUMNS), np.int32)
        table[:3, 0] = 0, 2 + k % 3 % 2, 0
        adder.add_pairs(pool, table, infinite, 1, scratch)
    out = np.empty((1, 12), np.uint64)
    adder.take_points(out, pool, np.zeros(1, np.int32))
    total = 1 + sum(-3 if k % 3 % 2 else 3 for k in range(200))
    assert same(from_affine(out)[0], multiply(G1, total))


def test_the_cofactor_is_odd_so_no_point_is_its_own_opposite() -> None:
    assert G1_COFACTOR % 2 == 1

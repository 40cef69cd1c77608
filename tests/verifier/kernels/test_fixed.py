"""Sums over points known beforehand: their digits, their multiples and their sums, against integers, the general sums and py_ecc."""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from py_ecc.optimized_bls12_381.optimized_curve import G1, Z1, multiply

from bonsai_verifier.field import limbs_from_ints
from bonsai_verifier.kernels import fixed, msm
from bonsai_verifier.kernels.fixed import FixedPoints, Windows, choose_windows, is_windows, multiples
from bonsai_verifier.parameters import FR_MODULUS
from tests.verifier.kernels.test_g1 import affine, from_affine, on_curve, same

Words = np.ndarray[Any, Any]
pytestmark = pytest.mark.usefixtures("body")
R = FR_MODULUS
EDGES = [0, 1, 2, R - 1, R - 2, R // 2, R // 2 + 1, R // 2 - 1, 2**254, 2**128, 2**64 - 1, R - 2**64, R - 2**15, 2**15]
CHOICES = [Windows(5, 1), Windows(5, 7), Windows(8, 4), Windows(13, 1), Windows(15, 2), Windows(16, 1), Windows(16, 16)]


@cache
def points(n: int) -> Words:
    """Multiples of the generator, among them equal, opposite and infinite ones."""
    rng = random.Random(n)
    scalars = [rng.randrange(R) for _ in range(n)]
    scalars[1::7] = [3] * len(scalars[1::7])
    scalars[2::7] = [R - 3] * len(scalars[2::7])
    scalars[5::31] = [0] * len(scalars[5::31])
    out = msm.g1_fixed_base_many(affine([G1]), limbs_from_ints(scalars, 4))
    out.flags.writeable = False
    return out


def scalars_of(n: int, seed: int) -> list[int]:
    rng = random.Random(seed)
    draws: list[Callable[[], int]] = [
        lambda: rng.randrange(R),
        lambda: rng.randrange(2),
        lambda: rng.choice(EDGES),
        lambda: R - 1 - rng.randrange(2**20),
    ]
    return [rng.choice(draws)() for _ in range(n)]


def tables(those: Words, windows: Windows) -> list[Words]:
    return [those, *multiples(those, windows)]


# Windows and digits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", range(5, 17))
@pytest.mark.parametrize("seed", range(3))
def test_digits_are_small_and_make_the_scalar_or_that_less_r(bits: int, seed: int) -> None:
    windows = Windows(bits, 1)
    scalars = EDGES + scalars_of(50, seed)
    absent = np.zeros(len(scalars), np.bool_)
    digits, counts = np.empty((windows.count, len(scalars)), np.int16), np.zeros(windows.count, np.int64)
    fixed._write_digits(digits, counts, limbs_from_ints(scalars, 4), absent, *fixed._offsets(windows), bits)
    assert counts.tolist() == np.count_nonzero(digits, axis=1).tolist()
    for k, column in zip(scalars, digits.T.tolist(), strict=True):
        assert all(-(1 << (bits - 1)) <= d <= 1 << (bits - 1) for d in column)
        assert -sum(d << (bits * w) for w, d in enumerate(column)) == (k if k <= R // 2 else k - R)
        nearest = min(k, R - k)
        if nearest < 1 << (bits - 1):
            assert np.count_nonzero(column) == (nearest > 0)
    absent[:] = True
    fixed._write_digits(digits, counts, limbs_from_ints(scalars, 4), absent, *fixed._offsets(windows), bits)
    assert not digits.any()


def test_windows_hold_every_scalar() -> None:
    """The highest digit of what is below r/2 in magnitude fits; one window fewer would not do."""
    for bits in range(5, 17):
        w = Windows(bits, 1).count
        ones = sum(1 << (bits * k) for k in range(w))
        assert R // 2 + (ones << (bits - 1)) < 1 << (bits * w)
        assert R // 2 + ((ones - (1 << (bits * (w - 1)))) << (bits - 1)) >= 1 << (bits * (w - 1))


@given(
    lengths=st.lists(st.integers(0, 10**6), min_size=1, max_size=3),
    memory=st.integers(0, 2**33),
    fewer=st.integers(0, 20),
)
def test_windows_are_those_of_least_cost_that_fit(lengths: list[int], memory: int, fewer: int) -> None:
    w = choose_windows(lengths, memory)
    assert is_windows(*w)
    assert w.multiples == 1 or sum(lengths) * w.multiples * fixed.ROW_BYTES <= memory
    assert w.multiples * w.sets >= w.count > (w.multiples - 1) * w.sets
    used = w.at_most(fewer)
    assert used.multiples <= max(1, fewer)
    assert used.count == w.count
    step, rest = divmod(used.sets, w.sets)
    assert used.multiples == 1 or (rest == 0 and used.multiples == len(range(0, w.multiples, step)))


def test_more_memory_is_never_slower() -> None:
    lengths = [38_500, 58_500]
    costs = [fixed.cost_of(choose_windows(lengths, mib << 20), lengths) for mib in (0, 16, 32, 64, 128, 256, 512)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > 1.15 * costs[-1]


@pytest.mark.parametrize("wrong", [(4, 1), (17, 1), (16, 0), (16, 17), (True, 1), (8.0, 1), (8, "1"), (None, 1)])
def test_no_windows_are_told(wrong: tuple[object, object]) -> None:
    assert not is_windows(*wrong)


# Multiples -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 100])
def test_multiples_are_those_of_the_points(n: int) -> None:
    windows = Windows(16, 5)
    found = list(multiples(points(n), windows))
    assert len(found) == windows.multiples - 1 == 3
    for j, row in enumerate(found):
        power = limbs_from_ints([1 << windows.spacing * (j + 1)], 4)
        for p, q in zip(points(n), row, strict=True):
            assert np.array_equal(msm.g1_msm(p[None], power), q)


def test_points_are_doubled_wherever_they_lie_on_the_curve_and_in_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    those = affine([G1, on_curve(0), on_curve(5), multiply(G1, 3), Z1] * 5)
    for chunk in (1, 3, 8, 1 << 13):
        monkeypatch.setattr(fixed, "_CHUNK", chunk)
        (row,) = multiples(those, Windows(16, 15))
        for p, q in zip(from_affine(those), from_affine(row), strict=True):
            assert same(q, multiply(p, 2**240))


def test_more_points_than_a_batch_are_doubled() -> None:
    body = msm.adder()
    n = body.BATCH * 2 + 5
    those = np.concatenate([points(60)[6:36]] * (n // 30 + 1))[:n]
    pool, names = body.new_pool(n + 2), 2 * np.arange(n + 2, dtype=np.int32)
    for first in (0, 2):
        body.put_points(pool, first, np.ascontiguousarray(those), np.empty(n, np.bool_))
    before, after = np.empty((n + 2, 12), np.uint64), np.empty((n + 2, 12), np.uint64)
    body.take_points(before, pool, names)
    body.double_rows(pool, 1, n, body.scratch())
    body.take_points(after, pool, names)
    assert np.array_equal(before[[0, -1]], after[[0, -1]])
    two = limbs_from_ints([2], 4)
    for i in [*range(1, 12), body.BATCH, body.BATCH + 1, *range(n - 9, n + 1)]:
        assert np.array_equal(after[i], msm.g1_msm(before[i : i + 1], two))


# Sums ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("windows", CHOICES)
def test_sums_equal_the_general_ones(windows: Windows) -> None:
    first, second = points(300), points(41)
    of = FixedPoints([300, 41], [tables(first, windows), tables(second, windows)], windows)
    for seed in range(2):
        for which, those in ((0, first), (1, second)):
            for n in (len(those), 17, 1, 0):
                scalars = limbs_from_ints(scalars_of(n, seed), 4)
                assert np.array_equal(of.sum(which, scalars), msm.g1_msm(those[:n], scalars))


@pytest.mark.parametrize("k", EDGES)
def test_one_scalar_for_all_points(k: int) -> None:
    windows = Windows(8, 4)
    those = points(100)
    of = FixedPoints([100], [tables(those, windows)], windows)
    scalars = limbs_from_ints([k] * 100, 4)
    assert np.array_equal(of.sum(0, scalars), msm.g1_msm(those, scalars))


def test_sums_that_cancel_are_infinity() -> None:
    windows = Windows(16, 4)
    those = affine([G1] * 6)
    of = FixedPoints([6], [tables(those, windows)], windows)
    assert not of.sum(0, limbs_from_ints([5, R - 5, 2**200, R - 2**200, 0, 0], 4)).any()
    assert not of.sum(0, limbs_from_ints([0] * 6, 4)).any()


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("rooms", [1, 2])
def test_jobs_share_a_sum(threads: int, rooms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also more jobs than rooms, and several sums at once."""
    monkeypatch.setattr(fixed, "_LEAST_JOB", 1)
    windows = Windows(8, 4)
    those = points(300)
    of = FixedPoints([300], [tables(those, windows)], windows, rooms)
    all_scalars = [limbs_from_ints(scalars_of(n, n), 4) for n in (300, 299, 5, 1, 0)]
    all_scalars.append(np.zeros((300, 4), np.uint64))
    expected = [msm.g1_msm(those[: len(k)], k) for k in all_scalars]
    with ThreadPoolExecutor(threads) as pool:
        for k, total in zip(all_scalars, expected, strict=True):
            for jobs in (1, 2, 3, 7):
                assert np.array_equal(of.sum(0, k, jobs=jobs, run=pool.map), total)
        for _ in range(3):
            assert np.array_equal(list(pool.map(lambda k: of.sum(0, k, jobs=2), all_scalars)), expected)


def test_a_job_that_fails_gives_its_room_back(monkeypatch: pytest.MonkeyPatch) -> None:
    windows = Windows(8, 4)
    those = points(20)
    of = FixedPoints([20], [tables(those, windows)], windows)
    scalars = limbs_from_ints(scalars_of(20, 1), 4)
    with monkeypatch.context() as patch:
        patch.setattr(fixed.buckets, "plane_sums", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            of.sum(0, scalars)
    assert np.array_equal(of.sum(0, scalars), msm.g1_msm(those, scalars))


def test_rooms_that_an_interrupt_kept_are_found_again() -> None:
    """It came after a room was taken and before it was given back."""

    class Stuck(dict[int, int]):
        def pop(self, *_: Any) -> Any:
            raise KeyboardInterrupt

    windows = Windows(8, 4)
    those = points(20)
    of = FixedPoints([20], [tables(those, windows)], windows, 2)
    scalars = limbs_from_ints(scalars_of(20, 1), 4)
    for _ in range(3):
        of._owners = Stuck(of._owners)
        with pytest.raises(KeyboardInterrupt):
            of.sum(0, scalars)
        of._owners = dict(of._owners)
    assert of._owners
    with ThreadPoolExecutor(1) as pool:  # another thread has a room left
        assert np.array_equal(pool.submit(of.sum, 0, scalars).result(), of.sum(0, scalars))
    assert np.array_equal(of.sum(0, scalars), msm.g1_msm(those, scalars))
    assert not of._owners


def test_points_at_infinity_are_told() -> None:
    those = points(100)
    windows = Windows(16, 16)
    of = FixedPoints([100], [[those]], windows)
    assert np.array_equal(of.absent[0], ~those.any(axis=1))
    assert of.absent[0].any()


def test_other_numbers_of_points_scalars_and_multiples_are_refused() -> None:
    windows = Windows(16, 4)
    those = points(20)
    of = FixedPoints([20], [tables(those, windows)], windows)
    with pytest.raises(ValueError, match="20 points for 21 scalars"):
        of.sum(0, limbs_from_ints([1] * 21, 4))
    for wrong in ([those], tables(those, Windows(16, 2))):
        with pytest.raises(ValueError, match=r"shorter|longer"):
            FixedPoints([20], [wrong], windows)
    with pytest.raises(ValueError, match="points"):
        FixedPoints([19], [tables(those, windows)], windows)


def test_a_job_that_is_done_helps_where_that_is_worth_its_buckets() -> None:
    pieces = [fixed._Piece(k // 10, 0, slice(0, 5), k, 5) for k in range(20)]
    for set_cost, helped in ((0, 5), (24, 5), (25, 0)):
        slow, fast = shares = fixed._shares(pieces, 2, set_cost)
        assert [piece.window for piece in slow] == list(range(10))
        by_slow = fixed._taken(slow, shares, set_cost)
        first = [next(by_slow).window for _ in range(5)]  # 25 additions are left there
        by_fast = [piece.window for piece in fixed._taken(fast, shares, set_cost)]
        assert by_fast == [*range(10, 20), *range(9, 9 - helped, -1)]
        assert first + [piece.window for piece in by_slow] == list(range(10 - helped))


def test_the_longest_share_is_as_short_as_can_be() -> None:
    assert fixed._cuts([45, 40], 2, 0) == [43]
    assert fixed._cuts([45, 40], 2, 6) == [45]
    assert fixed._cuts([45, 40], 2, 4) == [45]
    assert fixed._cuts([50, 20], 2, 4) == [37]
    assert fixed._cuts([], 2, 3) == [0]
    assert fixed._cuts([7], 1, 3) == []
    rng = random.Random(6)
    for _ in range(300):
        sets = [rng.randrange(12) for _ in range(rng.randrange(1, 4))]
        jobs, cost = rng.randrange(1, 4), rng.randrange(5)
        owner = [i for i, n in enumerate(sets) for _ in range(n)]

        def longest(cuts: tuple[int, ...], owner: list[int] = owner, cost: int = cost) -> int:
            parts = [owner[a:b] for a, b in pairwise([0, *cuts, len(owner)])]
            return max(len(part) + cost * len(set(part)) for part in parts)

        found = fixed._cuts(sets, jobs, cost)
        assert longest(tuple(found)) == min(
            map(longest, combinations_with_replacement(range(len(owner) + 1), jobs - 1))
        )

"""The schedule of sums by buckets, over integers in place of points: a body that adds them shows every pair that it is given."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_verifier.field import limbs_from_ints
from bonsai_verifier.kernels import buckets, msm
from tests.reference.groups import Group, signed_digits

INTEGERS: Group[int] = Group(0, lambda a, b: a + b, lambda a: -a)


class Integers:
    """A body whose points are integers other than 0; it refuses what no body may be given."""

    SPARE_COLUMNS = 0

    def __init__(self, values: list[int], n_slots: int) -> None:
        self.pool: list[int | None] = [*values, *[None] * n_slots]
        self.n_points, self.pairs, self.rounds = len(values), 0, 0

    def scratch(self) -> None:
        return None

    def value(self, name: int) -> int:
        x = self.pool[name >> 1]
        assert x is not None, "a row without a point is read"
        return -x if name & 1 else x

    def add_pairs(self, pool: Any, pairs: Any, infinite: Any, n: int, scratch: None) -> None:
        columns = [tuple(int(x) for x in pairs[:, i]) for i in range(n)]
        written = [d >> 1 for _, _, d, _ in columns]
        assert len(set(written)) == n, "two pairs write to one row"
        assert min(written, default=self.n_points) >= self.n_points, "a point is written over"
        readers = Counter(name >> 1 for a, b, _, _ in columns for name in (a, b))
        for a, b, d, _ in columns:
            assert a & 1 == 0, "the sign of the first is taken out"
            assert readers[d >> 1] == (d >> 1 in (a >> 1, b >> 1)), "a pair writes what another reads"
        sums = [self.value(a) + self.value(b) for a, b, _, _ in columns]
        for i, (x, row) in enumerate(zip(sums, written, strict=True)):
            infinite[i] = x == 0
            self.pool[row] = x or None
        self.pairs += n
        self.rounds += 1

    def take_points(self, out: Any, pool: Any, names: Any) -> None:
        out[:] = 0
        for i, name in enumerate(names):
            value = self.value(int(name)) if name != buckets.NONE else 0
            out[i, 0] = value % 2**64


def planes_of(
    values: list[int], digits: list[list[int]], segments: list[tuple[int, int, int]], c: int
) -> tuple[Any, Integers]:
    """What plane_sums makes of integers; digits by rows, not negated."""
    body = Integers(values, buckets.slots(len(segments), c))
    work = buckets.Workspace(body, len(segments), c, len(values))
    table = -np.array(digits, np.int64).reshape(len(digits), -1)
    parts = [np.array([(*segment, 0, i)], np.int64) for i, segment in enumerate(segments)]
    out = buckets.plane_sums(body, None, table.astype(np.int16), parts, c, work, len(segments))
    return out[:, :, 0].astype(np.int64), body


def test_segments_may_share_a_set_of_buckets_and_begin_in_any_column() -> None:
    """Two sets; points 0 .. 4 with row 0 from column 1 on in set 1, 3 .. 6 with row 1 in set 0, 0 .. 2 with row 2 from 2 on in set 1."""
    c, values = 4, [1, 10, 100, 1000, 10**4, 10**5, 10**6]
    digits = [[8, 1, -7, 3, 3, 0], [-7, 8, 1, 5, 8, 8], [8, 8, 3, 3, -3, 8]]
    segments = [(0, 5, 0, 1, 1), (3, 4, 1, 0, 0), (0, 3, 2, 2, 1)]
    body = Integers(values, buckets.slots(2, c))
    work = buckets.Workspace(body, 2, c, len(values))
    table = (-np.array(digits)).astype(np.int16)
    planes = buckets.plane_sums(body, None, table, [np.array(segments, np.int64)], c, work, 2)[:, :, 0].astype(np.int64)
    expected = [[0] * c for _ in range(2)]
    for first, count, row, column, which in segments:
        for i in range(count):
            d = digits[row][column + i]
            for b in range(c):
                expected[which][b] += (abs(d) >> b & 1) * (1 if d > 0 else -1) * values[first + i]
    assert planes.tolist() == expected


@settings(max_examples=60)
@given(st.data())
def test_planes_equal_their_definition(data: st.DataObject) -> None:
    c = data.draw(st.integers(2, 6))
    n = data.draw(st.integers(0, 40))
    values = data.draw(st.lists(st.integers(-3, 3).filter(bool), min_size=n, max_size=n))  # many cancel
    half = 1 << (c - 1)
    rows = data.draw(st.lists(st.lists(st.integers(1 - half, half), min_size=n, max_size=n), min_size=1, max_size=3))
    segments = []
    for _ in range(data.draw(st.integers(1, 4))):
        first = data.draw(st.integers(0, n))
        segments.append((first, data.draw(st.integers(0, n - first)), data.draw(st.integers(0, len(rows) - 1))))
    got, body = planes_of(values, rows, segments, c)
    for (first, count, row), planes in zip(segments, got, strict=True):
        points, digits = values[first : first + count], rows[row][:count]
        assert [INTEGERS.plane(points, digits, b) for b in range(c)] == planes.tolist()
    assert body.pairs <= sum(count for _, count, _ in segments) + len(segments) * half


@pytest.mark.parametrize("digit", [1, -1, 8, -7])
def test_one_bucket_of_many_points_keeps_rounds_full(digit: int) -> None:
    n = 3 * buckets.ROUND
    rng = np.random.default_rng(1)
    values = rng.integers(1, 1000, n).tolist()
    got, body = planes_of(values, [[digit] * n], [(0, n, 0)], 4)
    assert sum(x << b for b, x in enumerate(got[0].tolist())) == digit * sum(values)
    assert body.pairs < n
    assert body.rounds < 30


def test_points_that_cancel_leave_nothing() -> None:
    n = 1000
    got, body = planes_of([5] * n, [[3, -3] * (n // 2)], [(0, n, 0)], 3)
    assert not got.any()
    assert body.pairs == n // 2


def test_slots_suffice_with_every_bucket_taken() -> None:
    """All digits of two segments over and over, in rounds that are full: a slot that is taken twice would be seen by the body."""
    c = 9
    half = 1 << (c - 1)
    rng = np.random.default_rng(2)
    digits = np.tile(np.arange(1 - half, half + 1), 60)
    values = rng.integers(1, 2**40, len(digits)).tolist()
    rows = [rng.permutation(digits).tolist() for _ in range(2)]
    got, body = planes_of(values, rows, [(0, len(values), 0), (0, len(values), 1)], c)
    for row, planes in zip(rows, got, strict=True):
        assert sum(int(x) << b for b, x in enumerate(planes)) == sum(d * v for d, v in zip(row, values, strict=True))
    assert body.rounds > 2 * len(values) // buckets.ROUND


@given(st.lists(st.integers(0, 2**256 - 1), max_size=20), st.integers(2, 16))
def test_digits_equal_their_definition(scalars: list[int], c: int) -> None:
    bits = max((k.bit_length() for k in scalars), default=0)
    n_windows = msm._n_windows(bits, c)
    digits, first = msm._digits(
        [limbs_from_ints(scalars, 4)], [n_windows], c, [(0, 0)], [np.zeros(len(scalars), np.bool_)]
    )
    assert first == [0]
    assert digits.shape == (n_windows, len(scalars))
    for k, column in zip(scalars, digits.T, strict=True):
        assert [-int(d) for d in column] == signed_digits(k, c, n_windows)


def test_edges_of_digits_fit() -> None:
    for c in range(2, 17):
        top = sum(1 << (c * w + c - 1) for w in range(256 // c))  # every digit 2^(c-1), the largest
        test_digits_equal_their_definition.hypothesis.inner_test([0, 1, top, 2**256 - 1, 2**255, 2**255 - 1], c)

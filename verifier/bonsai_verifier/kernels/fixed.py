"""Sums of multiples of points known beforehand: sum k_i P_i in G1, from tables of 2^(sj) P_i.

A scalar has W = ceil(255/c) signed digits of c bits.  With s = c g, digit g j + i of k stands at 2^(ci) of the point 2^(sj) P, so the
digits of all j fall into the buckets of i: g sets of buckets in place of W, for M = ceil(W/g) rows of memory a point.

    sum_n k_n P_n = sum_(i < g) 2^(ci) sum_m m B_(i,m),     B_(i,m) = the sum of +-2^(sj) P_n over the digits +-m of windows g j + i

Points are of order r, so k and k - r give one multiple, and whichever is below r/2 in magnitude is taken.  Then 0 costs nothing, and
1, -1 and other numbers of c bits one addition.

Digits without a carry chain, as in msm.py: for k <= r/2 those of k + sum_w (2^(c-1) - 1) 2^(cw), less 2^(c-1) - 1; for the others those of
r - k + sum_w 2^(c-1) 2^(cw), less 2^(c-1), with the other sign.  What is stored is the digit with its sign changed, in [-2^(c-1), 2^(c-1)).
W windows hold them: r/2 < 0.91 2^254, and the offset is below (1 + 2^(1-c)) 2^(cW - 1).
"""

import time
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, groupby
from threading import get_ident
from typing import NamedTuple

import numpy as np

from ..parameters import FR_MODULUS
from . import buckets
from .cache import kernel
from .fr import FR_WORDS
from .g1 import G1_AFFINE_WORDS
from .limbs import rows, words
from .msm import Array, Run, adder, g1_total, joined

SCALAR_BITS = 255
ROW_BYTES = 128  # of a point in the vector body's form; portable: 96
_MIN_WINDOW, _MAX_WINDOW = 5, buckets.MAX_WINDOW
_CHUNK = 1 << 13  # points taken into memory at a time
_PARTS = 4  # into which the digits of a window are cut for each job, so that shares are nearly equal, and what is taken over small
_WAIT_S = 0.001  # for a room
_LEAST_JOB = 1 << 15  # additions that are worth a thread and buckets of its own
# What an addition takes of the time that it takes with fewer buckets: measured on the vector body, in tables beyond the cache
_OUT_OF_CACHE = {15: 1.06, 16: 1.12}
_ZERO, _ONE, _SIXTY_FOUR = np.uint64(0), np.uint64(1), np.uint64(64)
_ORDER, _HALF = words(FR_MODULUS, FR_WORDS), words(FR_MODULUS >> 1, FR_WORDS)


class Windows(NamedTuple):
    """c and g of the module."""

    bits: int
    sets: int

    @property
    def count(self) -> int:
        """W."""
        return -(-SCALAR_BITS // self.bits)

    @property
    def multiples(self) -> int:
        """M."""
        return -(-self.count // self.sets)

    @property
    def spacing(self) -> int:
        """s."""
        return self.bits * self.sets

    def at_most(self, multiples: int) -> "Windows":
        """The same digits with every t-th of the multiples, for the least t that leaves at most so many (but one)."""
        step = -(-self.multiples // max(1, multiples))
        return Windows(self.bits, min(self.sets * step, self.count))


def is_windows(bits: object, sets: object) -> bool:
    """These make a Windows that sums can be taken with."""
    whole = all(isinstance(x, int) and not isinstance(x, bool) for x in (bits, sets))
    return whole and _MIN_WINDOW <= bits <= _MAX_WINDOW and 1 <= sets <= -(-SCALAR_BITS // bits)  # type: ignore[operator]


def choose_windows(lengths: Sequence[int], memory: int) -> Windows:
    """The windows of least cost for sums of so many points each, whose tables take at most `memory` bytes, or one row a point."""
    n = sum(lengths)
    choices = [Windows(c, g) for c in range(_MIN_WINDOW, _MAX_WINDOW + 1) for g in range(1, -(-SCALAR_BITS // c) + 1)]
    fitting = [w for w in choices if w.multiples == 1 or n * w.multiples * ROW_BYTES <= memory]
    return min(fitting, key=lambda w: (cost_of(w, lengths), w.multiples))


def cost_of(w: Windows, lengths: Sequence[int]) -> float:
    """Additions of sums of so many points: one for each digit, and 2^(c-1) for each set of buckets; those of many buckets count more."""
    additions = sum(lengths) * w.count + len(lengths) * (w.sets << (w.bits - 1))
    return additions * _OUT_OF_CACHE.get(w.bits, 1.0)


def multiples(points: Array, windows: Windows) -> Iterator[Array]:
    """2^(sj) P_i as (n, 12), for j = 1 .. M - 1.  In: points (n, 12) on the curve.  Cost: s (M - 1) doublings a point."""
    body = adder()
    points = np.array(points)
    absent = ~points.any(axis=1)
    names = 2 * np.arange(len(points), dtype=np.int32)
    pool, scratch = body.new_pool(len(points)), body.scratch()
    some = points[~absent][:1]
    if len(some):
        points[absent] = some[0]  # doubled like the others, and thrown away
    body.put_points(pool, 0, rows(points, G1_AFFINE_WORDS), np.empty(len(points), np.bool_))
    for _ in range(1, windows.multiples):
        out = np.zeros((len(points), G1_AFFINE_WORDS), np.uint64)
        if len(some):
            for at in range(0, len(points), _CHUNK):  # while it is in the cache
                for _ in range(windows.spacing):
                    body.double_rows(pool, at, min(_CHUNK, len(points) - at), scratch)
            body.take_points(out, pool, names)
            out[absent] = 0
        yield out


class FixedPoints:
    """Arrays of points of G1 with their multiples in the form of the body that runs, and rooms in which sums are taken.

    absent[p]: which points of array p are infinity.  Threads may share it: a sum waits for a room.  A child forked amid a sum may not:
    it finds rooms taken, for ever.
    Memory: 128 bytes (portable: 96) for each of M rows a point; a room, where it is used, 5/2 g 2^(c-1) + 2^13 such rows.
    """

    def __init__(
        self, lengths: Sequence[int], tables: Sequence[Iterable[Array]], windows: Windows, rooms: int = 1
    ) -> None:
        """tables[p] gives M arrays (lengths[p], 12), affine: 2^(sj) P for j = 0, 1, ..  They are copied, one after the other."""
        self.windows, self.lengths = windows, list(lengths)
        self._body = body = adder()
        *self._firsts, end = 0, *accumulate(n * windows.multiples for n in self.lengths)
        room = buckets.slots(windows.sets, windows.bits)
        self._pool = body.new_pool(end + rooms * room)
        self.absent = [np.zeros(n, np.bool_) for n in self.lengths]
        for table, first, absent in zip(tables, self._firsts, self.absent, strict=True):
            for j, points in zip(range(windows.multiples), table, strict=True):
                if len(points) != len(absent):
                    raise ValueError(f"{len(points)} points where there should be {len(absent)}")
                for at in range(0, len(points), _CHUNK):
                    part = rows(points[at : at + _CHUNK], G1_AFFINE_WORDS)
                    flags = np.empty(len(part), np.bool_)
                    body.put_points(self._pool, first + j * len(points) + at, part, flags)
                    absent[at : at + len(part)] |= flags
        self._rooms: list[buckets.Workspace | int] = [end + i * room for i in range(rooms)]
        self._owners: dict[int, int] = {}  # of rooms: threads

    def sum(self, p: int, scalars: Array, *, jobs: int = 1, run: Run = map) -> Array:
        """sum_i k_i P_i for array p, (12,) affine.  In: scalars (n, 4) below r, no more than there are points.

        jobs: in how many parts `run` may take the sum, each with buckets of its own.  Variable time in the scalars.
        """
        scalars = rows(scalars, FR_WORDS)
        n, w = len(scalars), self.windows
        if n > self.lengths[p]:
            raise ValueError(f"{self.lengths[p]} points for {n} scalars")
        jobs = max(1, min(jobs, n * w.count // _LEAST_JOB))
        size = max(1, -(-n // (_PARTS * jobs if jobs > 1 else 1)))
        parts = [slice(start, min(start + size, n)) for start in range(0, n, size)]
        digits, counts = np.empty((w.count, n), np.int16), np.zeros((len(parts), w.count), np.int64)
        offsets = _offsets(w)

        def write(j: int) -> None:
            for part, count in zip(parts[j::jobs], counts[j::jobs], strict=True):
                _write_digits(digits[:, part], count, scalars[part], self.absent[p][part], *offsets, w.bits)

        list(run(write, range(jobs)))
        pieces = [
            _Piece(k % w.sets, self._firsts[p] + k // w.sets * self.lengths[p] + part.start, part, k, int(count[k]))
            for k in sorted(range(w.count), key=lambda k: k % w.sets)  # set by set, so that few are in two shares
            for part, count in zip(parts, counts, strict=True)
            if count[k]
        ]
        set_cost = 1 << (w.bits - 1)  # as cost_of counts
        shares = _shares(pieces, jobs, set_cost)

        def job(share: deque[_Piece]) -> Array:
            try:
                return self._job(digits, _taken(share, shares, set_cost))
            except BaseException:
                for other in shares:
                    other.clear()  # what the others would take over
                raise

        return g1_total(list(run(job, shares)))

    def _job(self, digits: Array, pieces: "Iterable[_Piece]") -> Array:
        """The sum over these."""
        bits, sets = self.windows
        segments = (
            np.array([[x.first, x.part.stop - x.part.start, x.window, x.part.start, x.set]], np.int64) for x in pieces
        )
        with self._room() as work:
            planes = buckets.plane_sums(self._body, self._pool, digits, segments, bits, work, sets)
        return joined(planes.reshape(-1, G1_AFFINE_WORDS))

    @contextmanager
    def _room(self) -> Iterator[buckets.Workspace]:
        """A room for this thread alone.  First it gives back what an interrupt kept it from giving back before."""
        thread, at = get_ident(), 0
        for kept in range(len(self._rooms)):
            if self._owners.get(kept) == thread:
                self._owners.pop(kept)
        while self._owners.setdefault(at, thread) != thread:  # in one step: taken, or another's
            at += 1
            if at == len(self._rooms):
                time.sleep(_WAIT_S)
                at = 0
        try:
            found = self._rooms[at]
            if isinstance(found, int):
                found = self._rooms[at] = buckets.Workspace(self._body, self.windows.sets, self.windows.bits, found)
            yield found
        finally:
            self._owners.pop(at, None)


class _Piece(NamedTuple):
    """Some digits of a window: their set, the row of the pool and the columns that they are for, how many are not 0."""

    set: int
    first: int
    part: slice
    window: int
    additions: int


def _shares(pieces: Sequence[_Piece], jobs: int, set_cost: int) -> list[deque[_Piece]]:
    """The pieces, set by set, in shares for so many jobs."""
    cuts = _cuts([sum(x.additions for x in of_set) for _, of_set in groupby(pieces, lambda x: x.set)], jobs, set_cost)
    shares: list[deque[_Piece]] = [deque() for _ in range(jobs)]
    for piece, before in zip(pieces, accumulate((x.additions for x in pieces), initial=0), strict=False):
        shares[bisect_right(cuts, before + piece.additions // 2)].append(piece)
    return shares


def _taken(own: deque[_Piece], shares: Sequence[deque[_Piece]], set_cost: int) -> Iterator[_Piece]:
    """A job's pieces: its own, then the last ones of the share with most left, for cores are not equally fast.

    It stops where that share has no more left than the buckets of a new set cost.
    """
    sets = set()
    while True:
        share = own or max(shares, key=_additions_left)
        try:
            if share is own:
                piece = share.popleft()
            elif share[-1].set in sets or _additions_left(share) > set_cost:
                piece = share.pop()
            else:
                return
        except IndexError:  # another job took it
            if not any(shares):
                return
            continue
        sets.add(piece.set)
        yield piece


def _additions_left(share: deque[_Piece]) -> int:
    return sum(piece.additions for piece in list(share))  # a copy in one step: another job may take from it meanwhile


def _cuts(sets: Sequence[int], jobs: int, set_cost: int) -> list[int]:
    """After how many additions the shares of a sum end, but for the last, so that the longest is as short as can be.

    sets: the additions of each set, taken one after the other.  set_cost: what a set takes besides in each share that has some of it.
    """
    ends = list(accumulate(sets, initial=0))

    def cuts(limit: int) -> list[int]:
        """Where shares of at most `limit` each end."""
        found, at = [], 0
        for _ in range(jobs):
            left = limit
            while at < ends[-1] and left > set_cost:
                step = min(left - set_cost, ends[bisect_right(ends, at)] - at)
                at, left = at + step, left - set_cost - step
            found.append(at)
        return found

    limits = range(ends[-1] + len(sets) * set_cost + 1)
    return cuts(bisect_left(limits, True, key=lambda limit: cuts(limit)[-1] == ends[-1]))[:-1]


def _offsets(w: Windows) -> tuple[Array, Array]:
    """What is added to k, and to r - k."""
    ones = sum(1 << (w.bits * k) for k in range(w.count))
    half = 1 << (w.bits - 1)
    return words(ones * (half - 1), FR_WORDS + 1), words(ones * half, FR_WORDS + 1)


@kernel
def _write_digits(out, counts, scalars, absent, offset, other_offset, c):
    """Column i of out (W, n) int16 = the digits of k_i, least first, with their signs changed; 0 where absent.

    counts: of each window's digits that are not 0.  First whole numbers, then window by window, as vectors: a stored digit of r - k is
    not only that of k with another offset, but all of its bits are turned.
    """
    n, mask, middle = len(scalars), (_ONE << np.uint64(c)) - _ONE, np.int64((1 << (c - 1)) - 1)
    shifted, turned = np.empty((FR_WORDS + 2, n), np.uint64), np.empty(n, np.int16)
    for i in range(n):
        j = FR_WORDS - 1
        while j > 0 and scalars[i, j] == _HALF[j]:
            j -= 1
        large = scalars[i, j] > _HALF[j] and not absent[i]
        turned[i] = -1 if large else 0
        borrow, carry = _ZERO, _ZERO
        for j in range(FR_WORDS):
            x, a = _ZERO if absent[i] else scalars[i, j], offset[j]
            if large:
                d = _ORDER[j] - x
                a, next_borrow = other_offset[j], _ONE if _ORDER[j] < x or d < borrow else _ZERO
                x, borrow = d - borrow, next_borrow
            s = x + a
            t = s + carry
            carry = _ONE if s < x or t < s else _ZERO
            shifted[j, i] = t
        shifted[FR_WORDS, i] = carry + (other_offset[FR_WORDS] if large else offset[FR_WORDS])
        shifted[FR_WORDS + 1, i] = _ZERO
    for w in range(len(out)):
        word, bit = w * c >> 6, w * c & 63
        digits, low, high, down = out[w], shifted[word], shifted[word + 1], np.uint64(bit)
        up, some = _SIXTY_FOUR - down, np.int64(0)
        for i in range(n):
            x = low[i] >> down
            if bit:
                x |= high[i] << up
            digit = np.int16(middle - np.int64(x & mask)) ^ turned[i]
            digits[i] = digit
            some += np.int64(digit != 0)
        counts[w] = some

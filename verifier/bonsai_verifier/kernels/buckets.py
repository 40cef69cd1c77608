"""Sums by buckets without a sort: which points to add to which, and when.  Points are rows of a pool that nobody here looks into.

A sum sum_i k_i P_i falls into windows of c bits, and each window of each sum is a *segment* here: points first .. first + n - 1 of the
pool with a row of digits of magnitude at most 2^(c-1).  Bucket m of a segment shall get the sum of +-P_i over the digits +-m.  It is a
place where one point can wait.  The next to arrive forms a pair with it and empties the place; the sum of the pair arrives at the same
place in a later round.  So the pairs of a round are independent, and one inversion serves thousands (affine.py).  A bucket of thousands
of points fills the rounds as thousands of buckets do: equal scalars cost what random ones do.

The planes of a segment, S_b = the sum of the buckets whose m has bit b, take two additions a bucket, as many as the weighted sum would:

    sum_m m B_m = sum_b 2^b S_b,      S_0 = B_1 + B_3 + ..,   B'_j = B_(2j) + B_(2j+1),   S_1 = B'_1 + B'_3 + ..,

and so on; bucket 2^(c-1) is S_(c-1).

The name of a point is 2 row, or 2 row + 1 for its opposite; NONE is no point.  A pair is a column of `pairs`:
    A  2 row            of the one that waited, its sign taken out
    B  2 row + sign     of the other, its sign relative to the first
    D  2 row + sign     where A + B goes; the sign that was taken out
    K                   the place where the sum arrives
Sums lie in *slots*, the rows of the pool from first_slot on; `free` is a stack of those that hold none, from index 1 on.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from .cache import kernel

MAX_WINDOW = 16  # a digit is an int16
NONE = -1
MAX_POOL_ROWS = 1 << 30  # a name, 2 row + 1 at most, is an int32
A, B, D, K = 0, 1, 2, 3
ROUND = 4096  # pairs at which a round is full
_BUCKETS_OF_A_JOB = 1 << 13

# The cursor: pairs of the round, free slots, and which point of which segment comes next
_N_PAIRS, _N_FREE, _SEGMENT, _POSITION = 0, 1, 2, 3
_FIRST, _COUNT, _DIGITS, _COLUMN, _SET = 0, 1, 2, 3, 4  # of a segment, as plane_sums says
_NO_SLOT = 1 << 40  # more than any row


def segments_of_a_job(c: int) -> int:
    """How many segments to take together: few enough for a cache, enough for full rounds."""
    return max(1, _BUCKETS_OF_A_JOB >> (c - 1))


def slots(n_segments: int, c: int) -> int:
    """Rows of a pool that the sums of a job take: 5/2 of its buckets, and two rounds.

    While points arrive, a bucket has one sum at most, and a pair of the round two.  While planes are taken, no slot is used again: a
    bucket's sum keeps its own, the B' of a segment are fewer than its buckets, the first sums for its planes half as many.
    """
    return (5 * n_segments << (c - 1)) // 2 + 2 * ROUND


class Workspace:
    """What one job at a time works in: the lists of the schedule, and room for sums in a pool, from row first_slot on.

    Memory: 110 KiB and 31 bytes a bucket, and the body's scratch.
    """

    __slots__ = ("cursor", "first_slot", "free", "infinite", "n_slots", "pairs", "scratch", "waiting")

    def __init__(self, body: Any, n_segments: int, c: int, first_slot: int) -> None:
        capacity = ROUND + (n_segments << (c - 1)) + body.SPARE_COLUMNS
        self.first_slot, self.n_slots = first_slot, slots(n_segments, c)
        self.pairs = np.empty((4, capacity), np.int32)
        self.infinite = np.empty(capacity, np.uint8)
        self.waiting = np.empty(n_segments * _places(c), np.int32)
        self.free = np.empty(self.n_slots + 2, np.int32)
        self.cursor = np.empty(4, np.int64)
        self.scratch = body.scratch()


def plane_sums(body: Any, pool: Any, digits: Any, segments: Iterable[Any], c: int, work: Workspace, n_sets: int) -> Any:
    """The planes S_0 .. S_(c-1) of each of so many sets of buckets.

    In: pool of `body` with the points in place; digits (rows, n) as write_digits makes them, 0 for a point that is to be left out;
    segments, arrays (s, 5) int64, each of which is asked for when the one before has arrived: their first points, numbers of points, rows
    of digits, first columns there, sets.  No more sets than `work` has room for.  Out: (n_sets, c, 12) affine.
    """
    n_places = _places(c)
    places = np.arange(n_sets) * n_places
    cursor, waiting, pairs, infinite, free = work.cursor, work.waiting, work.pairs, work.infinite, work.free
    waiting[:] = NONE
    free[1 : work.n_slots + 1] = np.arange(work.first_slot, work.first_slot + work.n_slots)[::-1]
    cursor[:] = (0, work.n_slots, 0, 0)
    for part in segments:
        cursor[_SEGMENT] = cursor[_POSITION] = 0
        while _stream(cursor, part, digits, waiting, pairs, free, n_places, ROUND) >= ROUND:
            body.add_pairs(pool, pairs, infinite, cursor[_N_PAIRS], work.scratch)
            _requeue(cursor, waiting, pairs, infinite, free, work.first_slot)
    while n := cursor[_N_PAIRS]:
        body.add_pairs(pool, pairs, infinite, n, work.scratch)
        _requeue(cursor, waiting, pairs, infinite, free, work.first_slot)
    b = 0
    while b < c - 1 or cursor[_N_PAIRS]:
        n = _fold(cursor, places, waiting, pairs, free, c, b) if b < c - 1 else cursor[_N_PAIRS]
        body.add_pairs(pool, pairs, infinite, n, work.scratch)
        _requeue(cursor, waiting, pairs, infinite, free, _NO_SLOT)
        b += 1
    names = waiting[: n_sets * n_places].reshape(-1, n_places)
    top = 1 << (c - 1)
    names = np.ascontiguousarray(np.roll(names[:, top:], -1, axis=1)).reshape(-1)
    out = np.empty((len(names), 12), np.uint64)
    body.take_points(out, pool, names)
    return out.reshape(n_sets, c, 12)


def _places(c: int) -> int:
    """Places of a segment: m = 0 .. 2^(c-1), of which 0 is no bucket and the last is S_(c-1), then S_0 .. S_(c-2)."""
    return (1 << (c - 1)) + c


@kernel
def write_digits(out, first, end, shifted, c):
    """Rows first .. end - 1 of out = the digits of windows 0, 1, .., each with its sign changed, for the largest fits an int16 only so.

    In: shifted (5, n), word by word, scalars plus sum_w (2^(c-1) - 1) 2^(cw).  Out: digits in (-2^(c-1), 2^(c-1)], int16, in n columns.
    """
    mask = np.uint64((1 << c) - 1)
    middle = np.int64((1 << (c - 1)) - 1)
    for w in range(end - first):
        word, bit = w * c >> 6, w * c & 63
        digits = out[first + w]
        low, down = shifted[word], np.uint64(bit)
        if bit + c > 64 and word + 1 < len(shifted):
            high, up = shifted[word + 1], np.uint64(64 - bit)
            for i in range(shifted.shape[1]):
                digits[i] = middle - np.int64((low[i] >> down | high[i] << up) & mask)
        else:
            for i in range(shifted.shape[1]):
                digits[i] = middle - np.int64(low[i] >> down & mask)


@kernel
def _stream(cursor, segments, digits, waiting, pairs, free, n_places, full):
    """Lets points arrive, from where the cursor stands, until the round has `full` pairs or all have arrived.  Out: pairs of the round."""
    n, n_free, s, i = cursor[_N_PAIRS], cursor[_N_FREE], cursor[_SEGMENT], cursor[_POSITION]
    a, b, d, k = pairs[A], pairs[B], pairs[D], pairs[K]
    while s < len(segments) and n < full:
        first, count, place = segments[s, _FIRST], segments[s, _COUNT], segments[s, _SET] * n_places
        row = digits[segments[s, _DIGITS], segments[s, _COLUMN] :]
        end = min(count, i + full - n)
        for j in range(i, end):  # without a branch: it would be a coin's
            minus_digit = np.int64(row[np.uint64(j)])
            key = place + abs(minus_digit)
            p, q = (first + j) << 1 | np.int64(minus_digit > 0), np.int64(waiting[np.uint64(key)])
            meets = np.int64(q != NONE) & np.int64(minus_digit != 0)
            to, column = np.int64(free[np.uint64(n_free)]) << 1, np.uint64(n)
            a[column], b[column], d[column], k[column] = q & ~1, p ^ (q & 1), to | (q & 1), key
            waiting[np.uint64(key)] = p ^ ((p ^ NONE) & -meets)
            n += meets
            n_free -= meets
        i = end
        if i == count:
            waiting[place] = NONE  # where points with digit 0 went
            s, i = s + 1, 0
    cursor[_N_PAIRS], cursor[_N_FREE], cursor[_SEGMENT], cursor[_POSITION] = n, n_free, s, i
    return n


@kernel
def _requeue(cursor, waiting, pairs, infinite, free, first_slot):
    """Lets the sums of the round arrive, but for infinity: the pairs that they form take the place of those that they came from."""
    n, n_free = 0, cursor[_N_FREE]
    a, b, d, k = pairs[A], pairs[B], pairs[D], pairs[K]
    for i in range(cursor[_N_PAIRS]):
        old, p, key = np.int64(a[np.uint64(i)]) >> 1, np.int64(d[np.uint64(i)]), np.uint64(k[np.uint64(i)])
        free[np.uint64(n_free + 1)] = old
        n_free += np.int64(old >= first_slot)
        if infinite[np.uint64(i)]:
            n_free += 1
            free[np.uint64(n_free)] = p >> 1
            continue
        q, column = np.int64(waiting[key]), np.uint64(n)
        a[column], b[column], d[column], k[column] = q & ~1, p ^ (q & 1), (p & ~1) | (q & 1), key
        meets = np.int64(q != NONE)
        waiting[key] = p ^ ((p ^ NONE) & -meets)
        n += meets
    cursor[_N_PAIRS], cursor[_N_FREE] = n, n_free


@kernel
def _fold(cursor, places, waiting, pairs, free, c, b):
    """B_1, B_3, .. arrive at S_b; B_(2j) and B_(2j+1) arrive at place j: the buckets of plane b + 1.  Out: pairs of the round.

    For b = 0, 1, .. c - 2, with a round after each.  A bucket goes to two places here, so no pair writes over one.
    """
    n, n_free = cursor[_N_PAIRS], cursor[_N_FREE]
    top = 1 << (c - 1)
    for place in places:
        plane = place + top + 1 + b
        for j in range(top >> (b + 1)):
            even, odd = np.int64(waiting[place + 2 * j]), np.int64(waiting[place + 2 * j + 1])
            if odd != NONE:
                q = np.int64(waiting[plane])
                if q == NONE:
                    waiting[plane] = odd
                else:
                    to = np.int64(free[n_free]) << 1 | (q & 1)
                    n_free -= 1
                    pairs[A, n], pairs[B, n], pairs[D, n], pairs[K, n] = q & ~1, odd ^ (q & 1), to, plane
                    waiting[plane] = NONE
                    n += 1
            if j == 0:
                waiting[place] = NONE  # it would arrive at no plane
            elif even == NONE or odd == NONE:
                waiting[place + j] = odd if even == NONE else even
            else:
                to = np.int64(free[n_free]) << 1 | (even & 1)
                n_free -= 1
                pairs[A, n], pairs[B, n], pairs[D, n], pairs[K, n] = even & ~1, odd ^ (even & 1), to, place + j
                waiting[place + j] = NONE
                n += 1
    cursor[_N_PAIRS], cursor[_N_FREE] = n, n_free
    return n

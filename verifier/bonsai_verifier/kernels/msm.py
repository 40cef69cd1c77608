"""Sums of many multiples in E(Fp): sum k_i P_i, and all k_i P for one P.

Signed digits without a carry chain: with B = sum_w (2^(c-1) - 1) 2^(cw), the digit of k in window w is ((k + B) >> cw) mod 2^c less
2^(c-1) - 1, in (-2^(c-1), 2^(c-1)].  Scalars are integers, never reduced modulo r, and all additions are complete, so points may lie
anywhere on the curve.  Variable time in the scalars.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import accumulate
from queue import LifoQueue
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from . import affine, buckets, straus
from .cache import inner, kernel
from .cpu import vector
from .fr import FR_WORDS
from .g1 import (
    G1_AFFINE_WORDS,
    G1_PROJECTIVE_WORDS,
    g1_add,
    g1_add_mixed,
    g1_affine_neg,
    g1_copy,
    g1_double,
    g1_from_affine,
    g1_infinity,
    g1_to_affine_many,
)
from .limbs import WORD_BITS, WORD_BYTES, row, rows, stack, words

Array: TypeAlias = np.ndarray
Run: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]

_SHIFTED_WORDS = 5
_SCALAR_BITS = WORD_BITS * FR_WORDS
_MIN_WINDOW, _MAX_WINDOW = 2, buckets.MAX_WINDOW
# Multiplications: of an addition of an affine point; of g1_to_affine_many a point, with the inversion's share
_MIXED, _NORMALISE = 11, 6
_POINTS_OF_A_JOB = 1 << 14
_TABLE_BYTES = 1 << 26  # a fixed-base table larger than the cache is slower, whatever the count says
_ONE_BYTES = words(1, FR_WORDS).tobytes()
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIXTY_FOUR = np.uint64(64)


class G1Sum(NamedTuple):
    """sum_i k_i P_i as (12,), and, where they were asked for, the bit planes that it is made of as (W, c, 12), else none.

    planes[w, b] = sum_i sign(d) bit_b(|d|) P_i for the signed digit d of k_i in window w; the sum is that of 2^(cw + b) planes[w, b].
    All affine; infinity is zero.
    """

    total: Array
    planes: Array


# Sums ------------------------------------------------------------------------------------------------------------------------


def g1_msm(points: Array, scalars: Array, *, in_g1: bool = False) -> Array:
    """sum_i k_i P_i.

    In: points (n, 12) affine, anywhere on the curve; scalars (n, 4) integers below 2^256.  Out: (12,) affine; O for n = 0.
    The rest as for g1_sums.
    """
    if len(points) != len(scalars):
        raise ValueError(f"{len(points)} points for {len(scalars)} scalars")
    return g1_sums([points], [scalars], [(0, 0)], in_g1=in_g1)[0].total


def g1_total(points: Sequence[Array]) -> Array:
    """The sum of some points, (12,) affine each, at least one."""
    if len(points) == 1:
        return points[0]
    ones = np.zeros((len(points), FR_WORDS), np.uint64)
    ones[:, 0] = 1
    return g1_msm(np.stack(points), ones)


def g1_sums(
    points: Sequence[Array],
    scalars: Sequence[Array],
    sums: Sequence[tuple[int, int]],
    *,
    planes: bool = False,
    in_g1: bool = False,
    run: Run = map,
) -> list[G1Sum]:
    """sum_i k_i P_i with P = points[p], k = scalars[s] for each (p, s) of `sums`.  They share points, digits, rounds and inversions.

    In: points, arrays (n, 12) affine, anywhere on the curve, unless in_g1 says that they lie in G1 (a few points are faster then);
    scalars, arrays (m, 4) of integers below 2^256, m <= n: points beyond are left out.  planes: the bit planes too, in windows whose
    width does not depend on single scalars (docs/protocol.md, 11).
    run(f, jobs) is map, or that of threads.py: a job leaves the interpreter free.
    Cost: for each window of c bits n + 2^(c-1) additions; whatever the points are, at most 1.5 times the time of random ones.
    Memory: 96 bytes a point (vector: 128), 40 + 2 W a scalar; for each job that runs at a time up to 5 MiB (portable, from 2^18 points
    on, 10 MiB).
    """
    points = [rows(p, G1_AFFINE_WORDS) for p in points]
    scalars = [rows(k, FR_WORDS) for k in scalars]
    for p, s in sums:
        if len(scalars[s]) > len(points[p]):
            raise ValueError(f"{len(points[p])} points for {len(scalars[s])} scalars")
    if not planes and all(len(scalars[s]) <= chains().MOST for _, s in sums):
        return [_few(points[p], scalars[s], in_g1) for p, s in sums]
    return _by_buckets(points, scalars, sums, planes, run)


def _few(points: Array, scalars: Array, in_g1: bool) -> G1Sum:
    if scalars.tobytes() == _ONE_BYTES:  # as T and U of a proof alone
        total = points[0].copy()
    else:
        total = _run_chain(points[: len(scalars)], *straus.sum_few(scalars, in_g1))
    return G1Sum(total, np.empty((0, 0, G1_AFFINE_WORDS), np.uint64))


def _run_chain(points: Array, program: Array, n_numbers: int) -> Array:
    total, out = np.empty((1, G1_PROJECTIVE_WORDS), np.uint64), np.empty((1, G1_AFFINE_WORDS), np.uint64)
    body = chains()
    body.run_chain(total, np.empty((n_numbers, body.NUMBERED_WORDS), np.uint64), points, program)
    g1_to_affine_many(out, total)
    return out[0]


def _by_buckets(
    points: list[Array], scalars: list[Array], sums: Sequence[tuple[int, int]], planes: bool, run: Run
) -> list[G1Sum]:
    body = adder()
    lengths = [_bit_lengths(k) for k in scalars]
    counted = [_in_whole_words(count) for count in lengths] if planes else lengths
    c = msm_window([counted[s] for _, s in sums], body.ROUND_COST, body.WIDEST)
    n_windows = [_n_windows(_longest(count), c) for count in lengths]
    n_segments = sum(n_windows[s] for _, s in sums)
    size = min(buckets.segments_of_a_job(c), n_segments)
    n_jobs = -(-n_segments // size)

    first = [0, *accumulate(map(len, points))]
    room, n_rooms = buckets.slots(size, c), min(n_jobs, os.cpu_count() or 1)
    pool = body.new_pool(first[-1] + n_rooms * room)
    absent = [np.empty(len(p), np.bool_) for p in points]

    def put(part: tuple[int, int]) -> None:
        p, start = part
        end = start + _POINTS_OF_A_JOB
        body.put_points(pool, first[p] + start, points[p][start:end], absent[p][start:end])

    list(run(put, [(p, start) for p, a in enumerate(points) for start in range(0, len(a), _POINTS_OF_A_JOB)]))
    digits, digit_rows = _digits(scalars, n_windows, c, sums, absent, run)
    rows_of = [(first[p], len(scalars[s]), at + w) for (p, s), at in zip(sums, digit_rows) for w in range(n_windows[s])]
    segments = np.array(
        [(*found, 0, i % size) for i, found in enumerate(rows_of)], np.int64
    )  # with buckets of their own
    # A room in the pool, or the workspace that has it; the last one given back first, so no more are touched than are needed at a time
    idle: LifoQueue[int | buckets.Workspace] = LifoQueue()
    for i in reversed(range(n_rooms)):
        idle.put(first[-1] + i * room)

    def job(start: int) -> Array:
        work = idle.get()
        try:
            if isinstance(work, int):
                work = buckets.Workspace(body, size, c, work)
            part = segments[start : start + size]
            return buckets.plane_sums(body, pool, digits, [part], c, work, len(part))
        finally:
            idle.put(work)

    all_planes = np.concatenate(list(run(job, range(0, n_segments, size))))
    ends = list(accumulate(n_windows[s] for _, s in sums))
    return [G1Sum(joined(part.reshape(-1, G1_AFFINE_WORDS)), part) for part in np.split(all_planes, ends[:-1])]


def adder() -> ModuleType:
    """The body that adds pairs."""
    return _bodies(vector())[0]


def chains() -> ModuleType:
    """The body that doubles and adds in one chain."""
    return _bodies(vector())[1]


@cache
def _bodies(lanes: bool) -> tuple[ModuleType, ModuleType]:
    if not lanes:
        return affine, straus
    from . import affine_lanes, straus_lanes

    return affine_lanes, straus_lanes


def _digits(
    scalars: list[Array],
    n_windows: list[int],
    c: int,
    sums: Sequence[tuple[int, int]],
    absent: list[Array],
    run: Run = map,
) -> tuple[Array, list[int]]:
    """The digits of all scalars, window by window, and for each sum its first row of them.  Points at infinity get digits 0."""
    keys = [(p if absent[p][: len(scalars[s])].any() else None, s) for p, s in sums]  # most sums share rows
    first: dict[tuple[int | None, int], int] = {}
    n_rows = 0
    for key in keys:
        if key not in first:
            first[key] = n_rows
            n_rows += n_windows[key[1]]
    out = np.empty((n_rows, max(map(len, scalars))), np.int16)

    def write(item: tuple[tuple[int | None, int], int]) -> None:
        (p, s), at = item
        n, end = len(scalars[s]), at + n_windows[s]
        shifted = np.empty((_SHIFTED_WORDS, n), np.uint64)
        _shift(shifted, scalars[s], _offset(c, n_windows[s]))
        buckets.write_digits(out, at, end, shifted, c)
        if p is not None:
            out[at:end, np.flatnonzero(absent[p][:n])] = 0

    list(run(write, first.items()))
    return out, [first[key] for key in keys]


def joined(planes: Array) -> Array:
    """sum_i 2^i planes_i.  In: (m, 12) affine.  Out: (12,) affine."""
    return _run_chain(rows(planes, G1_AFFINE_WORDS), *straus.join(len(planes)))


def msm_window(lengths: Sequence[Array], round_cost: int, widest: int) -> int:
    """The c <= widest that makes the additions of g1_sums least.

    In: for each sum (257,) int64, how many scalars have 0, 1, .. 256 bits; what a round costs by itself, in additions.
    """
    counts = np.empty((_MAX_WINDOW + 1, 2), np.int64)
    _count_additions(counts, np.empty(_SCALAR_BITS + 2, np.int64), np.stack(lengths))

    def cost(c: int) -> int:
        additions, n_segments = counts[c].tolist()
        n_jobs = -(-n_segments // buckets.segments_of_a_job(c))
        rounds = c + 8  # for the planes, and before them while the last points meet
        return int(additions + n_jobs * rounds * round_cost)

    return min(range(_MIN_WINDOW, widest + 1), key=cost)


@kernel
def _count_additions(out, reaching, lengths):
    """Row c of out = additions and windows for windows of c bits.

    A window adds the scalars that reach it until one bucket is left; before that, half of the buckets that are left at each plane.
    In: lengths (sums, 257) as msm_window takes them; room for 258 numbers.
    """
    most = _SCALAR_BITS
    for c in range(len(out)):
        out[c, 0], out[c, 1] = 0, 0
    for s in range(len(lengths)):
        reaching[most + 1] = 0
        for bits in range(most, -1, -1):
            reaching[bits] = reaching[bits + 1] + lengths[s, bits]
        for c in range(_MIN_WINDOW, _MAX_WINDOW + 1):
            w = 0
            while w == 0 or reaching[min(w * c, most + 1)] > 0:
                members = reaching[max(w * c, 1)] if w * c <= most else 0
                out[c, 0] += members
                for b in range(c - 1):
                    out[c, 0] += min(members, 1 << (c - 1 - b)) >> 1
                out[c, 1] += 1
                w += 1


def _n_windows(bits: int, c: int) -> int:
    """W >= 1 with k + B < 2^(cW) for every k < 2^bits: 2^(cW - 1) + B < 2^(cW), as B = (2^(c-1) - 1)(2^(cW) - 1)/(2^c - 1)."""
    return bits // c + 1


def _offset(c: int, n_windows: int) -> Array:
    """B."""
    return words(sum(((1 << (c - 1)) - 1) << (c * w) for w in range(n_windows)), _SHIFTED_WORDS)


def _bit_lengths(scalars: Array) -> Array:
    """(257,): how many scalars have 0, 1, .. 256 bits."""
    out = np.zeros(_SCALAR_BITS + 1, np.int64)
    _count_bit_lengths(out, scalars)
    return out


def _longest(lengths: Array) -> int:
    return int(np.flatnonzero(lengths).max(initial=0))


def _in_whole_words(lengths: Array) -> Array:
    """As many scalars, all as long as the words of the longest: what no single one of many random scalars changes."""
    out = np.zeros_like(lengths)
    out[-(-_longest(lengths) // WORD_BITS) * WORD_BITS] = lengths.sum()
    return out


@kernel
def _count_bit_lengths(out, scalars):
    """out[b] += the number of scalars of b bits."""
    for i in range(len(scalars)):
        j = FR_WORDS - 1
        while j > 0 and scalars[i, j] == _ZERO:
            j -= 1
        bits, x = WORD_BITS * j, scalars[i, j]
        while x != _ZERO:
            bits += 1
            x >>= _ONE
        out[bits] += 1


@kernel
def _shift(out, scalars, offset):
    """Column i of out (5, n) = k_i + B."""
    for i in range(len(scalars)):
        carry = _ZERO
        for j in range(_SHIFTED_WORDS):
            a = scalars[i, j] if j < FR_WORDS else _ZERO
            s = a + offset[j]
            t = s + carry
            carry = _ONE if s < a or t < s else _ZERO
            out[j, i] = t


# One base --------------------------------------------------------------------------------------------------------------------


def g1_fixed_base_many(base: Array, scalars: Array) -> Array:
    """k_i P for one P, from a table of the multiples j 2^(cw) P.

    In: base (1, 12) or (12,) affine; scalars (n, 4) plain integers below 2^256.  Out: (n, 12) affine.
    Cost: W additions a scalar, and W 2^(c-1) for the table.
    """
    base, scalars = rows(base.reshape(1, -1), G1_AFFINE_WORDS), rows(scalars, FR_WORDS)
    bits = _longest(_bit_lengths(scalars))
    c = fixed_base_window(len(scalars), bits)
    n_windows = _n_windows(bits, c)
    multiples = np.empty((n_windows << (c - 1), G1_PROJECTIVE_WORDS), np.uint64)
    _fill_table(multiples, base, n_windows, c)
    table = np.empty((len(multiples), G1_AFFINE_WORDS), np.uint64)
    g1_to_affine_many(table, multiples)
    del multiples
    shifted = np.empty((_SHIFTED_WORDS, len(scalars)), np.uint64)
    _shift(shifted, scalars, _offset(c, n_windows))
    products = np.empty((len(scalars), G1_PROJECTIVE_WORDS), np.uint64)
    _look_up_many(products, table, shifted, n_windows, c)
    out = np.empty((len(scalars), G1_AFFINE_WORDS), np.uint64)
    g1_to_affine_many(out, products)
    return out


def fixed_base_window(n: int, bits: int) -> int:
    """The c that makes the multiplications of g1_fixed_base_many least, among the tables that fit a cache."""

    def cost(c: int) -> int:
        table = _n_windows(bits, c) << (c - 1)
        return table * (_MIXED + _NORMALISE) + n * _n_windows(bits, c) * _MIXED

    sizes = [
        c
        for c in range(_MIN_WINDOW, _MAX_WINDOW + 1)
        if (_n_windows(bits, c) << (c - 1)) * WORD_BYTES * G1_AFFINE_WORDS <= _TABLE_BYTES
    ]
    return min(sizes, key=cost)


@inner
def _digit(shifted, i, w, c):
    """The signed digit of scalar i in window w."""
    at = w * c
    word, bit = at >> 6, np.uint64(at & 63)
    x = shifted[word, i] >> bit
    if bit + np.uint64(c) > _SIXTY_FOUR and word + 1 < _SHIFTED_WORDS:
        x |= shifted[word + 1, i] << (_SIXTY_FOUR - bit)
    return np.int64(x & ((_ONE << np.uint64(c)) - _ONE)) - ((1 << (c - 1)) - 1)


@kernel
def _fill_table(out, base, n_windows, c):
    """Row w 2^(c-1) + j - 1 = j 2^(cw) P, j = 1..2^(c-1)."""
    step = stack(18)
    g1_from_affine(step, row(base, 0))
    half = 1 << (c - 1)
    for w in range(n_windows):
        first = half * w
        g1_copy(row(out, first), step)
        for i in range(first + 1, first + half):
            g1_add(row(out, i), row(out, i - 1), step)
        g1_double(step, row(out, first + half - 1))


@kernel
def _look_up_many(out, table, shifted, n_windows, c):
    """out_i = sum_w digit_w(k_i) 2^(cw) P."""
    opposite = stack(12)
    half = 1 << (c - 1)
    for i in range(len(out)):
        d = row(out, i)
        g1_infinity(d)
        for w in range(n_windows):
            digit = _digit(shifted, i, w, c)
            if digit > 0:
                g1_add_mixed(d, d, row(table, half * w + digit - 1))
            elif digit < 0:
                g1_affine_neg(opposite, row(table, half * w - digit - 1))
                g1_add_mixed(d, d, opposite)

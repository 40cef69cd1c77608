"""The vector body of pedersen.py: eight sums side by side, one in each lane.

A row of the table is the 15 limbs of its three numbers, exact, and one word of nothing: two cache lines.  Windows are gone through one by
one, all sums of a batch within each: so the entries of a window come from a cache however large the table is.

Bounds, of acc between additions, as multiples of the modulus r (R / r = 35.3, a product is below x y / 35.3 + 1.001):
  U, V, T below 1.5 and Z below 1.7; then A < 1.11, B < 1.09, C < 1.05, E < 3.1, F < 5.4, G < 4.45, H < 2.2,
  and E F, G H, E H, F G are below 1.48, 1.28, 1.20 and 1.69
"""

import numpy as np

from bonsai_verifier.kernels.cache import kernel
from bonsai_verifier.kernels.fr import FR_BYTES, FR_WORDS
from bonsai_verifier.kernels.fr_lanes import FR_BLOCK, FR_LANES, fr8_copy, fr8_inv, fr8_mul, fr8_one
from bonsai_verifier.kernels.intrinsics import I64, operation
from bonsai_verifier.kernels.lane_machine import LANES, Machine, together
from bonsai_verifier.kernels.lanes import (
    carry,
    difference,
    enter,
    exact,
    load,
    load_rows,
    multiply,
    plus,
    select,
    store,
    store_rows,
    strided,
    transpose,
)
from bonsai_verifier.kernels.limbs import WORD_BYTES, prefetch, row, stack

from .memory import arrays
from .pedersen import ROW_WORDS as TABLE_WORDS
from .pedersen import entry_name
from .polynomial_lanes import plain_words

ROW_WORDS = 16
_ROW_SHIFT = 7  # of its bytes
_HALF_BYTES, _LINE = 64, 64
_N = FR_LANES.n
_POINT_BLOCKS = 4  # U, V, Z, T
_V, _Z, _T = FR_BLOCK, 2 * FR_BLOCK, 3 * FR_BLOCK
_BATCH = 512  # sums: their points are 80 KiB
_AHEAD = 2  # blocks whose entries are asked for beforehand


# Writers ---------------------------------------------------------------------------------------------------------------------


def added(m, point, entry, negative):
    """U, V, Z, T of the sum.  In: as the bounds above say, entry exact; where `negative` is set the entry is subtracted."""
    f = FR_LANES
    u, v, z, t = point
    less, more, product = entry
    first, second = select(m, negative, more, less), select(m, negative, less, more)
    a, b, c = together(
        multiply(m, f, difference(m, f, v, u, 2), first),
        multiply(m, f, carry(m, plus(m, v, u)), second),
        multiply(m, f, t, product),
    )
    d = plus(m, z, z)
    e, h = difference(m, f, b, a, 2), carry(m, plus(m, b, a))
    low, high = difference(m, f, d, c, 2), carry(m, plus(m, d, c))
    f_, g = select(m, negative, high, low), select(m, negative, low, high)
    return together(multiply(m, f, e, f_), multiply(m, f, g, h), multiply(m, f, f_, g), multiply(m, f, e, h))


def affine(m, x, inverse):
    """The canonical words of x / Z.  In: x below 1.5 r, inverse weak."""
    return plain_words(m, together(multiply(m, FR_LANES, x, inverse))[0])


# Operations ------------------------------------------------------------------------------------------------------------------


@operation
def _add_entries(b, point, table, names):
    """point += the entries that eight names mean."""
    m, f = Machine(b), FR_LANES
    which = m.load(names)
    addresses = []
    for lane in range(LANES):
        name = b.extract_element(which, I64(lane))
        addresses.append(b.add(table, b.shl(b.lshr(name, I64(1)), I64(_ROW_SHIFT))))
    limbs = [x for half in (0, 1) for x in transpose(m, [m.load(address, half) for address in addresses])]
    negative = m.differ(m.is_zero(m.and_(which, m.const(1))), m.is_zero(m.zero))
    acc = [load(m, f, m.offset(point, at)) for at in (0, _V, _Z, _T)]
    entry = [limbs[_N * i : _N * (i + 1)] for i in range(3)]
    for at, x in zip((0, _V, _Z, _T), added(m, acc, entry, negative)):
        store(m, f, m.offset(point, at), x)


@operation
def _enter_start(b, point, rows):
    """u, v, 1, u v in every lane of a point, from the rows u and v; the same row for every lane."""
    m, f = Machine(b), FR_LANES
    u, v = (enter(m, f, [m.broadcast(m.offset(rows, at), i) for i in range(FR_WORDS)]) for at in (0, FR_BYTES))
    store(m, f, point, u)
    store(m, f, m.offset(point, _V), v)
    (t,) = together(multiply(m, f, u, v))
    store(m, f, m.offset(point, _T), t)


@operation
def _enter_entries(b, out, a, stride):
    """Eight rows of the other body's table from a on as rows of this one."""
    m, f = Machine(b), FR_LANES
    limbs = []
    for i in range(3):
        words = load_rows(m, strided(m, m.offset(a, FR_BYTES * i), stride), FR_WORDS)
        limbs += exact(m, f, enter(m, f, words))
    limbs.append(m.zero)
    for half in (0, 1):
        for lane, x in enumerate(transpose(m, limbs[LANES * half : LANES * (half + 1)])):
            m.store(m.offset(out, ROW_WORDS * WORD_BYTES * lane + _HALF_BYTES * half), 0, x)


@operation
def _leave_affine(b, out, stride, point, inverse):
    """u and v of eight sums to rows from out on."""
    m, f = Machine(b), FR_LANES
    k = load(m, f, inverse)
    for at, x in ((0, 0), (FR_BYTES, _V)):
        words = affine(m, load(m, f, m.offset(point, x)), k)
        store_rows(m, strided(m, m.offset(out, at), stride), words)


@kernel
def _sums(out, messages, windows, table, start, names, points, products):
    """In: out with rows for whole blocks."""
    total, inverse = stack(40), stack(40)
    n = len(messages)
    for first in range(0, n, _BATCH):
        here = min(n - first, _BATCH)
        blocks = (here + LANES - 1) // LANES
        for j in range(blocks):
            _enter_start(row(points, j), row(start, 0))
            fr8_one(row(points, j) + _Z)
        for w in range(len(windows)):
            for j in range(blocks + _AHEAD):
                if j < blocks:
                    for i in range(LANES * j, LANES * j + LANES):
                        name = entry_name(row(messages, first + min(i, here - 1)), row(windows, w))
                        names[i] = name
                        entry = row(table, name >> 1)
                        prefetch(entry)
                        prefetch(entry + _LINE)
                if j >= _AHEAD:
                    _add_entries(row(points, j - _AHEAD), row(table, 0), row(names, LANES * (j - _AHEAD)))
        fr8_one(total)
        for j in range(blocks):
            fr8_copy(row(products, j), total)
            fr8_mul(total, total, row(points, j) + _Z)
        fr8_inv(total, total)
        for j in range(blocks - 1, -1, -1):
            fr8_mul(inverse, total, row(products, j))
            fr8_mul(total, total, row(points, j) + _Z)
            _leave_affine(row(out, first + LANES * j), 2 * FR_BYTES, row(points, j), inverse)


@kernel
def _prepare(out, table):
    for i in range(0, len(table), LANES):
        _enter_entries(row(out, i), row(table, i), TABLE_WORDS * WORD_BYTES)


def sums(messages, windows, table, start):
    n = len(messages)
    shapes = (
        (-(-n // LANES) * LANES, 2 * FR_WORDS),
        (_BATCH // LANES, _POINT_BLOCKS * _N, LANES),
        (_BATCH // LANES, _N, LANES),
    )
    out, points, products, names = arrays(*shapes, (_BATCH,))
    _sums(out, messages, windows, table, start, names.view(np.int64), points, products)
    return out[:n]


def prepared(table):
    n = -(-len(table) // LANES) * LANES
    (rows, out) = arrays((n, TABLE_WORDS), (n, ROW_WORDS))
    rows[: len(table)] = table
    rows[len(table) :] = 0
    _prepare(out, rows)
    return out

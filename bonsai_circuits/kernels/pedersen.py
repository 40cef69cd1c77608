"""Sums of table entries on Jubjub, many at once: the portable body.  What makes them a Pedersen hash: native/pedersen.py.

A message is a row of words.  A window is some of its bits, three for every chunk; its entry is the sum of what those chunks add.  Flipping
the sign bit of each chunk negates an entry, so a table has rows for those bit strings alone whose highest bit, a sign, is 0.

  table   (n, 12): of each point v - u, v + u and 2 d u v, in Montgomery form
  windows (n, 4) int64: the first bit in the message, the number of bits, the row where its entries begin, the mask of its sign bits
  start   (1, 8): u and v of a point that every sum begins with, Montgomery form

Extended coordinates u = U/Z, v = V/Z, T = U V / Z, for which the addition is complete (-1 is a square and d is not): 7 multiplications.
Source: Hisil, Wong, Carter, Dawson, ePrint 2008/522, section 3.1, with Z_2 = 1.
"""

import numpy as np

from bonsai_verifier.kernels.cache import inner, kernel
from bonsai_verifier.kernels.fr import (
    FR_BYTES,
    FR_WORDS,
    fr_add,
    fr_copy,
    fr_from_mont,
    fr_inv,
    fr_mul,
    fr_neg,
    fr_one,
    fr_sub,
    fr_to_mont,
)
from bonsai_verifier.kernels.intrinsics import formula
from bonsai_verifier.kernels.limbs import load_word, prefetch, row, stack

from .memory import arrays

ROW_WORDS = 3 * FR_WORDS
_POINT_WORDS = 4 * FR_WORDS  # U, V, Z, T
_V, _Z, _T = FR_BYTES, 2 * FR_BYTES, 3 * FR_BYTES
_LINE = 64
_BATCH = 256  # sums to one inversion
_WORD, _IN_WORD, _BYTES_SHIFT = 6, 63, 3  # of a bit's place: its word, its place there; a word's bytes
_ONE, _BITS = np.uint64(1), np.uint64(64)


@formula
def _begin(acc, start):
    """The extended form of a point (u, v)."""
    fr_copy(acc, start)
    fr_copy(acc + _V, start + _V)
    fr_one(acc + _Z)
    fr_mul(acc + _T, start, start + _V)


@formula
def _add(acc, minus, plus, product):
    a, b, c, d = stack(4), stack(4), stack(4), stack(4)
    fr_sub(a, acc + _V, acc)
    fr_mul(a, a, minus)
    fr_add(b, acc + _V, acc)
    fr_mul(b, b, plus)
    fr_mul(c, acc + _T, product)
    fr_add(d, acc + _Z, acc + _Z)
    e, f, g, h = stack(4), stack(4), stack(4), stack(4)
    fr_sub(e, b, a)
    fr_sub(f, d, c)
    fr_add(g, d, c)
    fr_add(h, b, a)
    fr_mul(acc, e, f)
    fr_mul(acc + _V, g, h)
    fr_mul(acc + _Z, f, g)
    fr_mul(acc + _T, e, h)


@formula
def _subtract(acc, minus, plus, product):
    """The opposite of a point has v - u and v + u exchanged, and -2 d u v."""
    opposite = stack(4)
    fr_neg(opposite, product)
    _add(acc, plus, minus, opposite)


@formula
def _row_of(out, u, v, twice_d):
    """v - u, v + u, 2 d u v from Montgomery forms."""
    t = stack(4)
    fr_mul(t, u, v)
    fr_sub(out, v, u)
    fr_add(out + _V, v, u)
    fr_mul(out + _Z, t, twice_d)


@inner
def entry_name(message, window):
    """Twice the row of a message's entry, and 1 more if it is to be subtracted.  In: addresses of a message and of a window."""
    first, bits = np.int64(load_word(window)), np.int64(load_word(window + 8))
    start, signs = np.int64(load_word(window + 16)), np.int64(load_word(window + 24))
    address, shift = message + (first >> _WORD << _BYTES_SHIFT), np.uint64(first & _IN_WORD)
    x = load_word(address) >> shift
    if np.int64(shift) + bits > 64:
        x |= load_word(address + 8) << (_BITS - shift)
    index = np.int64(x & ((_ONE << np.uint64(bits)) - _ONE))
    negative = index >> (bits - 1)
    if negative:
        index ^= signs
    return 2 * (start + index) + negative


@kernel
def _sums(out, messages, windows, table, start, points, products):
    total, inverse = stack(4), stack(4)
    n = len(messages)
    for first in range(0, n, _BATCH):
        last = min(n, first + _BATCH)
        fr_one(total)
        for i in range(first, last):
            acc = row(points, i - first)
            _begin(acc, row(start, 0))
            following = entry_name(row(messages, i), row(windows, 0))
            for w in range(len(windows)):
                name = following
                following = entry_name(row(messages, i), row(windows, min(w + 1, len(windows) - 1)))
                prefetch(row(table, following >> 1))
                prefetch(row(table, following >> 1) + _LINE)
                entry = row(table, name >> 1)
                if name & 1:
                    _subtract(acc, entry, entry + _V, entry + _Z)
                else:
                    _add(acc, entry, entry + _V, entry + _Z)
            fr_copy(row(products, i - first), total)
            fr_mul(total, total, acc + _Z)
        fr_inv(total, total)
        for i in range(last - 1, first - 1, -1):
            acc = row(points, i - first)
            fr_mul(inverse, total, row(products, i - first))
            fr_mul(total, total, acc + _Z)
            for j in range(2):
                fr_mul(acc + FR_BYTES * j, acc + FR_BYTES * j, inverse)
                fr_from_mont(row(out, i) + FR_BYTES * j, acc + FR_BYTES * j)


@kernel
def _rows(out, points, twice_d):
    u, v = stack(4), stack(4)
    for i in range(len(points)):
        fr_to_mont(u, row(points, i))
        fr_to_mont(v, row(points, i) + _V)
        _row_of(row(out, i), u, v, row(twice_d, 0))


def sums(messages, windows, table, start):
    """(n, 8): u and v of the sums, canonical.

    In: messages (n, m), C-contiguous, every window within a row; at least one window; table as `prepared` gives it.
    """
    out, points, products = arrays((len(messages), 2 * FR_WORDS), (_BATCH, _POINT_WORDS), (_BATCH, FR_WORDS))
    _sums(out, messages, windows, table, start, points, products)
    return out


def rows_of(points, twice_d):
    """The table whose rows are for these points.  In: points (n, 8), u and v canonical; twice_d (1, 4), 2 d in Montgomery form."""
    (out,) = arrays((len(points), ROW_WORDS))
    _rows(out, points, twice_d)
    return out


def prepared(table):
    """The table as this body reads it."""
    return table

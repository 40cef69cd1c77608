"""Sums of many pairs of affine points of E(Fp), one inversion a batch: the portable body.

A pool is an array of points, none of them infinity, with room for sums; only its body reads its rows (here: 12 words, as in g1.py).
Pairs and names of points: buckets.py.  For the pair P, Q and the slope s of the line through them

    s = (y_Q - y_P) / (x_Q - x_P),  or if P = Q  3 x_P^2 / 2 y_P,      x = s^2 - x_P - x_Q,      y = s (x_P - x) - y_P

where the divisions of a batch become one inversion and three multiplications each (Montgomery's trick).  Complete on the whole curve:
2 y_P = 0 at no point, as its order is odd, and P = -Q is reported.  Cost of a pair: 5M 1S; of a doubling 1S more.
"""

from typing import Any

import numpy as np

from .buckets import MAX_POOL_ROWS
from .cache import inner, kernel
from .fp import (
    FP_BYTES,
    FP_WORDS,
    fp_add,
    fp_copy,
    fp_eq,
    fp_inv,
    fp_is_zero,
    fp_mul,
    fp_neg,
    fp_one,
    fp_sqr,
    fp_sub,
    fp_zero,
)
from .g1 import g1_affine_is_infinity
from .limbs import prefetch, row, stack

ROW_WORDS = 2 * FP_WORDS
BATCH = 1024  # pairs to one inversion
WIDEST = 16  # bits of a window at most
ROUND_COST = 25  # a round's inversion and calls, in additions
SPARE_COLUMNS = 0  # of pairs, beyond the last pair, and
SPARE_ROWS = 0  # at the end of a pool: what add_pairs takes for itself
_Y = FP_BYTES
_AHEAD, _LINE_BYTES = 3, 64  # how many pairs ahead rows are asked for: the time of three is that of main memory
_ADDS, _CANCELS, _DOUBLES = 0, 1, 2


def new_pool(n_rows: int) -> Any:
    """Room for n_rows points.  96 bytes each.  Raises ValueError: more rows than have names."""
    if n_rows + SPARE_ROWS > MAX_POOL_ROWS:
        raise ValueError(f"a pool of {n_rows} points, of which {MAX_POOL_ROWS - SPARE_ROWS} have names")
    return np.empty((n_rows + SPARE_ROWS, ROW_WORDS), np.uint64)


def scratch() -> Any:
    """What add_pairs keeps between its passes: a denominator and the product of those before it, for each pair of a batch.  96 KiB."""
    return np.empty((BATCH, 2 * FP_WORDS), np.uint64)


@kernel
def put_points(pool, first, points, absent):
    """Rows first, first + 1, .. of the pool = points (n, 12).  Out: absent (n,) bool: it is infinity, and the row means nothing."""
    for i in range(len(points)):
        _copy(row(pool, first + i), row(points, i))
        absent[i] = g1_affine_is_infinity(row(points, i))


@kernel
def take_points(out, pool, names):
    """out (n, 12) = the points that names (n,) int32 name, infinity for NONE."""
    for i in range(len(names)):
        d, a, name = row(out, i), row(pool, names[i] >> 1), names[i]
        if name < 0:
            fp_zero(d)
            fp_zero(d + _Y)
        else:
            _copy(d, a)
            if name & 1:
                fp_neg(d + _Y, d + _Y)


@kernel
def add_pairs(pool, pairs, infinite, n, scratch):
    """Columns 0..n-1 of pairs (4, capacity) int32: the sums of A and B to the rows D, which may be A or B but no other pair's rows.

    Out: infinite[:n] uint8, 1 where the sum is infinity, and D means nothing; otherwise 0.
    """
    product = stack(6)
    for start in range(0, n, BATCH):
        end = min(n, start + BATCH)
        fp_one(product)
        for i in range(start, end):
            _ask(pool, pairs, min(i + _AHEAD, end - 1))
            a, b = row(pool, pairs[0, i] >> 1), row(pool, pairs[1, i] >> 1)
            infinite[i] = _divide_later(row(scratch, i - start), product, a, b, pairs[1, i] & 1)
        fp_inv(product, product)
        for i in range(end - 1, start - 1, -1):
            _ask(pool, pairs, max(i - _AHEAD, start))
            if infinite[i] != _CANCELS:
                a, b, d = row(pool, pairs[0, i] >> 1), row(pool, pairs[1, i] >> 1), row(pool, pairs[2, i] >> 1)
                _add(d, a, b, pairs[1, i] & 1, infinite[i] == _DOUBLES, row(scratch, i - start), product)
                infinite[i] = _ADDS


@kernel
def double_rows(pool, first, n, scratch):
    """Rows first .. first + n - 1 of the pool, none of them infinity, are doubled in place."""
    product = stack(6)
    for start in range(first, first + n, BATCH):
        end = min(first + n, start + BATCH)
        fp_one(product)
        for i in range(start, end):
            _divide_later(row(scratch, i - start), product, row(pool, i), row(pool, i), 0)
        fp_inv(product, product)
        for i in range(end - 1, start - 1, -1):
            _add(row(pool, i), row(pool, i), row(pool, i), 0, True, row(scratch, i - start), product)


@inner
def _ask(pool, pairs, i):
    """For the rows of pair i, which are 96 bytes at a multiple of 32: two lines each."""
    for j in range(2):
        a = row(pool, pairs[j, i] >> 1)
        prefetch(a)
        prefetch(a + _LINE_BYTES)


@inner
def _copy(d, a):
    fp_copy(d, a)
    fp_copy(d + _Y, a + _Y)


@inner
def _divide_later(pair, product, a, b, opposite):
    """The denominator of a +- b and the product so far to `pair`, their product to `product`.  Out: which case it is."""
    case = _ADDS
    fp_sub(pair, b, a)
    if fp_is_zero(pair):
        if fp_eq(a + _Y, b + _Y) == (opposite != 0):
            return _CANCELS
        fp_add(pair, a + _Y, a + _Y)
        case = _DOUBLES
    fp_copy(pair + _Y, product)
    fp_mul(product, product, pair)
    return case


@inner
def _add(d, a, b, opposite, doubles, pair, inverse):
    """d = a +- b.  In: inverse of the product of the denominators up to this pair's.  Out: that of those before it."""
    s, x, y = stack(6), stack(6), stack(6)
    if doubles:
        fp_sqr(x, a)
        fp_add(y, x, x)
        fp_add(y, y, x)
    elif opposite:
        fp_add(y, b + _Y, a + _Y)
        fp_neg(y, y)
    else:
        fp_sub(y, b + _Y, a + _Y)
    fp_mul(s, inverse, pair + _Y)
    fp_mul(inverse, inverse, pair)
    fp_mul(s, s, y)
    fp_sqr(x, s)
    fp_sub(x, x, a)
    fp_sub(x, x, b)
    fp_sub(y, a, x)
    fp_mul(y, y, s)
    fp_sub(d + _Y, y, a + _Y)
    fp_copy(d, x)

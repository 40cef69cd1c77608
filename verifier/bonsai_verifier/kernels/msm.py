"""Sums of many multiples in E(Fp): sum k_i P_i, and all k_i P for one P.

Signed digits without a carry chain: with B = sum_w 2^(c-1) 2^(cw), the digit of k in window w is ((k + B) >> cw) mod 2^c less 2^(c-1), in
[-2^(c-1), 2^(c-1)).  Scalars are integers, never reduced modulo r, and all additions are complete (g1.py), so points may lie
anywhere on the curve.  Variable time in the scalars.
"""

import numpy as np

from .cache import inner, kernel
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
from .limbs import WORD_BYTES, row, rows, stack, words

_SHIFTED_WORDS = 5
_MIN_WINDOW, _MAX_WINDOW = 2, 16
# Multiplications: of an addition of an affine point, of a projective one, of a doubling
_MIXED, _FULL, _DOUBLE = 11, 12, 8
_NORMALISE = 6  # multiplications a point of g1_to_affine_many, and the inversion's share
_TABLE_BYTES = 1 << 26  # a fixed-base table larger than the cache is slower, whatever the count says
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIXTY_FOUR = np.uint64(64)


def g1_msm(points: np.ndarray, scalars: np.ndarray) -> np.ndarray:
    """sum_i k_i P_i by Pippenger's buckets.

    In: points (n, 12) affine, anywhere on the curve; scalars (n, 4) plain integers below 2^256.  Out: (12,) affine; O for n = 0.
    Cost: W (n + 2^c) additions for the window c that makes it least, W = (bits + 2)/c, bits the length of the largest scalar.
    """
    points, scalars = rows(points, G1_AFFINE_WORDS), rows(scalars, FR_WORDS)
    if len(points) != len(scalars):
        raise ValueError(f"{len(points)} points for {len(scalars)} scalars")
    bits = _max_bits(scalars)
    c = msm_window(len(points), bits)
    n_windows = _n_windows(bits, c)
    shifted = np.empty((len(scalars), _SHIFTED_WORDS), np.uint64)
    _shift(shifted, scalars, _offset(c, n_windows))
    sums = np.empty((n_windows, G1_PROJECTIVE_WORDS), np.uint64)
    buckets = np.empty(((1 << (c - 1)) + 1, G1_PROJECTIVE_WORDS), np.uint64)
    for w in range(n_windows):
        _window_sum(sums, points, shifted, w, c, buckets)
    total = np.empty((1, G1_PROJECTIVE_WORDS), np.uint64)
    _join_windows(total, sums, c)
    out = np.empty((1, G1_AFFINE_WORDS), np.uint64)
    g1_to_affine_many(out, total)
    return out[0]


def g1_fixed_base_many(base: np.ndarray, scalars: np.ndarray) -> np.ndarray:
    """k_i P for one P, from a table of the multiples j 2^(cw) P.

    In: base (1, 12) or (12,) affine; scalars (n, 4) plain integers below 2^256.  Out: (n, 12) affine.
    Cost: W additions a scalar, and W 2^(c-1) for the table.
    """
    base, scalars = rows(base.reshape(1, -1), G1_AFFINE_WORDS), rows(scalars, FR_WORDS)
    bits = _max_bits(scalars)
    c = fixed_base_window(len(scalars), bits)
    n_windows = _n_windows(bits, c)
    multiples = np.empty((n_windows << (c - 1), G1_PROJECTIVE_WORDS), np.uint64)
    _fill_table(multiples, base, n_windows, c)
    table = np.empty((len(multiples), G1_AFFINE_WORDS), np.uint64)
    g1_to_affine_many(table, multiples)
    del multiples
    shifted = np.empty((len(scalars), _SHIFTED_WORDS), np.uint64)
    _shift(shifted, scalars, _offset(c, n_windows))
    products = np.empty((len(scalars), G1_PROJECTIVE_WORDS), np.uint64)
    _look_up_many(products, table, shifted, n_windows, c)
    out = np.empty((len(scalars), G1_AFFINE_WORDS), np.uint64)
    g1_to_affine_many(out, products)
    return out


def msm_window(n: int, bits: int) -> int:
    """The c that makes the multiplications of g1_msm least: n mixed additions and 2^c full ones in each window."""

    def cost(c: int) -> int:
        return _n_windows(bits, c) * (n * _MIXED + (1 << c) * _FULL + c * _DOUBLE)

    return min(range(_MIN_WINDOW, _MAX_WINDOW + 1), key=cost)


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


def _max_bits(scalars: np.ndarray) -> int:
    """Bit length of the largest scalar."""
    for i in range(FR_WORDS - 1, -1, -1):
        top = int(scalars[:, i].max(initial=0))
        if top:
            return 64 * i + top.bit_length()
    return 0


def _n_windows(bits: int, c: int) -> int:
    """W with k + B < 2^(cW) for every k < 2^bits: 2^(cW - 2) + 2/3 2^(cW) < 2^(cW)."""
    return -(-(bits + 2) // c)


def _offset(c: int, n_windows: int) -> np.ndarray:
    """B."""
    return words(sum(1 << (c * w + c - 1) for w in range(n_windows)), _SHIFTED_WORDS)


@kernel
def _shift(out, scalars, offset):
    """out_i = k_i + B in five words."""
    for i in range(scalars.shape[0]):
        carry = _ZERO
        for j in range(_SHIFTED_WORDS):
            a = scalars[i, j] if j < FR_WORDS else _ZERO
            s = a + offset[j]
            t = s + carry
            carry = _ONE if s < a or t < s else _ZERO
            out[i, j] = t


@inner
def _digit(shifted, i, w, c):
    """The signed digit of scalar i in window w."""
    at = w * c
    word, bit = at >> 6, np.uint64(at & 63)
    x = shifted[i, word] >> bit
    if bit + np.uint64(c) > _SIXTY_FOUR and word + 1 < _SHIFTED_WORDS:
        x |= shifted[i, word + 1] << (_SIXTY_FOUR - bit)
    return np.int64(x & ((_ONE << np.uint64(c)) - _ONE)) - (1 << (c - 1))


@kernel
def _window_sum(out, points, shifted, w, c, buckets):
    """Row w of out = sum_i digit_w(k_i) P_i.  buckets (2^(c-1) + 1, 18) is scratch: row d gets the sum of the points with digit +-d."""
    top = 1 << (c - 1)
    for d in range(1, top + 1):
        g1_infinity(row(buckets, d))
    opposite = stack(12)
    for i in range(len(points)):
        d = _digit(shifted, i, w, c)
        p = row(points, i)
        if d > 0:
            g1_add_mixed(row(buckets, d), row(buckets, d), p)
        elif d < 0:
            g1_affine_neg(opposite, p)
            g1_add_mixed(row(buckets, -d), row(buckets, -d), opposite)
    total, running = row(out, w), stack(18)
    g1_infinity(total)
    g1_infinity(running)
    for d in range(top, 0, -1):  # sum_d d S_d = sum_d (S_d + S_(d+1) + ...)
        g1_add(running, running, row(buckets, d))
        g1_add(total, total, running)


@kernel
def _join_windows(out, sums, c):
    """out (1, 18) = sum_w 2^(cw) sums_w."""
    total = row(out, 0)
    g1_infinity(total)
    for w in range(len(sums) - 1, -1, -1):
        for _ in range(c):
            g1_double(total, total)
        g1_add(total, total, row(sums, w))


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

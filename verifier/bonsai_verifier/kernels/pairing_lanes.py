"""Products of pairings in lanes: the contracts of pairing.py.  A vector body: compiled only where cpu.py says that it may run.

What belongs to a line, and not to f, is worked out for eight lines of a point at once, a line in each lane; three points together, so that
f is multiplied once a step, by a product of three lines.  f itself takes two blocks (fp12_lanes.py).

An Fp2 of eight lanes is two blocks, c0 | c1, here with limbs of at most 56 bits and a sign, and a value in [0, 64 p].
"""

from collections.abc import Sequence

import numpy as np

from . import pairing
from .cache import kernel
from .fp import FP_BYTES
from .fp12 import FP12_WORDS, fp12_inv
from .fp12_lanes import (
    LANE12_BYTES,
    MOST_SQUARINGS,
    digits,
    lane12_conj,
    lane12_copy,
    lane12_cyclotomic_sqr,
    lane12_enter,
    lane12_frobenius,
    lane12_frobenius_2,
    lane12_leave,
    lane12_mul,
    lane12_one,
    lane12_sqr_twice,
    multiple_of_p,
)
from .fp_lanes import FP_BLOCK, FP_LANES, fp8_enter
from .g1 import G1_AFFINE_WORDS
from .intrinsics import formula, operation
from .lane_machine import LANES, Machine, together
from .lane_operations import blocks
from .lanes import constant, load, load_blocks, minus, plus, product_columns, reduce, store_blocks, transpose
from .limbs import row, rows, stack
from .pairing import DOUBLES, LINE_WORDS, N_LINES, STEPS, Element, last_exponentiation, scale_points

TOGETHER = 3  # points whose lines are multiplied before they meet f

_OCTETS = -(-N_LINES // LANES)
_PAIR = 2 * FP_BLOCK  # bytes of an Fp2
_LINE = 2 * _PAIR
_POINT = 2 * FP_BLOCK
_N = FP_LANES.n


# Fp2, eight at a time --------------------------------------------------------------------------------------------------------


def multiply_2(m, f, x, y):
    """x y = (x0 y0 - x1 y1) + ((x0 + x1)(y0 + y1) - x0 y0 - x1 y1) u, in [0, 3 p]."""
    (x0, x1, both_x), (y0, y1, both_y) = ([digits(m, part) for part in (*z, plus(m, *z))] for z in (x, y))
    low, high, mixed = (product_columns(m, *z) for z in ((x0, y0), (x1, y1), (both_x, both_y)))
    columns = minus(m, low, high), minus(m, mixed, plus(m, low, high))
    raised = (
        [*t[:_N], *plus(m, t[_N:], multiple_of_p(m, f, 1))] for t in columns
    )  # by R p, so that nothing is negative
    return together(*(reduce(m, f, t) for t in raised))


def _read(m, a):
    return load_blocks(m, FP_LANES, a, 2)


def _write(m, d, x):
    store_blocks(m, FP_LANES, d, x)


@operation
def fp2x8_mul(b, d, a, c):
    """a c, in [0, 3 p]."""
    m = Machine(b)
    _write(m, d, multiply_2(m, FP_LANES, _read(m, a), _read(m, c)))


@operation
def fp2x8_mul_fp(b, d, a, c):
    """a c for c in Fp, in [0, 2 p]."""
    m = Machine(b)
    x, y = _read(m, a), digits(m, load(m, FP_LANES, c))
    _write(m, d, together(*(reduce(m, FP_LANES, product_columns(m, digits(m, part), y)) for part in x)))


@operation
def fp2x8_add(b, d, a, c):
    """a + c."""
    m = Machine(b)
    _write(m, d, [plus(m, x, y) for x, y in zip(_read(m, a), _read(m, c))])


@operation
def _mixed(b, d, a, c, e):
    """a - c - e, for c and e in [0, 3 p]."""
    m = Machine(b)
    _write(
        m,
        d,
        [
            plus(m, minus(m, minus(m, x, y), z), multiple_of_p(m, FP_LANES, 6))
            for x, y, z in zip(_read(m, a), _read(m, c), _read(m, e))
        ],
    )


@operation
def _add_xi_times(b, d, a, c):
    """a + xi c, for c in [0, 8 p]."""
    m = Machine(b)
    x, (y0, y1) = _read(m, a), _read(m, c)
    xi_y = plus(m, minus(m, y0, y1), multiple_of_p(m, FP_LANES, 8)), plus(m, y0, y1)
    _write(m, d, [plus(m, u, v) for u, v in zip(x, xi_y)])


@operation
def _xi_times(b, d, c):
    """xi c, for c in [0, 8 p]."""
    m = Machine(b)
    x, y = _read(m, c)
    _write(m, d, [plus(m, minus(m, x, y), multiple_of_p(m, FP_LANES, 8)), plus(m, x, y)])


@operation
def _add_xi(b, d):
    """d + xi."""
    m = Machine(b)
    one = constant(m, FP_LANES, 1)
    _write(m, d, [plus(m, x, one) for x in _read(m, d)])


@operation
def _transpose_half(b, d, a):
    """Eight elements, of which this writes one block each, from a_i, a_j, a_k of Fp2 in eight lanes."""
    m = Machine(b)
    parts = load_blocks(m, FP_LANES, a, 6)
    for j in range(_N):
        for i, lanes in enumerate(transpose(m, [*(part[j] for part in parts), parts[0][j], parts[1][j]])):
            m.store(m.offset(d, LANE12_BYTES * i), j, lanes)


# Lines -----------------------------------------------------------------------------------------------------------------------


@formula
def _linear_product(d, a, c):
    """(a0 + a1 v)(c0 + c1 v) = d0 + d1 v + d2 v^2.  3M."""
    s, t = stack(128), stack(128)
    fp2x8_add(s, a, a + _PAIR)
    fp2x8_add(t, c, c + _PAIR)
    fp2x8_mul(s, s, t)
    fp2x8_mul(d, a, c)
    fp2x8_mul(d + 2 * _PAIR, a + _PAIR, c + _PAIR)
    _mixed(d + _PAIR, s, d, d + 2 * _PAIR)


@formula
def _three_lines(d, a, b, c):
    """a_0 | ... | a_5 with sum a_i w^i = (a + v w)(b + v w)(c + v w), for a = l0 + l1 v of three lines.  11M.

    As (v w)^2 = v^3 = xi, the first two give g + h v w with g = a b + xi, h = a + b; and all three (g c + xi h) + (h c + g) v w.
    """
    g, h, gc, hc, t = stack(384), stack(256), stack(384), stack(384), stack(128)
    _linear_product(g, a, b)
    _add_xi(g)
    fp2x8_add(h, a, b)
    fp2x8_add(h + _PAIR, a + _PAIR, b + _PAIR)

    _linear_product(gc, g, c)
    fp2x8_mul(t, g + 2 * _PAIR, c)
    fp2x8_add(d + 4 * _PAIR, gc + 2 * _PAIR, t)  # v^2
    fp2x8_mul(t, g + 2 * _PAIR, c + _PAIR)  # v^3
    fp2x8_add(t, t, h)
    _add_xi_times(d, gc, t)
    _add_xi_times(d + 2 * _PAIR, gc + _PAIR, h + _PAIR)

    _linear_product(hc, h, c)
    fp2x8_add(d + 3 * _PAIR, hc, g)
    fp2x8_add(d + 5 * _PAIR, hc + _PAIR, g + _PAIR)
    fp2x8_add(t, hc + 2 * _PAIR, g + 2 * _PAIR)
    _xi_times(d + _PAIR, t)


@formula
def _scaled_line(d, line, point):
    """l0 (1/yP) | l1 (xP/yP), for the blocks of xP/yP | 1/yP."""
    fp2x8_mul_fp(d, line, point + FP_BLOCK)
    fp2x8_mul_fp(d + _PAIR, line + _PAIR, point)


@formula
def _elements(d, lines, points):
    """Eight elements, the products of the lines in eight lanes: of three points, lines and points one after the other."""
    a, product = stack(TOGETHER * 256), stack(768)
    for i in range(TOGETHER):
        _scaled_line(a + _LINE * i, lines + _OCTETS * _LINE * i, points + _POINT * i)
    _three_lines(product, a, a + _LINE, a + 2 * _LINE)
    _transpose_half(d, product)
    _transpose_half(d + FP_BLOCK, product + 3 * _PAIR)


# The last exponentiation -----------------------------------------------------------------------------------------------------


@formula
def _inv(d, a):
    """1/a, and 0 for a = 0."""
    t = stack(72)
    lane12_leave(t, a)
    fp12_inv(t, t)
    lane12_enter(d, t)


@formula
def _pow_z(d, a):
    """a^z for a in the cyclotomic subgroup: conj(a^|z|).  d must not be a."""
    lane12_copy(d, a)
    runs = STEPS.split("1")
    for i, zeros in enumerate(runs):
        n = len(zeros) + (i < len(runs) - 1)
        for done in range(0, n, MOST_SQUARINGS):
            lane12_cyclotomic_sqr(d, min(n - done, MOST_SQUARINGS))
        if i < len(runs) - 1:
            lane12_mul(d, d, a)
    lane12_conj(d, d)


_last_exponentiation = last_exponentiation(
    "lane12",
    Element(stack, LANE12_BYTES // 8, lane12_mul, lane12_conj, _inv, lane12_frobenius, lane12_frobenius_2, _pow_z),
)


# The product -----------------------------------------------------------------------------------------------------------------


@formula
def _enter_point(d, a):
    """The blocks of xP/yP | 1/yP, the same in every lane."""
    fp8_enter(d, a, 0)
    fp8_enter(d + FP_BLOCK, a + FP_BYTES, 0)


@formula
def _enter_lines(d, a):
    """The blocks of eight lines."""
    for i in range(4):
        fp8_enter(d + FP_BLOCK * i, a + FP_BYTES * i, 8 * LINE_WORDS)


@kernel
def _enter_all_lines(out, lines):
    """In: lines (8 n, 24).  Out: out (n, words of 4 blocks)."""
    for i in range(len(out)):
        _enter_lines(row(out, i), row(lines, LANES * i))


def prepare(q: np.ndarray) -> np.ndarray | None:
    """As pairing.prepare: 9 octets of lines."""
    lines = pairing.prepare(q)
    if lines is None:
        return None
    padded = np.zeros((_OCTETS * LANES, LINE_WORDS), np.uint64)
    padded[:N_LINES] = lines
    entered = _lines(1)
    _enter_all_lines(entered, padded)
    return entered


def joined(lines: Sequence[np.ndarray]) -> np.ndarray:
    """As pairing.joined; zeros fill up to three points."""
    out = _lines(-(-len(lines) // TOGETHER) * TOGETHER)
    for i, of_point in enumerate(lines):
        out[i * _OCTETS : (i + 1) * _OCTETS] = of_point
    out[len(lines) * _OCTETS :] = 0
    return out


def _lines(n: int) -> np.ndarray:
    """Uninitialised memory for the lines of n points, aligned."""
    return blocks(4 * n * _OCTETS, FP_LANES).reshape(n * _OCTETS, _LINE // 8)


@kernel
def _product(out, points, lines, scratch):
    """out (1, 72) = the product for 3 n scaled points (3 n, 12) and their lines; scratch (3 n + 8 n, 128) for points and elements.

    A point that fills up is (0, 0), with lines w^3, which the last exponentiation loses.
    """
    n = len(points) // TOGETHER
    f = stack(128)
    elements = TOGETHER * n
    for i in range(len(points)):
        _enter_point(row(scratch, i), row(points, i))
    lane12_one(f)
    for octet in range(_OCTETS):
        for i in range(n):
            at = row(lines, i * TOGETHER * _OCTETS + octet)
            _elements(row(scratch, elements + LANES * i), at, row(scratch, i * TOGETHER))
        for line in range(min(LANES, N_LINES - octet * LANES)):
            if DOUBLES[octet * LANES + line]:
                lane12_sqr_twice(f, f)
            for i in range(n):
                lane12_mul(f, f, row(scratch, elements + LANES * i + line))
    lane12_conj(f, f)
    _last_exponentiation(f)
    lane12_leave(row(out, 0), f)


def product(g1: np.ndarray, lines: np.ndarray) -> np.ndarray:
    """As pairing.product."""
    g1 = rows(g1, G1_AFFINE_WORDS)
    points, out = np.zeros((len(lines) // _OCTETS, G1_AFFINE_WORDS), np.uint64), np.zeros((1, FP12_WORDS), np.uint64)
    if scale_points(points[: len(g1)], g1):
        scratch = blocks(2 * len(points) * (LANES + TOGETHER) // TOGETHER, FP_LANES)
        _product(out, points, lines, scratch.reshape(-1, LANE12_BYTES // 8))
    return out[0]

"""The vector bodies of sparse.py's `square_rows` and `broken_row`: eight rows a block, reduced at once.

An entry adds the columns of its product to those of a lane.  Short rows have a lane each, and their entries come in turn; of long ones
a row's entries come eight at a time, and its lanes are added up in the end.  A block takes whichever is fewer steps.  A product of a
canonical coefficient and a value in the Montgomery form of words is c z 2^256 - and 2^-260 of it after `reduce`.
"""

import numpy as np
from llvmlite import ir

from bonsai_verifier.kernels.cache import inner, kernel
from bonsai_verifier.kernels.fr import FR_WORDS
from bonsai_verifier.kernels.fr_lanes import FR_LANES, fr8_equals, fr8_mul, fr8_sqr, fr8_zero
from bonsai_verifier.kernels.intrinsics import I64, operation
from bonsai_verifier.kernels.lane_machine import LANES, LIMB_BITS, VECTOR_BYTES, Machine, together
from bonsai_verifier.kernels.lanes import (
    carry,
    constant,
    limbs_from_words,
    load_rows,
    multiply,
    product_columns,
    reduce,
    store,
    transpose,
)
from bonsai_verifier.kernels.limbs import row, stack
from bonsai_verifier.parameters import FR_MODULUS

from . import sparse

_I32 = ir.IntType(32)
COLUMNS = 2 * FR_LANES.n
_COLUMN_BYTES = VECTOR_BYTES * COLUMNS
_ALL = 2**LANES - 1
MAX_ENTRIES = 2**17  # of a row: see `row_sums`


def add_entries(m, columns, coefficients, values, there):
    """The columns and those of c z, carried, but for the top one.  In: words, four vectors each; `there`, a mask: c counts as 0 elsewhere.

    Column 9 takes less than r^2 / 2^468 < 2^42 an entry.
    """
    f = FR_LANES
    c = [m.select(there, limb, m.zero) for limb in limbs_from_words(m, f, coefficients)]
    return carry(m, product_columns(m, c, limbs_from_words(m, f, values), columns))


def row_sums(m, columns):
    """In: of eight rows the vectors of lanes of each column: columns[k][i] of row i.  Out: as `lane_sums`."""
    t = []
    for rows in columns:
        lanes = transpose(m, rows)
        while len(lanes) > 1:
            lanes = [m.add(a, b) for a, b in zip(lanes[::2], lanes[1::2])]
        t += lanes
    return lane_sums(m, t)


def lane_sums(m, columns):
    """In: the columns of a row in each lane.  Out: the sums in the Montgomery form of lanes, weak.

    A row of MAX_ENTRIES has column 9 below 2^(17 + 42), so below 2^60 with carries; what is above 2^512 in it is below 2^16 and
    comes back times 2^512 mod r.  Below 2^512 + 2^16 r then, so 4.9/35 r + 1.001 r at most is left by the reduction.
    """
    f = FR_LANES
    t = carry(m, columns)
    top = m.claim(t[-1], 0, 2**60)
    above = m.shr(top, 512 - LIMB_BITS * (COLUMNS - 1))
    t[-1] = m.and_(top, m.const(2 ** (512 - LIMB_BITS * (COLUMNS - 1)) - 1))
    for i, limb in enumerate(f.limbs(2**512 % FR_MODULUS)):
        t[i] = m.lo(t[i], above, m.const(limb))
        t[i + 1] = m.hi(t[i + 1], above, m.const(limb))
    (x,) = together(reduce(m, f, t))
    return together(multiply(m, f, x, constant(m, f, 2 ** (2 * LIMB_BITS * f.n - 256))))[0]


@operation
def _clear(b, columns):
    m = Machine(b)
    for k in range(COLUMNS):
        m.store(columns, k, m.zero)


@operation
def _add_entries(b, columns, coefficient, wire, z, n):
    """n <= 8 entries from `coefficient` and `wire` (int32) on."""
    m = Machine(b)
    last = b.sub(n, I64(1))
    rows, values = [], []
    for lane in range(LANES):
        entry = b.select(b.icmp_signed("<", I64(lane), last), I64(lane), last)
        rows.append(b.add(coefficient, b.shl(entry, I64(5))))
        at = b.inttoptr(b.add(wire, b.shl(entry, I64(2))), _I32.as_pointer())
        values.append(b.add(z, b.shl(b.zext(b.load(at, align=4), I64), I64(5))))
    there = m.mask(b.sub(b.shl(I64(1), n), I64(1)))
    old = [m.load(columns, k) for k in range(COLUMNS)]
    new = add_entries(m, old, load_rows(m, rows, FR_WORDS), load_rows(m, values, FR_WORDS), there)
    for k in range(COLUMNS):
        m.store(columns, k, new[k])


@operation
def _add_in_turn(b, columns, start, k, coeff, wire, z):
    """Entry k of each of eight rows that has one.  In: addresses: of their starts (int64), of all coefficients and wires."""
    m = Machine(b)
    starts = [b.load(b.inttoptr(b.add(start, I64(8 * i)), I64.as_pointer()), align=8) for i in range(LANES + 1)]
    rows, values, bits = [], [], I64(0)
    for lane in range(LANES):
        entry = b.add(starts[lane], k)
        there = b.icmp_signed("<", entry, starts[lane + 1])
        bits = b.or_(bits, b.shl(b.zext(there, I64), I64(lane)))
        entry = b.select(there, entry, I64(0))
        rows.append(b.add(coeff, b.shl(entry, I64(5))))
        at = b.inttoptr(b.add(wire, b.shl(entry, I64(2))), _I32.as_pointer())
        values.append(b.add(z, b.shl(b.zext(b.load(at, align=4), I64), I64(5))))
    old = [m.load(columns, i) for i in range(COLUMNS)]
    new = add_entries(m, old, load_rows(m, rows, FR_WORDS), load_rows(m, values, FR_WORDS), m.mask(bits))
    for i in range(COLUMNS):
        m.store(columns, i, new[i])


@operation
def _lane_sums(b, d, columns):
    """The block of the sums of eight rows, a lane each."""
    m = Machine(b)
    store(m, FR_LANES, d, lane_sums(m, [m.load(columns, k) for k in range(COLUMNS)]))


@operation
def _row_sums(b, d, columns):
    """The block of the sums of eight rows, whose columns follow each other."""
    m = Machine(b)
    read = [[m.load(m.offset(columns, _COLUMN_BYTES * i), k) for i in range(LANES)] for k in range(COLUMNS)]
    store(m, FR_LANES, d, row_sums(m, read))


@inner
def _rows(d, columns, first, start, wire, coeff, z):
    """The block of rows first .. first + 7 of a matrix, 0 beyond the last."""
    n = len(start) - 1
    longest, by_row = 0, LANES  # steps if each row has a lane; if each has all lanes, whose sums are dearer
    for i in range(first, min(first + LANES, n)):
        entries = start[i + 1] - start[i]
        longest = max(longest, entries)
        by_row += (entries + LANES - 1) // LANES
    if first + LANES <= n and longest <= by_row:
        _clear(columns)
        for k in range(longest):
            _add_in_turn(columns, start.ctypes.data + 8 * first, k, coeff.ctypes.data, wire.ctypes.data, z)
        _lane_sums(d, columns)
        return
    for lane in range(LANES):
        own = columns + _COLUMN_BYTES * lane
        _clear(own)
        i = first + lane
        if i < n:
            end = start[i + 1]
            for e in range(start[i], end, LANES):
                _add_entries(own, row(coeff, e), wire.ctypes.data + 4 * e, z, min(end - e, LANES))
    _row_sums(d, columns)


@inner
def _first_lane(bits):
    """The lowest lane that is not among the bits."""
    lane = 0
    while bits >> lane & 1:
        lane += 1
    return lane


@kernel
def _square_rows(a_values, b_values, a_start, a_wire, a_coeff, b_start, b_wire, b_coeff, z, places, first, end):
    columns = stack(640)  # 8 rows
    n = len(a_start) - 1
    for t in range(first, end):
        a, b = row(a_values, places[t]), row(b_values, places[t])
        if LANES * t >= n:
            fr8_zero(a)
            fr8_zero(b)
            continue
        _rows(a, columns, LANES * t, a_start, a_wire, a_coeff, row(z, 0))
        _rows(columns, columns, LANES * t, b_start, b_wire, b_coeff, row(z, 0))
        fr8_sqr(b, a)
        equal = fr8_equals(b, columns)
        if equal != _ALL:
            return LANES * t + _first_lane(equal)
    return -1


@kernel
def _broken_row(a_start, a_wire, a_coeff, b_start, b_wire, b_coeff, c_start, c_wire, c_coeff, z):
    columns, a, b = stack(640), stack(40), stack(40)
    for first in range(0, len(a_start) - 1, LANES):
        _rows(a, columns, first, a_start, a_wire, a_coeff, row(z, 0))
        _rows(b, columns, first, b_start, b_wire, b_coeff, row(z, 0))
        _rows(columns, columns, first, c_start, c_wire, c_coeff, row(z, 0))
        fr8_mul(a, a, b)
        equal = fr8_equals(a, columns)
        if equal != _ALL:
            return first + _first_lane(equal)
    return -1


def broken_row(a, b, c, z):
    """As the portable body says."""
    if _too_long(a, b, c):
        return sparse.broken_row(a, b, c, z)
    return _broken_row(*a, *b, *c, z)


def _too_long(*matrices):
    return max(int(np.diff(start).max(initial=0)) for start, _, _ in matrices) > MAX_ENTRIES


def square_rows(transforms, a_values, b_values, a, b, z, at):
    """As the portable body says."""
    if _too_long(a, b):
        return _one_by_one(transforms, a_values, b_values, a, b, z) if at.start == 0 else -1
    return _square_rows(a_values, b_values, *a, *b, z, transforms.places, at.start // LANES, at.stop // LANES)


def _one_by_one(transforms, a_values, b_values, a, b, z):
    """All rows, by the portable body."""
    n = transforms.size
    words = np.empty((2, n, FR_WORDS), np.uint64)
    failed = sparse.fill_square_rows(*words, *a, *b, z, np.arange(n), 0, n)
    if failed < 0:
        a_values[:], b_values[:] = map(transforms.read_values, words)
    return failed

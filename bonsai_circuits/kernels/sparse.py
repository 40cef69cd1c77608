"""Products of sparse matrices with vectors over Fr.

A matrix is (start, wire, coeff): the entries of row i are start_i .. start_(i+1) - 1, each a column `wire` and a canonical value.
A Montgomery product of a canonical and a Montgomery number is canonical: coefficients are never converted, sums are, once.
"""

from bonsai_verifier.kernels.cache import inner, kernel
from bonsai_verifier.kernels.fr import (
    FR_BYTES,
    FR_WORDS,
    fr_add,
    fr_copy,
    fr_eq,
    fr_mul,
    fr_reduce,
    fr_to_mont,
    fr_zero,
)
from bonsai_verifier.kernels.limbs import constant, row, stack

from .combination import combine

_one = constant("sparse_one", 1, FR_WORDS)


@inner
def _row(out, start, end, wire, coeff, z, one):
    """<row, z> of the entries start .. end - 1, Montgomery.  In: addresses of coefficients and values, and of the number 1; all wires."""
    others, rest = stack(9), stack(4)
    if combine(out, others, start, end, wire, coeff, z, one):
        fr_reduce(rest, others)
        fr_to_mont(rest, rest)
        fr_add(out, out, rest)


@kernel
def sparse_rows(out, start, wire, coeff, z):
    """out_i = <row i, z>.  In: z (n, 4) Montgomery, every wire below n.  Out: out (rows, 4) Montgomery."""
    one = stack(4)
    _one(one)
    for i in range(start.shape[0] - 1):
        _row(row(out, i), start[i], start[i + 1], wire, coeff.ctypes.data, z.ctypes.data, one)


@kernel
def sparse_columns(out, start, wire, coeff, y):
    """out_j = <column j, y>.  In: y (rows, 4) Montgomery, every wire below len(out).  Out: out (n, 4) Montgomery."""
    coeffs, values, sums = coeff.ctypes.data, y.ctypes.data, out.ctypes.data
    term = stack(4)
    for j in range(out.shape[0]):
        fr_zero(sums + FR_BYTES * j)
    for i in range(start.shape[0] - 1):
        for e in range(start[i], start[i + 1]):
            fr_mul(term, coeffs + FR_BYTES * e, values + FR_BYTES * i)
            acc = sums + FR_BYTES * wire[e]
            fr_add(acc, acc, term)
    for j in range(out.shape[0]):
        fr_to_mont(sums + FR_BYTES * j, sums + FR_BYTES * j)


@kernel
def _broken_row(a_start, a_wire, a_coeff, b_start, b_wire, b_coeff, c_start, c_wire, c_coeff, z):
    a, b, c, one, values = stack(4), stack(4), stack(4), stack(4), z.ctypes.data
    _one(one)
    for i in range(len(a_start) - 1):
        _row(a, a_start[i], a_start[i + 1], a_wire, a_coeff.ctypes.data, values, one)
        _row(b, b_start[i], b_start[i + 1], b_wire, b_coeff.ctypes.data, values, one)
        _row(c, c_start[i], c_start[i + 1], c_wire, c_coeff.ctypes.data, values, one)
        fr_mul(a, a, b)
        if not fr_eq(a, c):
            return i
    return -1


def broken_row(a, b, c, z):
    """The first i with <A_i, z> <B_i, z> != <C_i, z>, or -1.  In: matrices (start, wire, coeff) of as many rows; z (n, 4) Montgomery."""
    return _broken_row(*a, *b, *c, z)


@kernel
def fill_square_rows(a_values, b_values, a_start, a_wire, a_coeff, b_start, b_wire, b_coeff, z, places, first, end):
    """`square_rows`, row i in row places_i of its vectors."""
    a, b, square, one, values = stack(4), stack(4), stack(4), stack(4), z.ctypes.data
    _one(one)
    n = len(a_start) - 1
    for i in range(first, min(n, end)):
        _row(a, a_start[i], a_start[i + 1], a_wire, a_coeff.ctypes.data, values, one)
        _row(b, b_start[i], b_start[i + 1], b_wire, b_coeff.ctypes.data, values, one)
        fr_mul(square, a, a)
        if not fr_eq(square, b):
            return i
        fr_copy(row(a_values, places[i]), a)
        fr_copy(row(b_values, places[i]), b)
    for i in range(max(n, first), end):
        fr_zero(row(a_values, places[i]))
        fr_zero(row(b_values, places[i]))
    return -1


def square_rows(transforms, a_values, b_values, a, b, z, at):
    """The first i of a slice with <A_i, z>^2 != <B_i, z>, or -1.

    In: matrices (start, wire, coeff) with at most as many rows as the domain has points; z (n, 4) Montgomery; the slice begins with a
    multiple of 8 and ends with one, or with the domain.
    Out: in the vectors, those points of both values, 0 beyond the last row; unfinished if a row fails.
    """
    return fill_square_rows(a_values, b_values, *a, *b, z, transforms.places, at.start, at.stop)

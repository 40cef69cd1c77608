"""Products of sparse matrices with vectors over Fr.

A matrix is (start, wire, coeff): the entries of row i are start_i .. start_(i+1) - 1, each a column `wire` and a canonical value.
A Montgomery product of a canonical and a Montgomery number is canonical: coefficients are never converted, sums are, once.
"""

from bonsai_verifier.kernels.cache import kernel
from bonsai_verifier.kernels.fr import FR_BYTES, fr_add, fr_eq, fr_mul, fr_to_mont, fr_zero
from bonsai_verifier.kernels.limbs import stack


@kernel
def sparse_rows(out, start, wire, coeff, z):
    """out_i = <row i, z>.  In: z (n, 4) Montgomery, every wire below n.  Out: out (rows, 4) Montgomery."""
    coeffs, values = coeff.ctypes.data, z.ctypes.data
    acc, term = stack(4), stack(4)
    for i in range(start.shape[0] - 1):
        fr_zero(acc)
        for e in range(start[i], start[i + 1]):
            fr_mul(term, coeffs + FR_BYTES * e, values + FR_BYTES * wire[e])
            fr_add(acc, acc, term)
        fr_to_mont(out.ctypes.data + FR_BYTES * i, acc)


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
def first_row_not_square(a, b):
    """The least i with a_i^2 != b_i, or -1.  In: a, b (n, 4) Montgomery."""
    square = stack(4)
    for i in range(a.shape[0]):
        fr_mul(square, a.ctypes.data + FR_BYTES * i, a.ctypes.data + FR_BYTES * i)
        if not fr_eq(square, b.ctypes.data + FR_BYTES * i):
            return i
    return -1

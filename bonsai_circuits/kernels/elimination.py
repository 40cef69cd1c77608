"""Gaussian elimination of sparse rows over Fr, and vectors of the kernel.

A row is (wire, value) entries, values Montgomery.  Its pivot is its last wire after reduction, so rows that define wires one after
the other, as a circuit's do, are their own pivots and cost nothing.
"""

from bonsai_verifier.kernels.cache import inner, kernel
from bonsai_verifier.kernels.fr import (
    FR_BYTES,
    fr_copy,
    fr_inv,
    fr_is_zero,
    fr_mul,
    fr_one,
    fr_sub,
    fr_zero,
)
from bonsai_verifier.kernels.limbs import stack


@inner
def _mark(w, mark, touched, n):
    """Notes that wire w of the row at hand is in use.  Out: how many are."""
    if not mark[w]:
        mark[w] = 1
        touched[n] = w
        return n + 1
    return n


@kernel
def eliminate(first, start, wire, value, pivot, pool_start, pool_wire, pool_value, used, acc, mark, touched):
    """Reduces the rows from `first` on and keeps those that do not vanish.  Out: the row that comes next.

    In: start (rows + 1,), wire (nnz,) int32, value (nnz, 4) Montgomery.
    In/Out: pivot (n,) int32, the kept row that has this wire as its pivot, or -1; kept rows, without their pivot's entry, which is 1:
    pool_start (n + 1,) int64, pool_wire (m,) int32, pool_value (m, 4) Montgomery; used (1,) int64 kept rows.
    Scratch, zero before and after: acc (n, 4), mark (n,) uint8; touched (n,) int32.
    Stops early, and may be called again with a larger pool, if there is no room for a row.
    """
    a, pool, values = acc.ctypes.data, pool_value.ctypes.data, value.ctypes.data
    term, factor = stack(4), stack(4)
    for i in range(first, start.shape[0] - 1):
        n, top = 0, -1
        for e in range(start[i], start[i + 1]):
            w = wire[e]
            n = _mark(w, mark, touched, n)
            fr_copy(a + FR_BYTES * w, values + FR_BYTES * e)
            top = max(top, w)
        while top >= 0:
            at = a + FR_BYTES * top
            if mark[top] and not fr_is_zero(at):
                p = pivot[top]
                if p < 0:
                    break
                fr_copy(factor, at)
                fr_zero(at)
                for e in range(pool_start[p], pool_start[p + 1]):
                    w = pool_wire[e]
                    n = _mark(w, mark, touched, n)
                    fr_mul(term, factor, pool + FR_BYTES * e)
                    fr_sub(a + FR_BYTES * w, a + FR_BYTES * w, term)
            top -= 1
        full = False
        if top >= 0:
            k = used[0]
            end = pool_start[k]
            fr_inv(factor, a + FR_BYTES * top)
            for t in range(n):
                w = touched[t]
                at = a + FR_BYTES * w
                if w != top and not fr_is_zero(at):
                    if end == pool_wire.shape[0]:
                        full = True
                        break
                    pool_wire[end] = w
                    fr_mul(pool + FR_BYTES * end, at, factor)
                    end += 1
            if not full:
                pivot[top] = k
                pool_start[k + 1] = end
                used[0] = k + 1
        for t in range(n):
            w = touched[t]
            mark[w] = 0
            fr_zero(a + FR_BYTES * w)
        if full:
            return i
    return start.shape[0] - 1


@kernel
def kernel_vector(v, free, pivot, pool_start, pool_wire, pool_value):
    """v := the vector with 1 at the wire `free`, 0 at all other wires without a pivot, that every kept row maps to 0.  Out: v (n, 4)."""
    values, pool = v.ctypes.data, pool_value.ctypes.data
    term = stack(4)
    for w in range(v.shape[0]):
        at = values + FR_BYTES * w
        fr_zero(at)
        p = pivot[w]
        if p >= 0:
            for e in range(pool_start[p], pool_start[p + 1]):
                fr_mul(term, pool + FR_BYTES * e, values + FR_BYTES * pool_wire[e])
                fr_sub(at, at, term)
        elif w == free:
            fr_one(at)

"""What a satisfied system lets its wires do: each wire alone, exactly, and all wires together, to first order.

A row's residual is e = a b - c, or a^2 - b.  Change wire w alone by d.  With the coefficients f, g, h of w in a, b, c of an R1CS row

    e -> e + f g d^2 + (f b + g a - h) d,            and with f, g of w in a, b of a square row           e -> e + f^2 d^2 + (2 f a - g) d.

In a row that held, d is 0, or - linear / square, or anything if both vanish.  The coefficients of d are also the row of the Jacobian.
A square row a^2 = 0 is taken for what it says, a = 0, which has a derivative.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.field import fr_add, fr_from_canonical, fr_inv, fr_mul, fr_sub, fr_to_canonical

from ..kernels.sparse import sparse_rows
from .system import R1CS, Int64, SparseRows, SquareR1CS, UInt64


class Change(IntEnum):
    """The values that one wire can take while all others stay: its own, one more, or any."""

    HELD = 0
    ONE_OTHER = 1
    ANY = 2


@dataclass(frozen=True, slots=True, eq=False)
class Deviations:
    """For every (row, wire) entry of a system, by rows, then wires: what changing the wire by d adds to the row, square d^2 + linear d.

    row, wire (m,) int64; square, linear (m, 4) Montgomery.
    """

    n_rows: int
    n_wires: int
    row: Int64
    wire: Int64
    square: UInt64
    linear: UInt64

    @classmethod
    def of(cls, system: R1CS | SquareR1CS, z: UInt64) -> "Deviations":
        """In: z (n_wires, 4) Montgomery, which satisfies the system."""
        matrices = (system.a, system.b, system.c) if isinstance(system, R1CS) else (system.a, system.b)
        keys = [
            np.repeat(np.arange(m.n_rows), np.diff(m.start)) * system.n_wires + m.wire.astype(np.int64)
            for m in matrices
        ]
        entries = np.unique(np.concatenate(keys))
        row, wire = np.divmod(entries, max(system.n_wires, 1))
        coefficients = []
        for matrix, key in zip(matrices, keys, strict=True):
            found = np.zeros((len(entries), 4), np.uint64)
            found[np.searchsorted(entries, key)] = fr_from_canonical(matrix.coeff)
            coefficients.append(found)
        f, g, a = coefficients[0], coefficients[1], _times(system.a, z)[row]
        if isinstance(system, R1CS):
            b = _times(system.b, z)[row]
            linear = fr_sub(fr_add(fr_mul(f, b), fr_mul(g, a)), coefficients[2])
            return cls(system.n_rows, system.n_wires, row, wire, fr_mul(f, g), linear)
        fa = fr_mul(f, a)
        square, linear = fr_mul(f, f), fr_sub(fr_add(fa, fa), g)
        is_linear = (np.diff(system.b.start) == 0)[row]
        square[is_linear], linear[is_linear] = 0, f[is_linear]
        return cls(system.n_rows, system.n_wires, row, wire, square, linear)

    def after(self, n_rows: int) -> "Deviations":
        """Those of all rows but the first n_rows, as if these did not exist."""
        kept = self.row >= n_rows
        return Deviations(
            self.n_rows, self.n_wires, self.row[kept], self.wire[kept], self.square[kept], self.linear[kept]
        )

    def alone(self) -> NDArray[np.int8]:
        """The Change of every wire, (n_wires,): exact, for all values there are."""
        has_square, has_linear = self.square.any(axis=1), self.linear.any(axis=1)
        held = np.zeros(self.n_wires, np.bool_)
        held[self.wire[has_square != has_linear]] = True
        two = np.flatnonzero(has_square & has_linear & ~held[self.wire])
        wires, other = self.wire[two], fr_mul(self.linear[two], fr_inv(self.square[two]))
        found, first, which = np.unique(wires, return_index=True, return_inverse=True)
        held[wires[(other != other[first][which]).any(axis=1)]] = True
        change = np.full(self.n_wires, Change.ANY, np.int8)
        change[found] = Change.ONE_OTHER
        change[held] = Change.HELD
        return change

    def jacobian(self, fixed: NDArray[np.bool_]) -> SparseRows:
        """The derivatives of all rows by the wires that are not fixed (n_wires,): coefficients canonical, non-zero."""
        kept = np.flatnonzero(self.linear.any(axis=1) & ~fixed[self.wire])
        start = np.zeros(self.n_rows + 1, np.int64)
        np.cumsum(np.bincount(self.row[kept], minlength=self.n_rows), out=start[1:])
        return SparseRows(start, self.wire[kept].astype(np.int32), fr_to_canonical(self.linear[kept]))


def _times(matrix: SparseRows, z: UInt64) -> UInt64:
    out = np.empty((matrix.n_rows, 4), np.uint64)
    sparse_rows(out, matrix.start, matrix.wire, matrix.coeff, np.ascontiguousarray(z))
    return out

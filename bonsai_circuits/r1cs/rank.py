"""Sparse rows over Fr in echelon form: rank, free wires, kernel."""

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.field import fr_from_canonical

from ..kernels.elimination import eliminate, kernel_vector
from .system import Int32, Int64, SparseRows, UInt64

_FIRST_POOL = 2**16


class Echelon:
    """Rows over n wires, reduced as they are added; the pivot of a kept row is its last wire."""

    def __init__(self, n: int) -> None:
        self._pivot = np.full(n, -1, np.int32)
        self._start = np.zeros(n + 1, np.int64)
        self._wire = np.empty(_FIRST_POOL, np.int32)
        self._value = np.empty((_FIRST_POOL, 4), np.uint64)
        self._used = np.zeros(1, np.int64)

    def add(self, start: Int64, wire: Int32, value: UInt64) -> None:
        """Adds rows: the entries of row i are start_i .. start_(i+1) - 1, values (nnz, 4) Montgomery."""
        n, row = len(self._pivot), 0
        scratch = np.zeros((n, 4), np.uint64), np.zeros(n, np.uint8), np.empty(n, np.int32)
        while True:
            kept = self._pivot, self._start, self._wire, self._value, self._used
            row = eliminate(row, start, wire, value, *kept, *scratch)
            if row == len(start) - 1:
                return
            self._wire = np.concatenate([self._wire, np.empty_like(self._wire)])
            self._value = np.concatenate([self._value, np.empty_like(self._value)])

    def add_matrix(self, rows: SparseRows) -> None:
        self.add(rows.start, rows.wire, fr_from_canonical(rows.coeff))

    @property
    def rank(self) -> int:
        return int(self._used[0])

    def free(self) -> Int64:
        """The wires without a pivot, ascending: the kernel has one vector for each, 1 there and 0 at the others."""
        return np.flatnonzero(self._pivot < 0)

    def kernel_vector(self, free: int) -> NDArray[np.uint64]:
        """That vector, (n, 4) Montgomery."""
        v = np.empty((len(self._pivot), 4), np.uint64)
        kernel_vector(v, free, self._pivot, self._start, self._wire, self._value)
        return v

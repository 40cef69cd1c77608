"""Constraint systems as arrays: R1CS, row i says <a,z><b,z> = <c,z>, and Square R1CS, row i says <a,z>^2 = <b,z>.

z = (1, public..., private...): wire 0 is the constant one, wires 1 .. len(public) are the public inputs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.field import ints_from_limbs, limbs_from_ints
from bonsai_verifier.parameters import FR_MODULUS

from ..errors import InputError

Int32: TypeAlias = NDArray[np.int32]
Int64: TypeAlias = NDArray[np.int64]
UInt64: TypeAlias = NDArray[np.uint64]

MAX_WIRES = 2**31  # wires are int32


def are_starts(start: Int64, n: int) -> bool:
    """Whether start is 0 <= ... <= n, beginning with 0 and ending with n: then every slice between two of them is inside."""
    return bool(len(start) and start[0] == 0 and start[-1] == n and (start[1:] >= start[:-1]).all())


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """One matrix by rows: the terms of row i stand at start[i] .. start[i + 1].

    start (n_rows + 1,) int64; wire (nnz,) int32, strictly ascending within a row; coeff (nnz, 4) uint64, canonical, non-zero.
    """

    start: Int64
    wire: Int32
    coeff: UInt64

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[int, int]]) -> "SparseRows":
        """Rows given as {wire: coefficient}.

        Raises InputError: a coefficient outside [1, r) (a zero is not dropped silently), a wire outside [0, 2^31).
        """
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        start = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths, out=start[1:])
        n = int(start[-1])
        wire = np.fromiter(chain.from_iterable(rows), np.int64, n)
        row_of = np.repeat(np.arange(len(rows)), lengths)
        for i in row_of[(wire < 0) | (wire >= MAX_WIRES)]:
            raise InputError(f"row {i}", "a wire is not in [0, 2^31)")
        coeffs = [coeff for row in rows for coeff in row.values()]
        if coeffs and not 0 < min(coeffs) <= max(coeffs) < FR_MODULUS:
            i = next(i for i, coeff in zip(row_of, coeffs, strict=True) if not 0 < coeff < FR_MODULUS)
            raise InputError(f"row {i}", "a coefficient is not in [1, r)")
        order = np.lexsort((wire, row_of))
        return cls(start, wire[order].astype(np.int32), limbs_from_ints(coeffs, 4)[order])

    @property
    def n_rows(self) -> int:
        return len(self.start) - 1

    @property
    def nnz(self) -> int:
        return len(self.wire)

    def row(self, i: int) -> list[tuple[int, int]]:
        """Row i as (wire, coefficient) in ascending order of wires."""
        terms = slice(int(self.start[i]), int(self.start[i + 1]))
        return list(zip(self.wire[terms].tolist(), ints_from_limbs(self.coeff[terms]), strict=True))

    def rows(self) -> list[dict[int, int]]:
        """All rows as {wire: coefficient}."""
        wires, coeffs, starts = self.wire.tolist(), ints_from_limbs(self.coeff), self.start.tolist()
        return [dict(zip(wires[i:j], coeffs[i:j], strict=True)) for i, j in pairwise(starts)]


@dataclass(frozen=True, slots=True, eq=False)
class Origins:
    """Where each row was made: scope path, the line that made it, the circuit author's own line below it, and the row's label.

    (n_rows,) int32 each; scope, file, user_file and label are indices into strings; line 0 means that the line is not known.
    """

    scope: Int32
    file: Int32
    line: Int32
    user_file: Int32
    user_line: Int32
    label: Int32
    strings: tuple[str, ...]

    @classmethod
    def unknown(cls, n_rows: int, file: str = "") -> "Origins":
        """Rows of which no more is known than the file they were read from."""
        zero, one = np.zeros(n_rows, np.int32), np.ones(n_rows, np.int32)
        return cls(scope=zero, file=one, line=zero, user_file=one, user_line=zero, label=zero, strings=("", file))


@dataclass(frozen=True, slots=True, eq=False)
class R1CS:
    """<a,z><b,z> = <c,z> in every row."""

    public: tuple[str, ...]
    n_wires: int
    a: SparseRows
    b: SparseRows
    c: SparseRows
    wire_names: tuple[str, ...]
    origins: Origins

    @property
    def n_rows(self) -> int:
        return self.a.n_rows


@dataclass(frozen=True, slots=True, eq=False)
class SquareR1CS:
    """<a,z>^2 = <b,z> in every row, outlined: public wires meet private ones in the first rows alone.

    Rows 0 .. l are x_j - w_j = 0 (j = 0: the constant), so wires 0 .. l are one and the public inputs, wires l + 1 .. 2l + 1
    their private copies, and no other row touches wires 0 .. l.
    """

    public: tuple[str, ...]
    n_wires: int
    a: SparseRows
    b: SparseRows
    wire_names: tuple[str, ...]
    origins: Origins

    @property
    def n_rows(self) -> int:
        return self.a.n_rows

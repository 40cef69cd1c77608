"""Which row a witness breaks, where that row was written, and what its two sides are."""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.field import fr_to_ints
from bonsai_verifier.kernels import cpu
from bonsai_verifier.kernels.fr import fr_mul_many
from bonsai_verifier.parameters import FR_MODULUS

from ..errors import InputError
from ..kernels.sparse import sparse_rows
from .linear import ONE
from .system import R1CS, SparseRows, SquareR1CS

HIDDEN = "(hidden)"  # in place of a value
_SHOWN_TERMS = 4
_SHOWN_DIGITS = 20  # of a coefficient


@dataclass(frozen=True, slots=True)
class FailedRow:
    """One broken row.  left and right are its two sides as text; their values are secret, so repr leaves them out."""

    row: int
    scope: str
    label: str
    where: str
    user_where: str
    left: str
    right: str
    values: tuple[int, int]
    inputs: tuple[str, ...]

    def __repr__(self) -> str:
        return f"FailedRow(row={self.row}, scope={self.scope!r}, label={self.label!r}, where={self.where!r})"

    def report(self, show_values: bool = False) -> str:
        """Several lines for a person; values only if asked for, since they may be secret."""
        left_value, right_value = map(_signed, self.values) if show_values else (HIDDEN, HIDDEN)
        lines = [
            f"{self.scope}: {self.label} (row {self.row})",
            f"  written at  {self.where}"
            + (f", called from {self.user_where}" if self.user_where != self.where else ""),
            f"  left side   {self.left} = {left_value}",
            f"  right side  {self.right} = {right_value}",
        ]
        if self.inputs:
            lines.append(f"  inputs      {', '.join(self.inputs)}")
        return "\n".join(lines)


def failed_rows(system: R1CS | SquareR1CS, z: NDArray[np.uint64], limit: int = 10) -> list[FailedRow]:
    """The first `limit` rows that z breaks; empty if z satisfies the system.  In: z (n_wires, 4) Montgomery.

    Raises InputError: a z of another length.
    """
    z = _require_fitting(system, z)
    matrices = (system.a, system.b, system.c) if isinstance(system, R1CS) else (system.a, system.a, system.b)
    if _kernels(cpu.vector()).broken_row(*((m.start, m.wire, m.coeff) for m in matrices), z) < 0:  # the fast answer
        return []
    left, right = sides(system, z)
    bad = np.nonzero((left != right).any(axis=1))[0][:limit]
    return [_describe(system, int(i), left, right) for i in bad]


def sides(system: R1CS | SquareR1CS, z: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """(a z)(b z) and c z of every row, or (a z)^2 and b z: (n_rows, 4) Montgomery each."""
    z = _require_fitting(system, z)
    a, b = product(system.a, z), product(system.b, z)
    left = np.empty_like(a)
    if isinstance(system, R1CS):
        fr_mul_many(left, a, b)
        return left, product(system.c, z)
    fr_mul_many(left, a, a)
    return left, b


def _require_fitting(system: R1CS | SquareR1CS, z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    if z.shape != (system.n_wires, 4) or z.dtype != np.uint64:
        raise InputError(
            "assignment", f"is {z.shape} {z.dtype}; this system takes ({system.n_wires}, 4) uint64, one row a wire"
        )
    return np.ascontiguousarray(z)


@cache
def _kernels(vector: bool) -> Any:
    return import_module("bonsai_circuits.kernels.sparse_lanes" if vector else "bonsai_circuits.kernels.sparse")


def product(matrix: SparseRows, z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """M z: (n_rows, 4) Montgomery.  In: z (n_wires, 4) Montgomery."""
    out = np.empty((matrix.n_rows, 4), np.uint64)
    sparse_rows(out, matrix.start, matrix.wire, matrix.coeff, np.ascontiguousarray(z))
    return out


def _describe(system: R1CS | SquareR1CS, i: int, left: NDArray[np.uint64], right: NDArray[np.uint64]) -> FailedRow:
    origins, names = system.origins, system.wire_names
    a, b = (_expression(matrix.row(i), names) for matrix in (system.a, system.b))
    if isinstance(system, R1CS):
        left_text = a if system.b.row(i) == [(ONE, 1)] else f"({a}) * ({b})"
        right_text = _expression(system.c.row(i), names)
        matrices = [system.a, system.b, system.c]
    else:
        left_text, right_text = f"({a})^2", b
        matrices = [system.a, system.b]
    touched = sorted({w for matrix in matrices for w, _ in matrix.row(i)})
    return FailedRow(
        row=i,
        scope=origins.strings[origins.scope[i]],
        label=origins.strings[origins.label[i]],
        where=f"{origins.strings[origins.file[i]]}:{origins.line[i]}",
        user_where=f"{origins.strings[origins.user_file[i]]}:{origins.user_line[i]}",
        left=left_text,
        right=right_text,
        values=(fr_to_ints(left[i : i + 1])[0], fr_to_ints(right[i : i + 1])[0]),
        inputs=tuple(names[w] for w in touched if w != ONE and "/" not in names[w])[:_SHOWN_TERMS],
    )


def _expression(terms: list[tuple[int, int]], names: tuple[str, ...]) -> str:
    """A linear combination as text, its first few terms."""
    if not terms:
        return "0"
    texts = [_term(coeff, names[wire] if wire != ONE else "") for wire, coeff in terms[:_SHOWN_TERMS]]
    more = len(terms) - len(texts)
    return " + ".join(texts).replace("+ -", "- ") + (f" + ... ({more} more)" if more else "")


def _term(coeff: int, name: str) -> str:
    number = _signed(coeff)
    if len(number) > _SHOWN_DIGITS:
        number = f"0x{coeff:x}"[:10] + ".."
    if not name:
        return number
    return {"1": name, "-1": f"-{name}"}.get(number, f"{number} {name}")


def _signed(x: int) -> str:
    """x, or x - r where that is a small negative number."""
    return str(x - FR_MODULUS if x > FR_MODULUS - 2**64 else x)

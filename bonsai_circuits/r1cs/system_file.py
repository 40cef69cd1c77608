"""Constraint systems on disk, and the digest by which keys and proofs name a circuit."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.transcript import derive_key

from ..artifacts.sections import Sections, open_sections, write_sections
from ..errors import FileDamaged
from .system import R1CS, Origins, SparseRows, SquareR1CS, are_starts

DIGEST_CONTEXT = "bonsai-circuits 2026-11-30 square system digest v1"
DIGEST_BYTES = 32
_R1CS, _SQUARE = "r1cs", "square r1cs"
_ORIGIN_COLUMNS = ("scope", "file", "line", "user_file", "user_line", "label")


def circuit_digest(system: SquareR1CS) -> bytes:
    """32 bytes that name the relation: public names and both matrices, but not where the rows were written.

    BLAKE3 in derive-key mode of: n_wires, n_rows, number of public inputs (u64 little-endian each), each name as length u64 and UTF-8,
    then start, wire, coeff of A and of B as little-endian arrays.
    """
    counts = (system.n_wires, system.n_rows, len(system.public))
    parts = [n.to_bytes(8, "little") for n in counts]
    for name in system.public:
        encoded = name.encode()
        parts += [len(encoded).to_bytes(8, "little"), encoded]
    for matrix in (system.a, system.b):
        parts += [matrix.start.astype("<i8").tobytes(), matrix.wire.astype("<i4").tobytes()]
        parts.append(matrix.coeff.astype("<u8").tobytes())
    return derive_key(DIGEST_CONTEXT, b"".join(parts), DIGEST_BYTES)


def write_square(path: Path, system: SquareR1CS) -> None:
    _write(path, _SQUARE, system, {"a": system.a, "b": system.b})


def open_square(path: Path) -> SquareR1CS:
    """Maps a square system.  Raises FileDamaged."""
    sections, public, n_wires, names, origins = _open(path, _SQUARE)
    a, b = (_matrix(sections, name, n_wires, len(origins.line)) for name in ("a", "b"))
    return SquareR1CS(public, n_wires, a, b, names, origins)


def write_r1cs(path: Path, system: R1CS) -> None:
    _write(path, _R1CS, system, {"a": system.a, "b": system.b, "c": system.c})


def open_r1cs(path: Path) -> R1CS:
    """Maps an R1CS.  Raises FileDamaged."""
    sections, public, n_wires, names, origins = _open(path, _R1CS)
    a, b, c = (_matrix(sections, name, n_wires, len(origins.line)) for name in ("a", "b", "c"))
    return R1CS(public, n_wires, a, b, c, names, origins)


def _write(path: Path, kind: str, system: R1CS | SquareR1CS, matrices: Mapping[str, SparseRows]) -> None:
    contents: dict[str, Any] = {
        "meta": {"public": list(system.public), "n_wires": system.n_wires},
        "wire names": "\n".join(system.wire_names),
        "origin strings": "\n".join(system.origins.strings),
    }
    for column in _ORIGIN_COLUMNS:
        contents[f"origin {column}"] = getattr(system.origins, column)
    for name, matrix in matrices.items():
        contents |= {f"{name} start": matrix.start, f"{name} wire": matrix.wire, f"{name} coeff": matrix.coeff}
    write_sections(path, kind, contents)


def _open(path: Path, kind: str) -> tuple[Sections, tuple[str, ...], int, tuple[str, ...], Origins]:
    sections = open_sections(path, kind)
    meta = sections.json("meta")
    names = tuple(sections.text("wire names").split("\n"))
    strings = tuple(sections.text("origin strings").split("\n"))
    columns: dict[str, NDArray[np.int32]] = {
        column: sections.array(f"origin {column}", "<i4", (None,)) for column in _ORIGIN_COLUMNS
    }
    origins = Origins(**columns, strings=strings)
    public, n_wires = meta.get("public"), meta.get("n_wires")
    if not isinstance(public, list) or not all(isinstance(x, str) for x in public) or n_wires != len(names):
        raise FileDamaged(str(path), "the section meta does not describe the system; compile the circuit again")
    if len({len(column) for column in columns.values()}) != 1:
        raise FileDamaged(str(path), "the origins of the rows have unequal lengths; compile the circuit again")
    for column in ("scope", "file", "user_file", "label"):
        if columns[column].size and not 0 <= columns[column].min() <= columns[column].max() < len(strings):
            raise FileDamaged(str(path), f"origin {column} points outside its strings; compile the circuit again")
    return sections, tuple(public), len(names), names, origins


def _matrix(sections: Sections, name: str, n_wires: int, n_rows: int) -> SparseRows:
    start = sections.array(f"{name} start", "<i8", (n_rows + 1,))
    wire = sections.array(f"{name} wire", "<i4", (None,))
    coeff = sections.array(f"{name} coeff", "<u8", (len(wire), 4))
    if not are_starts(start, len(wire)) or (len(wire) and not 0 <= wire.min() <= wire.max() < n_wires):
        raise FileDamaged(str(sections.path), f"matrix {name} points outside; compile the circuit again")
    return SparseRows(start, wire, coeff)

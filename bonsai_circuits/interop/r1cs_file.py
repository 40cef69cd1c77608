"""Constraint files, .r1cs version 1: row i says <a,z><b,z> = <c,z>.

Source: iden3/r1csfile, doc/r1cs_bin_format.md. A row is three lists, a list its length (4 bytes) and its terms, a term
its wire (4 bytes) and its coefficient (32 bytes): everything is a multiple of 4 bytes, so a section is an array of words.
"""

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..artifacts.atomic import Buffer, write_atomic
from ..errors import WireError
from ..r1cs.system import MAX_WIRES, R1CS, Int64, Origins, SparseRows
from .iden3 import FIELD_BYTES, Cursor, Section, below_modulus, join_sections, put_prime, split_sections, take_prime
from .sym_file import Symbols, read_sym

_MAGIC, _VERSION = "r1cs", 1
_HEADER, _CONSTRAINTS, _LABELS = 1, 2, 3
_NAMES = {_HEADER: "header", _CONSTRAINTS: "constraints", _LABELS: "wire2label"}
_CUSTOM_GATES = {4: "custom gates list", 5: "custom gates application"}
_MATRICES = "ABC"
_TERM_WORDS = 1 + FIELD_BYTES // 4
_MIN_ROW_BYTES = 4 * len(_MATRICES)


def read_r1cs(path: Path, sym: Path | None = None) -> R1CS:
    """The system of a file, as decode_r1cs gives it; names come from the .sym file beside it, if one is given."""
    return decode_r1cs(path.read_bytes(), None if sym is None else read_sym(sym), path.name)


def write_r1cs(path: Path, system: R1CS) -> None:
    """Writes a system; the names of its wires go to a file of their own (write_sym)."""
    write_atomic(path, encode_r1cs(system))


def decode_r1cs(data: bytes, symbols: Symbols | None = None, name: str = "r1cs") -> R1CS:
    """Public wires are the circuit's outputs, then its public inputs: the order in which circom and snarkjs list them.

    Raises WireError: a damaged file, another prime, a wire that does not exist, a wire twice in one list, a coefficient
    that is zero or not below r, custom gates; symbols that belong to another circuit.
    """
    sections = split_sections(data, _MAGIC, _VERSION, _NAMES, unsupported=_CUSTOM_GATES)
    header = Cursor(sections["header"], "section header")
    take_prime(header)
    n_wires = header.unsigned(4, "number of wires")
    n_public = header.unsigned(4, "number of outputs") + header.unsigned(4, "number of public inputs")
    n_private_inputs = header.unsigned(4, "number of private inputs")
    header.unsigned(8, "number of labels")
    n_rows = header.unsigned(4, "number of constraints")
    header.end()
    if not 1 + n_public + n_private_inputs <= n_wires <= MAX_WIRES:
        raise WireError(
            "section header", f"{n_wires} wires for one, {n_public} public and {n_private_inputs} private inputs"
        )
    if len(sections["wire2label"]) != 8 * n_wires:
        raise WireError("section wire2label", f"{len(sections['wire2label'])} bytes for {n_wires} wires of 8 bytes")
    if n_rows * _MIN_ROW_BYTES > len(sections["constraints"]):
        raise WireError("section constraints", f"{len(sections['constraints'])} bytes are too few for {n_rows} rows")
    a, b, c = _decode_rows(sections["constraints"], n_rows, n_wires)
    names = _wire_names(np.frombuffer(sections["wire2label"], "<u8"), symbols, n_public)
    return R1CS(names[1 : 1 + n_public], n_wires, a, b, c, names, Origins.unknown(n_rows, name))


def encode_r1cs(system: R1CS) -> list[Buffer]:
    """The buffers of the file, in order.  Wire i has label i; all public wires are inputs, none an output.

    The header's count of private inputs is 0: a system does not tell its secret inputs from its other private wires.
    """
    counts = (system.n_wires, 0, len(system.public), 0)
    header = put_prime() + struct.pack("<IIIIQI", *counts, system.n_wires, system.n_rows)
    labels = np.arange(system.n_wires, dtype="<u8")
    sections = (
        Section(_HEADER, (header,)),
        Section(_CONSTRAINTS, (_encode_rows((system.a, system.b, system.c)),)),
        Section(_LABELS, (labels,)),
    )
    return join_sections(_MAGIC, _VERSION, sections)


def _wire_names(labels: NDArray[np.uint64], symbols: Symbols | None, n_public: int) -> tuple[str, ...]:
    if symbols is None:
        public = (f"public[{i}]" for i in range(n_public))
        return ("one", *public, *(f"wire[{i}]" for i in range(1 + n_public, len(labels))))
    names = ["one"]
    for wire, label in enumerate(labels.tolist()[1:], start=1):
        if symbols.wire_of_label.get(label) != wire:
            raise WireError("sym file", f"label {label} is not wire {wire}: it belongs to another circuit")
        names.append(symbols.name_of_label[label])
    return tuple(names)


def _decode_rows(section: memoryview, n_rows: int, n_wires: int) -> tuple[SparseRows, SparseRows, SparseRows]:
    if len(section) % 4:
        raise WireError("section constraints", f"{len(section)} bytes are not a whole number of 4-byte words")
    words = np.frombuffer(section, "<u4").astype(np.uint32)
    heads = _list_heads(words, len(_MATRICES) * n_rows)
    a, b, c = (_decode_lists(words, heads[k::3], n_wires, _MATRICES[k]) for k in range(3))
    return a, b, c


def _list_heads(words: NDArray[np.uint32], n_lists: int) -> Int64:
    """Where each list starts: the only walk in plain Python, since a list's length says where the next one is."""
    heads = np.empty(n_lists, np.int64)
    view, end, position = words.data, len(words), 0
    for i in range(n_lists):
        if position >= end:
            raise WireError("section constraints", f"ends before row {i // 3}, {_MATRICES[i % 3]}")
        heads[i] = position
        position += 1 + _TERM_WORDS * view[position]
    if position != end:
        where = "runs past the end" if position > end else f"{4 * (end - position)} bytes are left"
        raise WireError("section constraints", f"{where} after {n_lists // 3} rows")
    return heads


def _decode_lists(words: NDArray[np.uint32], heads: Int64, n_wires: int, matrix: str) -> SparseRows:
    lengths = words[heads].astype(np.int64)
    start = np.zeros(len(heads) + 1, np.int64)
    np.cumsum(lengths, out=start[1:])
    row = np.repeat(np.arange(len(heads)), lengths)
    term = heads[row] + 1 + _TERM_WORDS * (np.arange(start[-1]) - start[row])
    wire = words[term].astype(np.int64)
    coeff = np.empty((len(term), 4), np.uint64)
    for i in range(4):
        coeff[:, i] = words[term + 1 + 2 * i] + (words[term + 2 + 2 * i].astype(np.uint64) << np.uint64(32))

    def refuse(bad: NDArray[np.bool_], message: str) -> None:
        if bad.any():
            raise WireError("section constraints", f"row {row[bad.argmax()]}, {matrix}: {message}")

    refuse(wire >= n_wires, f"a wire that is not below {n_wires}")
    refuse((coeff == 0).all(axis=1), "a coefficient that is zero")
    refuse(~below_modulus(coeff), "a coefficient that is not below r")
    if (row[1:] == row[:-1])[wire[1:] <= wire[:-1]].any():
        order = np.lexsort((wire, row))
        wire, coeff = wire[order], coeff[order]
        twice = np.zeros(len(wire), np.bool_)
        twice[1:] = (row[1:] == row[:-1]) & (wire[1:] == wire[:-1])
        refuse(twice, "one wire twice")
    return SparseRows(start, wire.astype(np.int32), coeff)


def _encode_rows(matrices: tuple[SparseRows, ...]) -> NDArray[np.uint32]:
    n_rows = matrices[0].n_rows
    lengths = np.stack([np.diff(matrix.start) for matrix in matrices], axis=1)
    heads = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(1 + _TERM_WORDS * lengths.reshape(-1), out=heads[1:])
    words = np.empty(heads[-1], "<u4")
    words[heads[:-1]] = lengths.reshape(-1)
    for k, matrix in enumerate(matrices):
        row = np.repeat(np.arange(n_rows), lengths[:, k])
        term = heads[:-1][k::3][row] + 1 + _TERM_WORDS * (np.arange(matrix.nnz) - matrix.start[row])
        words[term] = matrix.wire
        coeff = np.ascontiguousarray(matrix.coeff, "<u8").view("<u4")
        for i in range(_TERM_WORDS - 1):
            words[term + 1 + i] = coeff[:, i]
    return words

"""Witness files, .wtns version 2: the value of every wire, wire 0 (the constant one) first."""

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..artifacts.atomic import PRIVATE, Buffer, write_atomic
from ..errors import InputError, WireError
from .iden3 import FIELD_BYTES, Cursor, Section, below_modulus, join_sections, put_prime, split_sections, take_prime

_MAGIC, _VERSION = "wtns", 2
_HEADER, _VALUES = 1, 2
_NAMES = {_HEADER: "header", _VALUES: "values"}


def read_wtns(path: Path) -> NDArray[np.uint64]:
    """The values of a file, as decode_wtns gives them."""
    return decode_wtns(path.read_bytes())


def write_wtns(path: Path, values: NDArray[np.uint64]) -> None:
    """Writes (n, 4) canonical values; a witness is secret, so only the owner can read the file."""
    write_atomic(path, encode_wtns(values), PRIVATE)


def decode_wtns(data: bytes) -> NDArray[np.uint64]:
    """Out: (n, 4) uint64, canonical.

    Raises WireError: a damaged file, another prime, a value that is not below r.
    """
    sections = split_sections(data, _MAGIC, _VERSION, _NAMES)
    header = Cursor(sections["header"], "section header")
    take_prime(header)
    n_values = header.unsigned(4, "number of values")
    header.end()
    if len(sections["values"]) != n_values * FIELD_BYTES:
        size = len(sections["values"])
        raise WireError("section values", f"{size} bytes for {n_values} values of {FIELD_BYTES} bytes")
    values = np.frombuffer(sections["values"], "<u8").reshape(-1, 4).astype(np.uint64)
    fits = below_modulus(values)
    if not fits.all():
        raise WireError("section values", f"the value of wire {int(fits.argmin())} is not below r")
    return values


def encode_wtns(values: NDArray[np.uint64]) -> list[Buffer]:
    """In: (n, 4) uint64, canonical.  Out: the buffers of the file, in order."""
    if values.ndim != 2 or values.shape[1] != 4 or values.dtype != np.uint64:
        raise InputError("values", f"(n, 4) uint64 expected, not {values.shape} {values.dtype}")
    if not below_modulus(values).all():
        raise InputError("values", "not canonical: a value is not below r")
    header = put_prime() + struct.pack("<I", len(values))
    content = np.ascontiguousarray(values, "<u8")
    return join_sections(_MAGIC, _VERSION, (Section(_HEADER, (header,)), Section(_VALUES, (content,))))

"""One file of named, digested arrays, mapped from disk: keys, tapes, systems.

    header    64 bytes   magic 8 | version u32 | sections u32 | table bytes u64 | file bytes u64 | digest 32
    table                kind, then for each section: name, type, shape, offset, bytes, digest 32
    sections             each at the next multiple of 64, in the table's order, zeros between

Integers are little-endian.  A string is its length (u16) and UTF-8; a shape its length (u8) and u64s.  The header's digest is the BLAKE3
of the 32 bytes before it and the table, so it names the whole content.  The layout is a function of the table: a section
that overlaps another, leaves a gap or leaves the file cannot be described.  The same content gives the same bytes.
"""

import math
import mmap
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bonsai_verifier.transcript import blake3

from ..errors import FileDamaged, InputError
from .atomic import write_atomic
from .json_object import canonical_json, parse_json

Content: TypeAlias = NDArray[Any] | bytes | str | dict[str, Any]

MAGIC = b"\x89bonsai\n"  # not text, and damaged by a transfer that rewrites line ends
VERSION = 1
ALIGNMENT = 64  # a cache line, and an AVX-512 register
_HEADER_BYTES = 64
_DIGESTED = 32  # the header's bytes before its digest
_DIGEST_BYTES = 32
_MAX_NAME = 2**16 - 1
_MAX_DIMENSIONS = 8
_MAX_ARRAY_BYTES = 2**62  # also of an empty array with its zeros replaced by ones: numpy can hold the shape

_ARRAY_TYPES = {np.dtype(t).str: np.dtype(t) for t in ("u1", "<u2", "<u4", "<u8", "i1", "<i2", "<i4", "<i8")}
_BYTES, _TEXT, _JSON = "bytes", "text", "json"
_OCTET = np.dtype("u1")


@dataclass(frozen=True, slots=True)
class Section:
    """One row of the table.  type: a numpy type string, or "bytes", "text", "json"."""

    name: str
    type: str
    shape: tuple[int, ...]
    offset: int
    n_bytes: int
    digest: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Sections:
    """An open file.  digest names its whole content.  The arrays lie in the file's pages and stay valid by themselves."""

    path: Path
    kind: str
    digest: bytes
    table: Mapping[str, Section]
    _pages: NDArray[np.uint8] = field(repr=False)

    def array(
        self, name: str, dtype: DTypeLike | None = None, shape: tuple[int | None, ...] | None = None
    ) -> NDArray[Any]:
        """The array of this name, read-only, of the type and shape asked for (None in a shape: any length).

        Raises FileDamaged: no such section, or another type or shape.
        """
        section = self._find(name)
        if section.type not in _ARRAY_TYPES or (dtype is not None and np.dtype(dtype).str != section.type):
            wanted = "an array" if dtype is None else np.dtype(dtype).str
            raise self._damaged(name, f"expected {wanted}, found {section.type}")
        if shape is not None and not _fits(section.shape, shape):
            raise self._damaged(name, f"expected the shape {shape}, found {section.shape}")
        return self._octets(section).view(_ARRAY_TYPES[section.type]).reshape(section.shape)

    def data(self, name: str) -> bytes:
        """The bytes of this name.  Raises FileDamaged: no such section, or it holds something else."""
        return self._content(name, _BYTES)

    def text(self, name: str) -> str:
        """The text of this name.  Raises FileDamaged: no such section, or it holds something else."""
        try:
            return self._content(name, _TEXT).decode()
        except UnicodeDecodeError as e:
            raise self._damaged(name, "is not UTF-8") from e

    def json(self, name: str) -> dict[str, Any]:
        """The metadata of this name.  Raises FileDamaged: no such section, or it holds something else."""
        try:
            return parse_json(self._content(name, _JSON))
        except ValueError as e:
            raise self._damaged(name, f"is not a JSON object: {e}") from e

    def check(self, *names: str) -> None:
        """The contents of these sections have their digests: for those that were opened without.  Raises FileDamaged."""
        for section in map(self._find, names):
            if blake3(self._octets(section)) != section.digest:
                raise self._damaged(section.name, "its digest is wrong")

    def forget(self, name: str) -> None:
        """The pages of this section need not stay in memory: they are read again where they are asked for again."""
        section, mapped = self._find(name), self._pages.base
        if hasattr(mmap, "MADV_DONTNEED") and isinstance(mapped, memoryview) and isinstance(mapped.obj, mmap.mmap):
            first = section.offset // mmap.PAGESIZE * mmap.PAGESIZE
            mapped.obj.madvise(mmap.MADV_DONTNEED, first, section.offset + section.n_bytes - first)

    def _find(self, name: str) -> Section:
        if name not in self.table:
            raise self._damaged(name, f"is missing; the file has {', '.join(self.table) or 'no sections'}")
        return self.table[name]

    def _content(self, name: str, wanted: str) -> bytes:
        section = self._find(name)
        if section.type != wanted:
            raise self._damaged(name, f"expected {wanted}, found {section.type}")
        return self._octets(section).tobytes()

    def _octets(self, section: Section) -> NDArray[np.uint8]:
        return self._pages[section.offset : section.offset + section.n_bytes]

    def _damaged(self, name: str, message: str) -> FileDamaged:
        return _damaged(self.path, f"section {name}", message)


def write_sections(path: Path, kind: str, contents: Mapping[str, Content]) -> bytes:
    """Writes the file whole or not at all.  Out: its digest, equal for equal kind and contents in equal order.

    In: arrays of 8 to 64-bit integers (stored little-endian, in C order), bytes, text, or a dict that JSON can hold.
    Raises InputError: anything else, naming the section.
    """
    kind_bytes = _encode_string("kind", kind)
    encoded = {name: _encode_content(name, content) for name, content in contents.items()}
    entry_bytes = sum(
        len(_encode_string("name", name))
        + len(_encode_string("type", type_))
        + 1
        + 8 * (len(shape) + 2)
        + _DIGEST_BYTES
        for name, (type_, shape, _) in encoded.items()
    )
    table_bytes = len(kind_bytes) + entry_bytes
    table = [kind_bytes]
    body: list[bytes | memoryview] = []
    end = _HEADER_BYTES + table_bytes
    for name, (type_, shape, data) in encoded.items():
        offset = _aligned(end)
        table.append(_encode_section(Section(name, type_, shape, offset, data.nbytes, blake3(data))))
        body += [bytes(offset - end), data]
        end = offset + data.nbytes
    numbers = (len(encoded), 4), (table_bytes, 8), (end, 8)
    start = MAGIC + VERSION.to_bytes(4, "little") + b"".join(n.to_bytes(size, "little") for n, size in numbers)
    digest = blake3(b"".join([start, *table]))
    write_atomic(path, [start, digest, *table, *body])
    return digest


def open_sections(path: Path, kind: str, verify: bool = True) -> Sections:
    """Maps the file and checks all of it; verify=False leaves the digests of the contents to Sections.check, not those of the table.

    Every length is compared with the file's size before anything of that length is touched.
    Raises FileDamaged, naming the file and the section: no such file, another kind or version, any byte that is not as written.
    """
    pages = _map(path)
    header = pages[:_HEADER_BYTES].tobytes()
    if header[: len(MAGIC)] != MAGIC:
        raise _damaged(path, "magic", "this is not a file of sections")
    version, n_sections = (int.from_bytes(header[i : i + 4], "little") for i in (8, 12))
    table_bytes, file_bytes = (int.from_bytes(header[i : i + 8], "little") for i in (16, 24))
    if version != VERSION:
        raise _damaged(path, "version", f"expected {VERSION}, found {version}; make the file again")
    if file_bytes != pages.size:
        raise _damaged(path, "length", f"expected {file_bytes} bytes, found {pages.size}")
    if table_bytes > pages.size - _HEADER_BYTES:
        raise _damaged(path, "table", "is longer than the file")
    table = pages[_HEADER_BYTES : _HEADER_BYTES + table_bytes].tobytes()
    digest = header[_DIGESTED:]
    if blake3(header[:_DIGESTED] + table) != digest:
        raise _damaged(path, "table", "its digest is wrong")
    reader = _Reader(path, table)
    found_kind = reader.string()
    if found_kind != kind:
        raise _damaged(path, "kind", f"expected {kind}, found {found_kind}")
    sections = _read_table(path, reader, n_sections, pages)
    opened = Sections(path, kind, digest, MappingProxyType(sections), pages)
    if verify:
        opened.check(*sections)
    return opened


# Writing -----------------------------------------------------------------------------------------------------------------------


def _encode_content(name: str, content: Content) -> tuple[str, tuple[int, ...], memoryview]:
    """(type, shape, bytes) of a section."""
    if isinstance(content, np.ndarray):
        little = content.astype(content.dtype.newbyteorder("<"), order="C", copy=False)
        if little.dtype.str not in _ARRAY_TYPES or little.ndim > _MAX_DIMENSIONS:
            raise InputError(
                name, f"cannot store {content.ndim} dimensions of {content.dtype}; use 8 to 64-bit integers"
            )
        return little.dtype.str, little.shape, little.reshape(-1).view(_OCTET).data
    if isinstance(content, bytes):
        return _BYTES, (len(content),), memoryview(content)
    if isinstance(content, str):
        data = content.encode()
        return _TEXT, (len(data),), memoryview(data)
    if isinstance(content, dict):
        try:
            data = canonical_json(content)
        except (TypeError, ValueError) as e:
            raise InputError(name, f"JSON cannot hold this: {e}") from e
        return _JSON, (len(data),), memoryview(data)
    raise InputError(name, f"expected an array, bytes, text or a dict, got {type(content).__name__}")


def _encode_section(s: Section) -> bytes:
    numbers = b"".join(n.to_bytes(8, "little") for n in (*s.shape, s.offset, s.n_bytes))
    strings = _encode_string("name", s.name) + _encode_string("type", s.type)
    return strings + bytes([len(s.shape)]) + numbers + s.digest


def _encode_string(field: str, x: str) -> bytes:
    data = x.encode()
    if not 0 < len(data) <= _MAX_NAME:
        raise InputError(field, f"expected 1 to {_MAX_NAME} bytes, got {len(data)}")
    return len(data).to_bytes(2, "little") + data


def _aligned(x: int) -> int:
    return -(-x // ALIGNMENT) * ALIGNMENT


# Reading -----------------------------------------------------------------------------------------------------------------------


class _Reader:
    """Takes values off the front of the table; running out of it is damage."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path, self.data, self.at = path, data, 0

    def take(self, n: int) -> bytes:
        if n > len(self.data) - self.at:
            raise _damaged(self.path, "table", "ends inside a section's entry")
        self.at += n
        return self.data[self.at - n : self.at]

    def number(self, size: int = 8) -> int:
        return int.from_bytes(self.take(size), "little")

    def string(self) -> str:
        try:
            return self.take(self.number(2)).decode()
        except UnicodeDecodeError as e:
            raise _damaged(self.path, "table", "a name is not UTF-8") from e


def _map(path: Path) -> NDArray[np.uint8]:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < _HEADER_BYTES:
                raise _damaged(path, "length", f"the file is shorter than its header of {_HEADER_BYTES} bytes")
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), dtype=_OCTET)
    except FileNotFoundError as e:
        raise FileDamaged(str(path), "there is no such file; make it first") from e


def _read_table(path: Path, reader: _Reader, n_sections: int, pages: NDArray[np.uint8]) -> dict[str, Section]:
    sections: dict[str, Section] = {}
    end = _HEADER_BYTES + len(reader.data)
    for section in _entries(path, reader, n_sections):
        if section.name in sections:
            raise _damaged(path, f"section {section.name}", "appears twice")
        if section.offset != _aligned(end):
            raise _damaged(path, f"section {section.name}", f"lies at {section.offset}, not at {_aligned(end)}")
        if section.n_bytes > pages.size - section.offset:
            raise _damaged(path, f"section {section.name}", "reaches beyond the file")
        if pages[end : section.offset].any():
            raise _damaged(path, f"section {section.name}", "the padding before it is not zero")
        end = section.offset + section.n_bytes
        sections[section.name] = section
    if reader.at != len(reader.data):
        raise _damaged(path, "table", "goes on after its last section")
    if end != pages.size:
        raise _damaged(path, "length", "the file goes on after its last section")
    return sections


def _entries(path: Path, reader: _Reader, n_sections: int) -> Iterator[Section]:
    for _ in range(n_sections):
        name, type_ = reader.string(), reader.string()
        n_dimensions = reader.number(1)
        if n_dimensions > _MAX_DIMENSIONS:
            raise _damaged(path, f"section {name}", f"has {n_dimensions} dimensions; at most {_MAX_DIMENSIONS} can be")
        shape = tuple(reader.number() for _ in range(n_dimensions))
        section = Section(name, type_, shape, reader.number(), reader.number(), reader.take(_DIGEST_BYTES))
        if type_ not in _ARRAY_TYPES and type_ not in (_BYTES, _TEXT, _JSON):
            raise _damaged(path, f"section {name}", f"has the unknown type {type_}")
        item = _ARRAY_TYPES.get(type_, _OCTET).itemsize
        if type_ not in _ARRAY_TYPES and n_dimensions != 1:
            raise _damaged(path, f"section {name}", f"{type_} must have one dimension, not {n_dimensions}")
        if item * math.prod(max(n, 1) for n in shape) > _MAX_ARRAY_BYTES or item * math.prod(shape) != section.n_bytes:
            raise _damaged(path, f"section {name}", f"the shape {shape} of {type_} is not {section.n_bytes} bytes")
        yield section


def _fits(found: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(found) == len(wanted) and all(w is None or w == f for f, w in zip(found, wanted, strict=True))


def _damaged(path: Path, field: str, message: str) -> FileDamaged:
    return FileDamaged(f"{path}: {field}", message)

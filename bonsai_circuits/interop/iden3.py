"""The container that circom and snarkjs write: magic, version, then sections of a kind, a length and that many bytes.

Source: iden3 "r1csfile" and "binfileutils" format notes; integers are little-endian. Sections may stand in any order.
"""

import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.parameters import FR_MODULUS

from ..artifacts.atomic import Buffer
from ..errors import WireError

FIELD_BYTES = 32
CURVE = "bls12381"  # circom's name for our prime
_OTHER_PRIMES = {
    21888242871839275222246405745257275088548364400416034343698204186575808495617: "bn128",
    8444461749428370424248824938781546531375899335154063827935233455917409239041: "bls12377",
    2**64 - 2**32 + 1: "goldilocks",
}
_HEAD = struct.Struct("<4sII")
_SECTION = struct.Struct("<IQ")
_MODULUS_WORDS = [(FR_MODULUS >> (64 * i)) % 2**64 for i in range(4)]


class Cursor:
    """Fields taken one after the other from a section that must be used up exactly."""

    def __init__(self, section: memoryview, name: str) -> None:
        self._rest, self._name = section, name

    def unsigned(self, width: int, field: str) -> int:
        """A little-endian integer of `width` bytes.  Raises WireError: the section ends before it."""
        if len(self._rest) < width:
            raise WireError(self._name, f"ends before {field}")
        value, self._rest = int.from_bytes(self._rest[:width], "little"), self._rest[width:]
        return value

    def end(self) -> None:
        """Raises WireError: bytes are left over."""
        if len(self._rest):
            raise WireError(self._name, f"{len(self._rest)} bytes too many")


class Section(NamedTuple):
    """A section to be written: its kind and the buffers that make it up."""

    kind: int
    content: tuple[Buffer, ...]


def split_sections(
    data: bytes, magic: str, version: int, names: Mapping[int, str], unsupported: Mapping[int, str] | None = None
) -> dict[str, memoryview]:
    """The sections called by `names`, all of them; other kinds are passed over.  Nothing is copied or allocated.

    Raises WireError: another magic or version; a section that is cut off, twice or not there, or of an `unsupported`
    kind; bytes behind the last one.
    """
    unsupported = unsupported or {}
    if len(data) < _HEAD.size:
        raise WireError(f"{magic} file", f"{len(data)} bytes are too few for a header of {_HEAD.size}")
    found_magic, found_version, n_sections = _HEAD.unpack_from(data)
    if found_magic != magic.encode():
        raise WireError(f"{magic} file", f"starts with {found_magic!r} instead of {magic.encode()!r}")
    if found_version != version:
        raise WireError(f"{magic} file", f"version {found_version} instead of {version}")
    sections: dict[str, memoryview] = {}
    rest = memoryview(data)[_HEAD.size :]
    for i in range(n_sections):
        if len(rest) < _SECTION.size:
            raise WireError(f"{magic} file", f"ends before section {i + 1} of {n_sections}")
        kind, size = _SECTION.unpack_from(rest)
        rest = rest[_SECTION.size :]
        name = names.get(kind) or unsupported.get(kind, f"of kind {kind}")
        if kind in unsupported:
            raise WireError(f"section {name}", "is not supported here")
        if size > len(rest):
            raise WireError(f"section {name}", f"{size} bytes announced, {len(rest)} left in the file")
        if name in sections:
            raise WireError(f"section {name}", "stands twice")
        if kind in names:
            sections[name] = rest[:size]
        rest = rest[size:]
    if len(rest):
        raise WireError(f"{magic} file", f"{len(rest)} bytes behind the last section")
    for name in names.values():
        if name not in sections:
            raise WireError(f"section {name}", "is missing")
    return sections


def join_sections(magic: str, version: int, sections: Iterable[Section]) -> list[Buffer]:
    """The buffers of a file, in order."""
    sections = tuple(sections)
    buffers: list[Buffer] = [_HEAD.pack(magic.encode(), version, len(sections))]
    for kind, content in sections:
        size = sum(buffer.nbytes if isinstance(buffer, np.ndarray | memoryview) else len(buffer) for buffer in content)
        buffers += [_SECTION.pack(kind, size), *content]
    return buffers


def take_prime(header: Cursor) -> None:
    """Reads the field's size and prime.  Raises WireError: not our prime; both are named, and the flag that helps."""
    size = header.unsigned(4, "field size")
    if not 0 < size <= 4 * FIELD_BYTES:
        raise WireError("field size", f"{size} bytes are no field element")
    prime = header.unsigned(size, "prime")
    if size == FIELD_BYTES and prime == FR_MODULUS:
        return
    known = f" ({_OTHER_PRIMES[prime]})" if prime in _OTHER_PRIMES else ""
    raise WireError(
        "prime",
        f"the file is over the prime {prime}{known} in {size} bytes, this toolkit works over {FR_MODULUS} ({CURVE}) "
        f"in {FIELD_BYTES}: compile the circuit with `circom --prime {CURVE}`",
    )


def put_prime() -> bytes:
    """The field's size and our prime."""
    return struct.pack("<I", FIELD_BYTES) + FR_MODULUS.to_bytes(FIELD_BYTES, "little")


def below_modulus(limbs: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of (n, 4) little-endian limbs are less than r."""
    less = np.zeros(len(limbs), np.bool_)
    for i, word in enumerate(_MODULUS_WORDS):
        column = limbs[:, i]
        less = (column < np.uint64(word)) | ((column == np.uint64(word)) & less)
    return less

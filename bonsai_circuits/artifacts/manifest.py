"""manifest.json: what a circuit's folder holds, by name, with the length and BLAKE3 digest of each file.

    {"files": {"square": {"blake3": "<64 hex digits>", "bytes": 1024, "file": "square.sections"}, ...}, "version": 1}

It stands in review and in releases, so it is text, sorted, with one value a line.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bonsai_verifier.transcript import blake3

from ..errors import FileDamaged, InputError
from .atomic import write_atomic
from .json_object import parse_json

MANIFEST = "manifest.json"
VERSION = 1
_MAX_BYTES = 2**20  # a manifest is small: a larger file is none
_HEX_DIGEST = re.compile(r"[0-9a-f]{64}")
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*")  # of this folder: no separators, no "..", nothing hidden


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of the folder: its name there, its length, its BLAKE3 digest in hexadecimal."""

    file: str
    bytes: int
    blake3: str


def write_manifest(folder: Path, files: Mapping[str, str]) -> dict[str, Entry]:
    """Records these files (name -> file name) and nothing else, as they are now.

    Raises InputError: a file name with a folder in it.  FileDamaged: a file that is not there.
    """
    entries = {name: _measure(folder, name, file) for name, file in files.items()}
    _write(folder, entries)
    return entries


def update_manifest(folder: Path, files: Mapping[str, str]) -> dict[str, Entry]:
    """Records these files beside those recorded before.  Raises as write_manifest and read_manifest do."""
    known = read_manifest(folder) if (folder / MANIFEST).exists() else {}
    entries = known | {name: _measure(folder, name, file) for name, file in files.items()}
    _write(folder, entries)
    return entries


def read_manifest(folder: Path) -> dict[str, Entry]:
    """The record, without a look at the files.  Raises FileDamaged: no manifest, or not the text that we write."""
    path = folder / MANIFEST
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except FileNotFoundError as e:
        raise FileDamaged(str(path), "there is no such file; compile the circuit first") from e
    if len(data) > _MAX_BYTES:
        raise FileDamaged(str(path), f"is longer than a manifest of {_MAX_BYTES} bytes")
    try:
        content = parse_json(data)
    except ValueError as e:
        raise FileDamaged(str(path), f"is not a JSON object: {e}") from e
    if content.keys() != {"version", "files"}:
        raise FileDamaged(str(path), "is not a manifest")
    if content["version"] != VERSION or not isinstance(content["files"], dict):
        raise FileDamaged(str(path), f"expected version {VERSION}; compile the circuit again")
    return {name: _entry(path, name, value) for name, value in content["files"].items()}


def verify_manifest(folder: Path, names: Iterable[str] | None = None) -> dict[str, Entry]:
    """Compares the named files (None: all) with their record.  Out: their entries.

    Raises FileDamaged, naming the file: not recorded, not there, another length or digest.
    """
    recorded = read_manifest(folder)
    checked = {}
    for name in recorded if names is None else names:
        if name not in recorded:
            raise FileDamaged(
                f"{folder / MANIFEST}: {name}", f"is not recorded; the manifest has {', '.join(recorded)}"
            )
        entry = recorded[name]
        path = folder / entry.file
        if path.is_file() and (size := path.stat().st_size) != entry.bytes:  # before a long file is read
            raise FileDamaged(str(path), f"expected {entry.bytes} bytes, found {size}")
        found = _measure(folder, name, entry.file)
        if found.bytes != entry.bytes:
            raise FileDamaged(str(path), f"expected {entry.bytes} bytes, found {found.bytes}")
        if found.blake3 != entry.blake3:
            raise FileDamaged(str(path), f"expected the digest {entry.blake3}, found {found.blake3}")
        checked[name] = entry
    return checked


def _measure(folder: Path, name: str, file: str) -> Entry:
    if not _FILE_NAME.fullmatch(file):
        raise InputError(name, f"expected the name of a file in {folder}, got {file!r}")
    path = folder / file
    try:
        size = path.stat().st_size
        content = (
            np.memmap(path, np.uint8, mode="r") if size else b""
        )  # closed with its last reference, whatever is raised
        return Entry(file, size, blake3(content).hex())
    except FileNotFoundError as e:
        raise FileDamaged(str(path), "there is no such file") from e


def _entry(path: Path, name: str, value: Any) -> Entry:
    well_formed = (
        isinstance(value, dict)
        and value.keys() == {"file", "bytes", "blake3"}
        and isinstance(value["file"], str)
        and _FILE_NAME.fullmatch(value["file"])
        and type(value["bytes"]) is int
        and value["bytes"] >= 0
        and isinstance(value["blake3"], str)
        and _HEX_DIGEST.fullmatch(value["blake3"])
    )
    if not well_formed:
        raise FileDamaged(f"{path}: {name}", "expected a file name, a length and a digest of 64 hexadecimal digits")
    return Entry(**value)


def _write(folder: Path, entries: Mapping[str, Entry]) -> None:
    content = {"version": VERSION, "files": {name: asdict(entry) for name, entry in entries.items()}}
    write_atomic(folder / MANIFEST, (json.dumps(content, sort_keys=True, indent=1) + "\n").encode())

"""The mark of a store: which tree it is, and how much of it was acknowledged.

Of a database whose log was cut off, SQLite opens what is left and says nothing.  So whoever acknowledges leaves writes first, here and
outside the database, that they are on disk: a store with fewer of them has lost some, and one with another root has changed some.

    file   two slots of 4096 bytes; the mark of sequence s goes to slot s mod 2, in place
    slot   magic 8 | length u32 | JSON, zeros up to 4064 | BLAKE3 of all that stands before it, 32

A slot that a power cut tore apart is of a mark that acknowledged nothing yet, and the other slot stands: one damaged slot is made new, two
are refused.  The file is also what an opener locks: a copied store has no lock, and a lock ends with its process.
"""

import os
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from bonsai_verifier.threads import is_count
from bonsai_verifier.transcript import blake3

from ..artifacts.json_object import canonical_json, parse_json
from ..errors import FileDamaged, InputError, StoreLocked
from .forks import hold
from .node_hash import node_hash
from .records import record_nodes
from .shape import check_arity, check_max_depth

Lock: TypeAlias = Callable[[int, int], None]

MARK = "mark"
SLOT_BYTES = 4096
VERSION = 1
_MAGIC = b"\x89btree\r\n"
_DIGEST_BYTES = 32
_LENGTH = struct.Struct("<I")
_BEFORE_TEXT = len(_MAGIC) + _LENGTH.size
_MAX_TEXT = SLOT_BYTES - _BEFORE_TEXT - _DIGEST_BYTES
_IDENTITY = "bonsai tree store"

_flock: Lock | None = None
_full_sync: Callable[[int], None] | None = None
with suppress(ImportError):  # Windows has none: there SQLite's own lock on the tail keeps a second opener away
    import fcntl

    _flock = fcntl.flock
    if (command := getattr(fcntl, "F_FULLFSYNC", None)) is not None:  # macOS: fsync alone stops at the drive's cache

        def _full_sync(descriptor: int, command: int = command) -> None:
            fcntl.fcntl(descriptor, command)


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a store is made with and keeps: opened with others, it is refused.  tree: 32 random hexadecimal digits, its own."""

    tree: str
    arity: int
    hash: str
    max_depth: int
    record_nodes: int

    @property
    def digest(self) -> bytes:
        """Names the store: part of the digest of every record."""
        return blake3(canonical_json({"kind": _IDENTITY, "version": VERSION} | asdict(self)))


@dataclass(frozen=True, slots=True)
class Mark:
    """All that is acknowledged: the first `size` leaves, whose root is `root` (hexadecimal, "" of none)."""

    parameters: Parameters
    sequence: int
    size: int
    root: str


class MarkFile:
    """The file of an open store, locked.  `mark` is what it says."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.repaired = False
        self._descriptor = descriptor
        found = [self._read(slot) for slot in (0, 1)]
        whole = sorted((mark for mark in found if mark is not None), key=lambda mark: mark.sequence)
        if not whole:
            raise FileDamaged(str(path), "both slots are damaged, so what was acknowledged is not known; take a copy")
        first, last = whole[0], whole[-1]
        if len(whole) == 2 and (last.sequence - first.sequence != 1 or first.parameters != last.parameters):
            raise FileDamaged(str(path), "its two slots are not of one store, or not of one time; take a copy")
        self.mark = last
        if len(whole) == 1:
            self.write(last.size, last.root)  # goes where the damaged one lies, for the next sequence is its own
            self.repaired = True
        hold(self)

    @classmethod
    def open(cls, path: Path) -> "MarkFile":
        """Opens and locks it.

        Raises StoreLocked: somebody else has.  FileDamaged: not there, damaged.  InputError: it cannot be written, or not be locked.
        """
        try:
            descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        except FileNotFoundError as e:
            raise FileDamaged(
                str(path), "there is no such file: this is no store, or its mark was lost; take a copy"
            ) from e
        except OSError as e:
            why = f"cannot be opened for writing, as a store always is: {e.strerror}"
            raise InputError(str(path), f"{why}; copy the folder to where you may write") from e
        try:
            _take_lock(path, descriptor)
            return cls(path, descriptor)
        except BaseException:
            os.close(descriptor)
            raise

    def write(self, size: int, root: str) -> None:
        """Acknowledges: when it returns, the mark is on disk.  Raises OSError."""
        mark = replace(self.mark, sequence=self.mark.sequence + 1, size=size, root=root)
        data = encode(mark)
        os.lseek(self._descriptor, mark.sequence % 2 * SLOT_BYTES, os.SEEK_SET)
        if os.write(self._descriptor, data) != SLOT_BYTES:
            raise OSError(f"{self.path}: a slot was not written as a whole")
        sync(self._descriptor)
        self.mark = mark

    def close(self) -> None:
        """Gives up the lock, also of a forked child that has not let it go yet.  Again: nothing."""
        if self._descriptor >= 0 and _flock is not None:
            _flock(self._descriptor, fcntl.LOCK_UN)
        self.let_go()

    def let_go(self) -> None:
        """See Holder.  The lock is the parent's: closed here alone, it stays there."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def _read(self, slot: int) -> Mark | None:
        os.lseek(self._descriptor, slot * SLOT_BYTES, os.SEEK_SET)
        return decode(os.read(self._descriptor, SLOT_BYTES), slot)


def first_marks(parameters: Parameters) -> bytes:
    """The file of an empty store."""
    return b"".join(encode(Mark(parameters, sequence, 0, "")) for sequence in (0, 1))


def encode(mark: Mark) -> bytes:
    """The slot of a mark."""
    text = canonical_json({"version": VERSION} | asdict(mark))
    assert len(text) <= _MAX_TEXT
    before = (_MAGIC + _LENGTH.pack(len(text)) + text).ljust(SLOT_BYTES - _DIGEST_BYTES, b"\0")
    return before + blake3(before)


def decode(slot: bytes, number: int) -> Mark | None:
    """The mark of a slot; None: torn, changed, or the slot of another sequence.

    Raises FileDamaged: it is whole, and no mark of this version.
    """
    before, digest = slot[:-_DIGEST_BYTES], slot[-_DIGEST_BYTES:]
    if len(slot) != SLOT_BYTES or not slot.startswith(_MAGIC) or blake3(before) != digest:
        return None
    length = _LENGTH.unpack_from(slot, len(_MAGIC))[0]
    try:
        content = parse_json(before[_BEFORE_TEXT : _BEFORE_TEXT + length])
        if content.pop("version") != VERSION:
            raise FileDamaged(MARK, f"expected version {VERSION} of a store")
        mark = Mark(**{**content, "parameters": Parameters(**content["parameters"])})
        _check(mark)
    except (KeyError, TypeError, ValueError, InputError) as e:
        raise FileDamaged(MARK, f"a slot is whole, but not of a store: {e}; take a copy") from e
    return mark if mark.sequence % 2 == number else None


def sync(descriptor: int) -> None:
    """What was written is on disk.  Raises OSError."""
    if _full_sync is not None:
        _full_sync(descriptor)
    else:
        getattr(os, "fdatasync", os.fsync)(descriptor)


def _check(mark: Mark) -> None:
    """Raises ValueError, InputError: no store has such a mark."""
    p = mark.parameters
    check_max_depth(p.max_depth, check_arity(p.arity))
    node_hash(p.hash)
    texts: tuple[Any, ...] = (mark.root, p.tree)
    numbers = is_count(mark.sequence) and is_count(mark.size) and mark.size <= p.arity**p.max_depth
    if not (numbers and p.record_nodes == record_nodes(p.arity) and all(isinstance(text, str) for text in texts)):
        raise ValueError("numbers that do not fit each other")


def _take_lock(path: Path, descriptor: int) -> None:
    if _flock is None:
        return
    try:
        _flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as e:
        raise StoreLocked(str(path.parent), "is open already, here or in another process; close it there first") from e
    except OSError as e:
        why = f"cannot be locked: {e.strerror}"
        raise InputError(str(path), f"{why}; put the store on a file system that has locks") from e

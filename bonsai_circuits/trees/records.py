"""The two databases of a store: `levels.db`, complete nodes by the record, and `tail.db`, the leaves after them.

    levels.db   rollback journal, pages of 16 KiB, rows only ever added: a record is written once, to the end of the file
    tail.db     write-ahead log, pages of 4 KiB: a few leaves are durable with one write to the end of the log

Every record stands beside the BLAKE3 of (the store's parameters, its kind, its place, the BLAKE3 of its nodes): one changed in any bit, or
of another place or another store, is refused.  What keeps records together, the database's own pages, is looked through whenever a file is
opened (`quick_check`, the schema word for word, no byte behind the last page of levels.db), since an undamaged record is
worth little where the next one may be written over it.

Readers of levels.db have a connection of their own and see records that were committed; these never move and never change.
"""

import shutil
import sqlite3
import struct
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bonsai_verifier.field import Octets
from bonsai_verifier.transcript import blake3

from ..errors import FileDamaged, InputError, StoreLocked
from .forks import hold, never_close
from .shape import NODE_BYTES

LEVELS, TAIL = "levels.db", "tail.db"
PIECE_BYTES = 64 << 20  # of records in one transaction: what a reader may have to wait for
_MOST_RECORD_NODES = 1 << 13  # 256 KiB: what is read and digested for one node that is not in memory
_VERSIONS = slice(18, 20)  # "File format version numbers" of SQLite's file format, section 1.3
_MOST_FREE_BYTES = 16 << 20  # of tail.db
_LEVEL_SHIFT = 52  # a row's key is level 2^52 + index: 2^62 leaves have fewer records, 2^51 at most
_LEVEL_PLACE = struct.Struct("<cQQQ")  # kind, level, index, nodes
_TAIL_PLACE = struct.Struct("<cQQ")  # kind, first leaf, leaves
# Primary result codes of SQLite, sqlite3.h
BUSY, READ_ONLY, _IO, _FULL, _CANNOT_OPEN = 5, 8, 10, 13, 14


@dataclass(frozen=True, slots=True)
class _Kind:
    """How one of the files is made."""

    name: str
    tables: tuple[str, ...]
    page_bytes: int
    journal: str
    versions: bytes  # those that may write and read it, of its header: one that may not write is found before something has to be written
    wait_s: float  # for the lock of another connection: of levels.db one has it for a piece, of tail.db as long as the store is open


_META = "CREATE TABLE store (id INTEGER PRIMARY KEY, digest BLOB NOT NULL) STRICT"
_NODES = "CREATE TABLE nodes (place INTEGER PRIMARY KEY, digest BLOB NOT NULL, nodes BLOB NOT NULL) STRICT"
_LEAVES = "CREATE TABLE leaves (first INTEGER PRIMARY KEY, digest BLOB NOT NULL, leaves BLOB NOT NULL) STRICT"
_LEVELS = _Kind(LEVELS, (_META, _NODES), 1 << 14, "truncate", b"\x01\x01", 60.0)
_TAIL = _Kind(TAIL, (_META, _LEAVES), 1 << 12, "wal", b"\x02\x02", 0.0)


def record_nodes(arity: int) -> int:
    """Nodes of a record: the largest power of N up to 8,192, so that no group of children lies in two."""
    n = arity
    while n * arity <= _MOST_RECORD_NODES:
        n *= arity
    return n


def create_files(folder: Path, digest: bytes) -> None:
    """Both databases of an empty store, on disk.  In: digest: of the parameters.  Raises OSError: they cannot be written."""
    for kind in (_LEVELS, _TAIL):
        path = folder / kind.name
        try:
            with closing(_connect(path, kind, "rwc")) as connection:
                for table in kind.tables:
                    connection.execute(table)
                connection.execute("INSERT INTO store VALUES (0, ?)", (digest,))
        except sqlite3.Error as e:
            raise OSError(f"{path}: {e}") from e


class LevelRecords:
    """levels.db of the writer.  counts[l]: of level l records 0..counts[l] are there."""

    def __init__(self, folder: Path, digest: bytes, n_levels: int) -> None:
        self.path = folder / LEVELS
        self._digest = digest
        self._connection = _open(self.path, _LEVELS, digest)
        try:
            self.counts = self._counted(n_levels)
        except BaseException:
            self._connection.close()
            raise
        hold(self)

    def _counted(self, n_levels: int) -> list[int]:
        with refused(self.path):
            length = _value(self._connection, "PRAGMA page_count") * _LEVELS.page_bytes
            if length != self.path.stat().st_size:
                raise FileDamaged(str(self.path), f"is not as long as its pages, {length} bytes; take a copy")
            rows = self._connection.execute(
                "SELECT place >> ?1, count(*), max(place) FROM nodes GROUP BY 1", (_LEVEL_SHIFT,)
            ).fetchall()
        counts = [0] * n_levels
        for level, count, last in rows:
            if not 0 <= level < n_levels:
                raise FileDamaged(str(self.path), f"has records of a level {level}, the tree has {n_levels}")
            last -= _key(level, 0)
            if count != last + 1:
                raise FileDamaged(str(self.path), f"{last + 1 - count} records of level {level} are missing")
            counts[level] = count
        return counts

    def add(self, records: Iterable[tuple[int, int, Octets]]) -> None:
        """Appends records (level, index, nodes), each level's in order, in transactions of PIECE_BYTES.

        Raises OSError: a write failed; of the records whole transactions are there, as `counts` says.
        """
        piece, size = [], 0
        for level, index, nodes in records:
            piece.append((level, index, nodes))
            size += nodes.nbytes
            if size >= PIECE_BYTES:
                self._write(piece)
                piece, size = [], 0
        if piece:
            self._write(piece)

    def check(self) -> None:
        """Looks through the database's own pages.  Raises FileDamaged."""
        with refused(self.path):
            _quick_check(self.path, self._connection)

    def close(self) -> None:
        self._connection.close()

    def let_go(self) -> None:
        """See Holder."""
        never_close(self._connection)

    def _write(self, records: list[tuple[int, int, Octets]]) -> None:
        with transaction(self.path, self._connection) as connection:
            for level, index, nodes in records:
                row = (_key(level, index), level_digest(self._digest, level, index, nodes), nodes.data)
                connection.execute("INSERT OR REPLACE INTO nodes VALUES (?, ?, ?)", row)
        for level, index, _ in records:
            self.counts[level] = max(self.counts[level], index + 1)


class LevelReader:
    """Reads records of levels.db, from any thread, also after the store was closed and opened again."""

    def __init__(self, folder: Path, digest: bytes, nodes: int) -> None:
        self.path = folder / LEVELS
        self._digest, self._nodes = digest, nodes
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._forked = False
        hold(self)

    def record(self, level: int, index: int) -> Octets:
        """The nodes of a record, (n, 32).  Raises FileDamaged: it is missing, changed, or of another place; the file cannot be read."""
        if self._forked:
            raise InputError(
                "snapshot", f"a forked process cannot read {self.path}; open the store again where it is needed"
            )
        with self._lock, refused(self.path):
            row = self._connected().execute("SELECT digest, nodes FROM nodes WHERE place = ?", (_key(level, index),))
            found = row.fetchone()
        what = f"record {index} of level {level}"
        if found is None:
            raise FileDamaged(str(self.path), f"{what} is missing")
        digest, data = found
        if not isinstance(data, bytes) or len(data) != self._nodes * NODE_BYTES:
            raise FileDamaged(str(self.path), f"{what} has another length than {self._nodes} nodes")
        nodes = np.frombuffer(data, np.uint8).reshape(-1, NODE_BYTES)
        if digest != level_digest(self._digest, level, index, nodes):
            raise FileDamaged(str(self.path), f"{what} has another digest than it was written with")
        return nodes

    def let_go(self) -> None:
        """See Holder.  No more reading in the child: SQLite there takes the parent's locks for its own."""
        self._forked = True
        if self._connection is not None:
            never_close(self._connection)

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = _connection(self.path, "rw", _LEVELS.wait_s)  # what a killed writer left is rolled back
            self._connection.execute("PRAGMA query_only = ON")
        return self._connection


class TailRecords:
    """tail.db of the writer: rows of leaves in their order."""

    def __init__(self, folder: Path, digest: bytes) -> None:
        self.path = folder / TAIL
        self._digest = digest
        self._connection = _open(self.path, _TAIL, digest)
        self._cursor = self._connection.cursor()
        hold(self)

    def rows(self) -> Iterator[tuple[int, Octets]]:
        """First leaf and leaves of every row.  Raises FileDamaged: a row is changed, or of another place."""
        with refused(self.path):
            self._cursor.execute("SELECT first, digest, leaves FROM leaves ORDER BY first")
        while True:
            with refused(self.path):
                row = self._cursor.fetchone()
            if row is None:
                return
            first, digest, data = row
            if not isinstance(data, bytes) or not data or len(data) % NODE_BYTES or first < 0:
                raise FileDamaged(str(self.path), f"the row of leaf {first} holds no leaves")
            leaves = np.frombuffer(data, np.uint8).reshape(-1, NODE_BYTES)
            if digest != tail_digest(self._digest, first, leaves):
                raise FileDamaged(
                    str(self.path), f"the row of leaf {first} has another digest than it was written with"
                )
            yield first, leaves

    def add(self, first: int, leaves: Octets, alone: bool = False) -> None:
        """One row more; `alone`: and those before it go, for levels.db has their leaves or this row does.

        Raises OSError: a write failed, nothing changed.
        """
        with transaction(self.path, self._connection) as connection:
            if alone:
                connection.execute("DELETE FROM leaves")
            if len(leaves):
                row = (first, tail_digest(self._digest, first, leaves), leaves.data)
                connection.execute("INSERT OR REPLACE INTO leaves VALUES (?, ?, ?)", row)

    def trim(self) -> None:
        """Gives back the room of rows that went, if it is much.  A disk too full for that is no failure."""
        if _value(self._connection, "PRAGMA freelist_count") * _TAIL.page_bytes < _MOST_FREE_BYTES:
            return
        with suppress(OSError), writing(self.path, self._connection):
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def settle(self) -> None:
        """What a killed process wrote, and its system might still lose, is on disk.  Raises OSError."""
        with writing(self.path, self._connection):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def check(self) -> None:
        """Looks through the database's own pages.  Raises FileDamaged."""
        with refused(self.path):
            _quick_check(self.path, self._connection)

    def close(self) -> None:
        self._cursor.close()  # of rows that nobody read to their end, which would keep the file open
        self._connection.close()

    def let_go(self) -> None:
        """See Holder."""
        never_close(self._connection)


@contextmanager
def logs_kept(folder: Path) -> Iterator[None]:
    """Where opening is refused, the logs are left as they were: SQLite's own closing plays in what it can of them, and drops the rest.

    Playing in a log twice changes nothing.  What a killed process kept goes with the next opening that succeeds.  A disk without room
    for a copy keeps nobody from reading.
    """
    logs = [folder / f"{TAIL}-wal", folder / f"{LEVELS}-journal"]
    copies = {log: log.with_name(f"{log.name}.kept") for log in logs}
    kept = []
    for log in logs:
        if log.is_file() and log.stat().st_size:
            try:
                shutil.copyfile(log, copies[log])
                kept.append(log)
            except OSError:
                copies[log].unlink(missing_ok=True)
    try:
        yield
    except BaseException:
        for log in kept:
            copies[log].replace(log)
        raise
    for copy in copies.values():
        copy.unlink(missing_ok=True)


def level_digest(store: bytes, level: int, index: int, nodes: Octets) -> bytes:
    """What stands beside a record of a level."""
    return blake3(store + _LEVEL_PLACE.pack(b"L", level, index, len(nodes)) + blake3(nodes))


def tail_digest(store: bytes, first: int, leaves: Octets) -> bytes:
    """What stands beside a row of leaves."""
    return blake3(store + _TAIL_PLACE.pack(b"T", first, len(leaves)) + blake3(leaves))


@contextmanager
def transaction(path: Path, connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """All of it or nothing.  Raises as `writing` does."""
    with writing(path, connection):
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        connection.execute("COMMIT")


@contextmanager
def writing(path: Path, connection: sqlite3.Connection) -> Iterator[None]:
    """Nothing stays begun.  Raises OSError, naming the file: the disk is full, a write failed.  FileDamaged."""
    try:
        yield
    except BaseException as e:  # Ctrl-C too
        if connection.in_transaction:
            with suppress(sqlite3.Error):
                connection.rollback()
        if isinstance(e, sqlite3.Error):
            if code(e) == BUSY or failed_to_write(e):
                raise OSError(f"{path}: {e}") from e
            raise _damaged(path, e) from e
        raise


@contextmanager
def refused(path: Path) -> Iterator[None]:
    """What a damaged database does to its reader, as one error.  Raises FileDamaged; StoreLocked: another process has the file."""
    try:
        yield
    except sqlite3.Error as e:
        if code(e) == BUSY:
            raise StoreLocked(str(path), "is open in another process; close it there first") from e
        raise _damaged(path, e) from e
    except (UnicodeDecodeError, OverflowError, TypeError, FileNotFoundError) as e:  # a changed type, text or file
        raise _damaged(path, e) from e


def code(error: sqlite3.Error) -> int:
    """The primary code: the low byte of the extended one."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def failed_to_write(error: sqlite3.Error) -> bool:
    """The system's doing, not the file's: the disk is full, a file is not to be opened, read or written."""
    return code(error) in (READ_ONLY, _IO, _FULL, _CANNOT_OPEN)


def _open(path: Path, kind: _Kind, digest: bytes) -> sqlite3.Connection:
    """A writer's connection to a file that is whole, as far as its own pages go.  Raises FileDamaged, StoreLocked."""
    if not path.is_file():
        raise FileDamaged(str(path), "there is no such file; take a copy")
    if not path.stat().st_size:
        raise FileDamaged(str(path), "is empty; take a copy")  # for SQLite that would be a database without tables
    with path.open("rb") as file:  # closed before SQLite has locks on it, for they would go with it
        if file.read(_VERSIONS.stop)[_VERSIONS] != kind.versions:
            raise FileDamaged(str(path), "its header is damaged, or of another version of SQLite; take a copy")
    with refused(path):
        connection = _connect(path, kind, "rw")
    try:
        with refused(path):
            _check_schema(path, connection, kind)
            _quick_check(path, connection)
            rows = connection.execute("SELECT id, digest FROM store").fetchall()
        if rows != [(0, digest)]:
            raise FileDamaged(
                str(path), "belongs to another store than the mark beside it, or its first row is damaged"
            )
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(path: Path, kind: _Kind, mode: str) -> sqlite3.Connection:
    """A writer's connection, set up as its kind is."""
    connection = _connection(path, mode, kind.wait_s)
    try:
        if mode == "rwc":
            connection.execute(f"PRAGMA page_size = {kind.page_bytes}")
        if kind.journal == "wal":
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # the index of the log in memory: no third file
        journal = _value(connection, f"PRAGMA journal_mode = {kind.journal}")
        if journal != kind.journal or _value(connection, "PRAGMA page_size") != kind.page_bytes:
            raise sqlite3.DatabaseError(f"expected the journal {kind.journal} and pages of {kind.page_bytes} bytes")
        for setting in ("synchronous = FULL", "fullfsync = ON", "secure_delete = OFF"):
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection


def _connection(path: Path, mode: str, wait_s: float) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=wait_s, isolation_level=None, check_same_thread=False)
    for setting in ("trusted_schema = OFF", "cell_size_check = ON"):
        connection.execute(f"PRAGMA {setting}")
    return connection


def _check_schema(path: Path, connection: sqlite3.Connection, kind: _Kind) -> None:
    """The tables, where they begin, and nothing else.  Raises FileDamaged."""
    found = connection.execute("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema").fetchall()
    names = [sql.split()[2] for sql in kind.tables]
    expected = [("table", name, name, 2 + i, sql) for i, (name, sql) in enumerate(zip(names, kind.tables, strict=True))]
    if found != expected or _value(connection, "PRAGMA auto_vacuum"):
        raise FileDamaged(str(path), "its tables are not those of a store; take a copy")


def _quick_check(path: Path, connection: sqlite3.Connection) -> None:
    found = connection.execute("PRAGMA quick_check(1)").fetchall()
    if found != [("ok",)]:
        raise FileDamaged(str(path), f"the database is damaged: {' '.join(str(found[0][0]).split())}; take a copy")


def _value(connection: sqlite3.Connection, question: str) -> Any:
    return connection.execute(question).fetchone()[0]


def _key(level: int, index: int) -> int:
    return (level << _LEVEL_SHIFT) + index


def _damaged(path: Path, error: BaseException) -> FileDamaged:
    return FileDamaged(str(path), f"{error}; take a copy")

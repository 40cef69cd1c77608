"""A lean tree that lasts: every leaf whose token has returned is on disk, whatever happens to the process.

    mark        what is acknowledged: so many leaves, and their root (mark.py)
    levels.db   complete nodes of all levels, whole records of them (records.py)
    tail.db     the leaves behind the records of level 0, by flushes

    flush       the leaves that came in go to tail.db, then the mark says so, then their tokens return
    checkpoint  what fills records goes to levels.db, the rest to tail.db, then as above; a flush of very many leaves is one

Either file may be ahead of the mark after a crash, never behind it: what is there and not acknowledged is kept, what is acknowledged
and not there refuses the store.  Nodes without a record are computed from the level below, and so is a damaged record above the leaves.

One opener at a time, and in it any number of threads.  After a fork the store is the parent's.
"""

import os
import re
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from types import TracebackType
from typing import Any

import numpy as np

from bonsai_verifier.field import Octets
from bonsai_verifier.threads import is_count

from ..artifacts.atomic import sync_folder, write_atomic
from ..errors import FileDamaged, InputError, StoreFailed, StoreLocked
from .lean_imt import Indices, LeanIMT, Snapshot, leaf_octets
from .mark import MARK, MarkFile, Parameters, first_marks, sync
from .node_hash import BLAKE3, NodeHash, check_node_hash, node_hash
from .proofs import BatchProof, ConsistencyProof, InclusionProof, InclusionProofs
from .records import LEVELS, LevelReader, LevelRecords, TailRecords, create_files, logs_kept, record_nodes
from .shape import NODE_BYTES, n_complete

_TREE_BYTES = 16  # of the name that a store gets when it is made
_STALE_S = 86400.0  # a folder that is being made has its name within seconds
_BULK_LEAVES = 1 << 18  # 8 MiB: from so many on a flush is a checkpoint, which writes them once, and not twice
_REPLAYED_LEAVES = 1 << 16  # leaves of small flushes that are inserted together when a store is opened
_KEPT_RECORDS = 32  # of those that were read last: at most 8 MiB


@dataclass(frozen=True, slots=True)
class Policies:
    """When a store writes, and what it keeps in memory.

    flush_interval: seconds from one flush to the next, as long as leaves come in; None: when `flush` is called.
    checkpoint_entries, checkpoint_memory: a checkpoint for so many leaves, or bytes of nodes, since the last; None: by `checkpoint` alone.
    checkpoint_on_close: `close` makes one.
    pin_above_level: levels below it leave memory with a checkpoint, and are read from disk.
    """

    flush_interval: float | None = 0.010
    checkpoint_entries: int | None = None
    checkpoint_memory: int | None = None
    checkpoint_on_close: bool = False
    pin_above_level: int = 0

    def __post_init__(self) -> None:
        interval: Any = self.flush_interval
        if interval is not None and not (isinstance(interval, int | float) and 0 <= interval <= _LONGEST_S):
            raise InputError("flush_interval", f"expected seconds from 0 to {_LONGEST_S}, or None, got {interval!r}")
        for name in ("checkpoint_entries", "checkpoint_memory"):
            value = getattr(self, name)
            if value is not None and not (is_count(value) and value):
                raise InputError(name, f"expected a number from 1 on, or None, got {value!r}")
        if not is_count(self.pin_above_level):
            raise InputError("pin_above_level", f"expected the number of a level, got {self.pin_above_level!r}")


_LONGEST_S = 86400


@dataclass(frozen=True, slots=True)
class Token:
    """Some leaves that were inserted: the last of the first `size`."""

    size: int
    _store: "TreeStore"

    def wait(self, timeout: float | None = None) -> None:
        """Returns when they are on disk.

        Raises TimeoutError: not within so many seconds.  StoreFailed: a write failed, and they may not be there.  InputError: no number.
        """
        given: Any = timeout
        if given is not None and (not isinstance(given, int | float) or given != given):  # nan
            raise InputError("timeout", f"expected seconds, or None, got {given!r}")
        self._store._wait(self.size, timeout)

    @property
    def done(self) -> bool:
        """They are on disk."""
        return self._store.acknowledged >= self.size


@dataclass(frozen=True, slots=True)
class Stat:
    """A store in numbers.  records: of each level that has any.  bytes: of each file."""

    arity: int
    hash: str
    max_depth: int
    size: int
    acknowledged: int
    depth: int
    root: bytes | None
    record_nodes: int
    records: tuple[int, ...]
    bytes: dict[str, int]
    resident_bytes: int


class TreeStore:
    """A tree in a folder.  Made by `create`, opened by `open`; a context manager that closes it."""

    def __init__(self, folder: Path, mark: MarkFile, policies: Policies) -> None:
        """Private: see open."""
        self.folder = folder
        self.policies = policies
        self.parameters = mark.mark.parameters
        self.repairs: list[str] = []
        self._process = os.getpid()
        self._mark = mark
        self._closed = False
        self._files_closed = False
        self._failure: str | None = None
        self._cause: BaseException | None = None
        self._inserting = threading.Lock()
        self._writing = threading.Lock()  # of files: a flush or a checkpoint
        self._changed = threading.Condition()
        self._worker: threading.Thread | None = None
        if mark.repaired:
            self.repairs.append(f"{mark.path}: one of its two slots was damaged")
        digest, hash_ = self.parameters.digest, node_hash(self.parameters.hash)
        self._levels = LevelRecords(folder, digest, self.parameters.max_depth + 1)
        try:
            self._tail = TailRecords(folder, digest)
            try:
                reader = LevelReader(folder, digest, self.parameters.record_nodes)
                self._source = _StoredNodes(reader, self.parameters, hash_, self._levels.counts)
                self._tree = self._recovered(hash_)
                self._acknowledged = mark.mark.size
                self._checkpointed = self._stored
                self._settle()
            except BaseException:
                self._tail.close()
                raise
        except BaseException:
            self._levels.close()
            raise
        if policies.flush_interval is not None or self._checkpoints_itself:
            self._worker = threading.Thread(target=self._work, name=f"bonsai store {folder.name}", daemon=True)
            self._worker.start()

    # Doors -------------------------------------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        folder: Path,
        arity: int,
        node_hash: NodeHash = BLAKE3,
        max_depth: int | None = None,
        policies: Policies | None = None,
    ) -> "TreeStore":
        """A new store, open and empty.  The folder appears whole or not at all.

        Raises InputError: it is there already, or its parent is not; as LeanIMT.  OSError: it cannot be written.
        """
        policies = policies or Policies()
        depth = LeanIMT(arity, node_hash, max_depth).max_depth  # refuses what no tree can have
        parameters = Parameters(token_hex(_TREE_BYTES), arity, node_hash.name, depth, record_nodes(arity))
        folder = Path(folder).absolute()
        if folder.exists():
            raise InputError(str(folder), "is there already; name a new folder, or go on with this one")
        if folder.is_symlink():
            raise InputError(str(folder), "is a link that leads nowhere; name a new folder")
        if not folder.parent.is_dir():
            raise InputError(str(folder.parent), "is no folder; make it first")
        _remove_stale(folder)
        made = folder.with_name(f".{folder.name}.{token_hex(_TREE_BYTES)}.partial")
        made.mkdir()
        try:
            create_files(made, parameters.digest)
            write_atomic(made / MARK, first_marks(parameters))
            made.rename(folder)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
        sync_folder(folder.parent)
        return cls.open(folder, policies=policies)

    @classmethod
    def open(
        cls,
        folder: Path,
        arity: int | None = None,
        node_hash: NodeHash | None = None,
        max_depth: int | None = None,
        policies: Policies | None = None,
    ) -> "TreeStore":
        """The store of this folder.  Arity, hash and depth are its own; to name them is to expect them.

        Cost: everything is read, checked against its digests, and kept, but for levels that `policies` leave on disk.
        Raises InputError: no folder, or made with another arity, hash or depth.  StoreLocked: somebody has it open.  FileDamaged: what.
        """
        folder = Path(folder).absolute()
        if not folder.is_dir():
            raise InputError(str(folder), "is no folder; make a store with `bonsai tree create`")
        mark = MarkFile.open(folder / MARK)
        try:
            parameters = mark.mark.parameters
            expected_hash = None if node_hash is None else check_node_hash(node_hash).name
            named = {"arity": arity, "hash": expected_hash, "max_depth": max_depth}
            for name, value in named.items():
                own = getattr(parameters, name)
                if value is not None and not (type(value) is type(own) and value == own):
                    raise InputError(name, f"{folder} was made with {own!r}, not {value!r}")
            with logs_kept(folder):
                return cls(folder, mark, policies or Policies())
        except BaseException:
            mark.close()
            raise

    def close(self) -> None:
        """Writes what is not on disk yet, makes the checkpoint if `policies` say so, and gives up the lock.  Again: nothing.

        Raises StoreFailed: leaves were inserted that are not on disk; the store is closed all the same.
        """
        if self._process != os.getpid() or self._closed:
            return
        with self._inserting:
            self._closed = True
        try:
            with self._changed:
                self._changed.notify_all()
            if self._worker is not None and self._worker is not threading.current_thread():
                self._worker.join()
            if self._failure is None:
                self._write(checkpoint=self.policies.checkpoint_on_close)
        except BaseException as e:  # Ctrl-C: whoever waits is told
            self._fail(e)
            raise
        finally:
            with self._writing:
                self._files_closed = True
                self._tail.close()
                self._levels.close()
                self._mark.close()
        if self._failure is not None and self._acknowledged < self._tree.size:
            raise self._failed()

    def __enter__(self) -> "TreeStore":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except StoreFailed:
            if error is None:  # otherwise that one tells more
                raise

    # Writing -----------------------------------------------------------------------------------------------------------------

    def insert(self, leaf: bytes) -> tuple[bytes, Token]:
        """Appends one leaf; the new root, and a token for its being on disk.  Raises as insert_many does."""
        root, token = self.insert_many(leaf_octets(leaf)[None])
        assert root is not None
        return root, token

    def insert_many(self, leaves: Octets) -> tuple[bytes | None, Token]:
        """Appends leaves; the new root, None of no leaf at all, and a token for their being on disk.

        In: (n, 32) uint8.  After a crash the first ones of them may be there and the others not, if the token had not returned.
        Raises InputError as LeanIMT.insert_many, with nothing changed; the store is closed.  StoreFailed: a write failed before.
        """
        self._check_usable()  # in a forked child the lock may be held for ever
        with self._inserting:
            self._check_usable()
            root = self._tree.insert_many(leaves)
            token = Token(self._tree.size, self)
        with self._changed:
            self._changed.notify_all()
        return root, token

    def flush(self) -> None:
        """Returns when all that was inserted is on disk.  Raises StoreFailed."""
        self._check_usable()
        self._write(checkpoint=False)

    def checkpoint(self) -> None:
        """A flush that also moves what fills whole records to where it stays.  Raises StoreFailed."""
        self._check_usable()
        self._write(checkpoint=True)

    # Reading -----------------------------------------------------------------------------------------------------------------

    @property
    def arity(self) -> int:
        return self.parameters.arity

    @property
    def max_depth(self) -> int:
        return self.parameters.max_depth

    @property
    def node_hash(self) -> NodeHash:
        return self._tree.node_hash

    @property
    def size(self) -> int:
        """Leaves that were inserted, on disk or not yet."""
        return self._tree.size

    @property
    def acknowledged(self) -> int:
        """Leaves that are on disk."""
        return self._acknowledged

    @property
    def depth(self) -> int:
        return self._tree.depth

    @property
    def root(self) -> bytes | None:
        return self._tree.root

    @property
    def failure(self) -> str | None:
        """What kept the store from writing; None: nothing has."""
        return self._failure

    def snapshot(self) -> Snapshot:
        """The tree as it is now.  It stays what it is through inserts, checkpoints, and after the store is closed."""
        return self._tree.snapshot()

    def prove(self, index: int) -> InclusionProof:
        """See Snapshot.prove."""
        return self._tree.prove(index)

    def prove_many(self, indices: Indices, threads: int = 0) -> InclusionProofs:
        """See Snapshot.prove_many."""
        return self._tree.prove_many(indices, threads)

    def prove_batch(self, indices: Indices) -> BatchProof:
        """See Snapshot.prove_batch."""
        return self._tree.prove_batch(indices)

    def consistency(self, old_size: int) -> ConsistencyProof:
        """See Snapshot.consistency."""
        return self._tree.consistency(old_size)

    def stat(self) -> Stat:
        snapshot, p = self._tree.snapshot(), self.parameters
        counts = tuple(self._levels.counts)
        files = {path.name: path.stat().st_size for path in sorted(self.folder.iterdir()) if path.is_file()}
        n_levels = max((level + 1 for level, n in enumerate(counts) if n), default=0)
        return Stat(
            p.arity,
            p.hash,
            p.max_depth,
            snapshot.size,
            self._acknowledged,
            snapshot.depth,
            snapshot.root,
            p.record_nodes,
            counts[:n_levels],
            files,
            self._tree.resident_bytes,
        )

    def check(self) -> int:
        """Reads every record again and computes every node from the leaves.  Out: how many records.

        Damaged records above the leaves are written anew, and named in `repairs`.
        Raises FileDamaged, naming what: a record of leaves, one that is whole and wrong, the database itself, leaves that are missing.
        OSError: a record could not be written anew.
        """
        self._check_usable()
        with self._writing:
            self._check_usable()
            self._levels.check()
            self._tail.check()
            self._source.forget()
            arity, n = self.arity, self.parameters.record_nodes
            for level, count in enumerate(self._levels.counts):
                for index in range(count):
                    nodes = self._source.record(level, index)
                    if level:
                        below = self._source.nodes(level - 1, index * n * arity, (index + 1) * n * arity)
                        expected = self.node_hash.parents(below.reshape(-1, arity, NODE_BYTES))
                        if not np.array_equal(nodes, expected):
                            what = f"record {index} of level {level} is whole, but not of the nodes below"
                            raise FileDamaged(str(self.folder / LEVELS), what)
            found = self._stored + sum(len(leaves) for leaves in self._tail_leaves())
            if found < self._acknowledged:
                raise self._missing(found)
            self._repair()
            return sum(self._levels.counts)

    # Inside ------------------------------------------------------------------------------------------------------------------

    @property
    def _stored(self) -> int:
        """Leaves in records."""
        return self._levels.counts[0] * self.parameters.record_nodes

    @property
    def _checkpoints_itself(self) -> bool:
        return self.policies.checkpoint_entries is not None or self.policies.checkpoint_memory is not None

    def _recovered(self, hash_: NodeHash) -> LeanIMT:
        """The tree that the files hold, compared with the mark."""
        p, mark = self.parameters, self._mark.mark
        for level, count in enumerate(self._levels.counts):
            if count * p.record_nodes > n_complete(self._stored, p.arity, level):
                raise FileDamaged(
                    str(self._levels.path), f"records of leaves are missing: level {level} has more than they give"
                )
        tree = LeanIMT.restore(
            self._source, self._stored, p.arity, hash_, p.max_depth, pin_above_level=self.policies.pin_above_level
        )
        for leaves in self._tail_leaves():
            try:
                tree.insert_many(leaves)
            except InputError as e:
                raise FileDamaged(str(self._tail.path), f"its leaves do not fit the tree: {e}") from e
        if tree.size < mark.size:
            raise self._missing(tree.size)
        if _hex(tree.snapshot().at(mark.size).root) != mark.root:
            what = f"the root of the first {mark.size} leaves is not the one that was acknowledged"
            raise FileDamaged(str(self.folder), f"{what}; take a copy")
        return tree

    def _tail_leaves(self) -> Iterator[Octets]:
        """The leaves behind the records, those of small flushes together.  Raises FileDamaged: some are missing or changed."""
        at, waiting, n_waiting = self._stored, [np.empty((0, NODE_BYTES), np.uint8)], 0
        for first, leaves in self._tail.rows():
            end = first + len(leaves)
            if end <= at:
                continue  # a crash came between the records and the removal of these rows
            if first > at:
                raise FileDamaged(str(self._tail.path), f"the leaves {at} to {first} are missing; take a copy")
            waiting.append(leaves[at - first :])
            n_waiting += end - at
            at = end
            if n_waiting >= _REPLAYED_LEAVES:
                yield np.concatenate(waiting)
                waiting, n_waiting = waiting[:1], 0
        yield np.concatenate(waiting)

    def _missing(self, found: int) -> FileDamaged:
        what = f"{self._mark.mark.size} leaves were acknowledged, the first {found} of them are there"
        return FileDamaged(str(self._tail.path), f"{what}: the end of its log is damaged or was cut off; take a copy")

    def _settle(self) -> None:
        """Acknowledges what a crash left written, and writes anew what was repaired.  A full disk keeps nobody from reading."""
        try:
            self._repair()
            if self._tree.size > self._acknowledged:
                self._tail.settle()
                self._sync_journal()
                self._mark.write(self._tree.size, _hex(self._tree.root))
                self._acknowledged = self._tree.size
        except OSError:
            return

    def _sync_journal(self) -> None:
        """The end of a transaction that a killed process had written, and its system might still lose.  Raises OSError."""
        journal = self.folder / f"{LEVELS}-journal"
        if journal.exists():
            with journal.open("r+b") as file:
                sync(file.fileno())

    def _repair(self) -> None:
        repaired = self._source.take_repaired()
        self._levels.add((level, index, nodes) for (level, index), nodes in repaired.items())
        self.repairs += [f"{self._levels.path}: record {i} of level {level} was damaged" for level, i in repaired]

    def _write(self, checkpoint: bool) -> None:
        with self._writing:
            if self._files_closed:  # while this one waited
                self._check_usable()
            if self._failure is not None:
                raise self._failed()
            try:
                snapshot = self._tree.snapshot()
                new = snapshot.size - self._acknowledged
                if checkpoint or new >= _BULK_LEAVES or self._checkpoint_due(snapshot.size):
                    self._move(snapshot)
                elif new:
                    self._tail.add(self._acknowledged, snapshot.level(0, self._acknowledged, snapshot.size))
                self._acknowledge(snapshot)
            except Exception as e:  # of the system, of a damaged file, or ours: what is on disk is what the mark says
                self._fail(e)
                raise self._failed() from e

    def _move(self, snapshot: Snapshot) -> None:
        """A checkpoint: records, then the tail behind them."""
        self._levels.add(self._full_records(snapshot))
        self._tail.add(self._stored, snapshot.level(0, self._stored, snapshot.size), alone=True)
        self._tail.trim()
        if self.policies.pin_above_level:
            self._tree.evict(self._source, size=snapshot.size, below_level=self.policies.pin_above_level)
        self._checkpointed = snapshot.size

    def _full_records(self, snapshot: Snapshot) -> Iterator[tuple[int, int, Octets]]:
        """What has no record yet and fills one; leaves first, so that no record is of nodes whose leaves are not there."""
        n = self.parameters.record_nodes
        for level, count in enumerate(list(self._levels.counts)):
            for index in range(count, n_complete(snapshot.size, self.arity, level) // n):
                yield level, index, snapshot.complete(level, index * n, (index + 1) * n)

    def _acknowledge(self, snapshot: Snapshot) -> None:
        if snapshot.size > self._acknowledged:
            self._mark.write(snapshot.size, _hex(snapshot.root))
            with self._changed:
                self._acknowledged = snapshot.size
                self._changed.notify_all()

    def _checkpoint_due(self, size: int) -> bool:
        entries, memory = self.policies.checkpoint_entries, self.policies.checkpoint_memory
        new = size - self._checkpointed
        nodes = new * self.arity // (self.arity - 1)  # of all levels, but for a few
        return (entries is not None and new >= entries) or (memory is not None and nodes * NODE_BYTES >= memory)

    def _work(self) -> None:
        """The thread that writes by itself: a flush an interval, or only the checkpoints that are due."""
        interval = self.policies.flush_interval
        began = -float(interval or 0)
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._has_work())
                if interval is not None:
                    self._changed.wait_for(lambda: self._closed, began + interval - time.monotonic())
            if self._closed:
                return
            began = time.monotonic()
            try:
                self._write(checkpoint=False)
            except (StoreFailed, InputError):
                return  # whoever waits, inserts or closes next is told; or the store was closed meanwhile
            except BaseException as e:
                self._fail(e)
                raise

    def _has_work(self) -> bool:
        size = self._tree.size
        return (self.policies.flush_interval is not None and size > self._acknowledged) or self._checkpoint_due(size)

    def _wait(self, size: int, timeout: float | None) -> None:
        if self._process != os.getpid():
            self._check_usable()
        most = None if timeout is None else min(max(timeout, 0), threading.TIMEOUT_MAX)
        with self._changed:
            reached = self._changed.wait_for(lambda: self._acknowledged >= size or self._failure is not None, most)
        if self._acknowledged >= size:
            return
        if not reached:
            how = "call flush()" if self.policies.flush_interval is None else "wait again"
            raise TimeoutError(f"{self.folder}: not on disk within {timeout} s; {how}")
        raise self._failed()

    def _fail(self, error: BaseException) -> None:
        with self._changed:
            if self._failure is None:
                self._failure, self._cause = f"could not write: {str(error) or type(error).__name__}", error
            self._changed.notify_all()

    def _failed(self) -> StoreFailed:
        sure = f"the first {self._acknowledged} leaves are on disk, later ones may not be"
        error = StoreFailed(str(self.folder), f"{self._failure}; {sure}; close it and open it again")
        error.__cause__ = self._cause
        return error

    def _check_usable(self) -> None:
        if self._process != os.getpid():
            raise StoreLocked(
                str(self.folder), "is open in the process that this one was forked from; close it there first"
            )
        if self._closed:
            raise InputError(str(self.folder), "is closed; open it again")
        if self._failure is not None:
            raise self._failed()


def _remove_stale(folder: Path) -> None:
    """Removes what a `create` of this folder left that was killed a day ago or earlier; there was no leaf in it yet."""
    partial = re.compile(rf"\.{re.escape(folder.name)}\.[0-9a-f]{{{2 * _TREE_BYTES}}}\.partial")
    with suppress(OSError), os.scandir(folder.parent) as entries:
        for entry in entries:
            if not (partial.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)):
                continue
            if time.time() - entry.stat(follow_symlinks=False).st_mtime >= _STALE_S:
                shutil.rmtree(entry.path, ignore_errors=True)


class _StoredNodes:
    """The nodes that records hold, and those above them that have none yet, computed; the records that were read last stay at hand."""

    def __init__(self, reader: LevelReader, parameters: Parameters, hash_: NodeHash, counts: list[int]) -> None:
        self._reader, self._hash, self._counts = reader, hash_, counts
        self._arity, self._record_nodes = parameters.arity, parameters.record_nodes
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, int], Octets] = OrderedDict()
        self._repaired: dict[tuple[int, int], Octets] = {}

    def nodes(self, level: int, start: int, stop: int) -> Octets:
        """Nodes start..stop of a level, complete ones of the leaves in records.  Raises FileDamaged."""
        out = np.empty((stop - start, NODE_BYTES), np.uint8)
        at = start
        while at < stop:
            index, first = divmod(at, self._record_nodes)
            end = min(stop, (index + 1) * self._record_nodes)
            if index < self._counts[level] or not level:
                out[at - start : end - start] = self.record(level, index)[first : first + end - at]
            else:
                out[at - start : end - start] = self._computed(level, at, end)
            at = end
        return out

    def record(self, level: int, index: int) -> Octets:
        """The nodes of one record.  Raises FileDamaged: it is of leaves, or those below are damaged too."""
        with self._lock:
            found = self._kept.get((level, index))
            if found is not None:
                self._kept.move_to_end((level, index))
                return found
        try:
            found = self._reader.record(level, index)
        except FileDamaged:
            if not level:
                raise
            n = self._record_nodes
            found = self._computed(level, index * n, (index + 1) * n)
            with self._lock:
                self._repaired[level, index] = found
        with self._lock:
            self._kept[level, index] = found
            while len(self._kept) > _KEPT_RECORDS:
                self._kept.popitem(last=False)
        return found

    def take_repaired(self) -> dict[tuple[int, int], Octets]:
        """Records that were damaged, as they should be; the next call does not give them again."""
        with self._lock:
            repaired, self._repaired = self._repaired, {}
        return repaired

    def forget(self) -> None:
        """Reads what comes next from disk."""
        with self._lock:
            self._kept.clear()

    def _computed(self, level: int, start: int, stop: int) -> Octets:
        below = self.nodes(level - 1, start * self._arity, stop * self._arity)
        return self._hash.parents(below.reshape(-1, self._arity, NODE_BYTES))


def _hex(root: bytes | None) -> str:
    return "" if root is None else root.hex()

"""The nullifier tree of an account: which positions it has claimed, keyed by position, a sparse Merkle tree.

What is kept of it.  Positions are ordered by age, so below a threshold L only the *frontier* need stay: of each level the nodes left of
L's own path that have the same parent, less than a node's children.  With every claimed position from L on they give the path of each
position from L on: of its siblings, those wholly below L share their parent with L's path.  What was below L goes to a cold file
(`ColdNullifiers`), which gives the rest of a path to whoever claims something old; the frontier then changes in one node.

Roots never depend on what was pruned.  They are those of the circuits (gadgets.trees, gadgets.pedersen_tree).
"""

import os
import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from bonsai_verifier.threads import is_count

from ..errors import FileDamaged, InputError, StoreLocked, WireError
from .ledger_shapes import (
    NODE_BYTES,
    NODE_WORDS,
    POSITION_BITS,
    TreeShape,
    check_path,
    nodes_from_bytes,
    nodes_to_bytes,
    shape_code,
    to_ints,
    to_words,
)
from .records import BUSY, READ_ONLY, code, failed_to_write

_PATH = struct.Struct("<QB")  # position, levels; then the flags and the siblings
_TREE = struct.Struct("<4sBQQ")  # magic, shape, threshold, leaves; then root, frontier, leaves
_MAGIC = b"bNT1"
_INDEX = struct.Struct("<Q")
Node: TypeAlias = tuple[int, int, int]  # level, index, node


@dataclass(frozen=True, slots=True)
class NullifierPath:
    """One position: the flags of its leaf and one set of siblings, from the leaves up.

    A path of all levels proves that the position is free, or what the root becomes when it is taken.  One of fewer levels is the part
    that a cold file gives (`ColdNullifiers.path`).
    Raises InputError: no position, more flags than a leaf has, or not the siblings of the tree's first levels.
    """

    shape: TreeShape
    position: int
    leaf: int
    path: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        leaf_index(self.shape, self.position)
        check_path(self.shape.nullifiers, self.position >> self.shape.flag_bits, self.path)
        if not is_count(self.leaf) or self.leaf >> 2**self.shape.flag_bits:
            raise InputError("leaf", f"expected {2**self.shape.flag_bits} flags, got {self.leaf!r}")

    @property
    def is_taken(self) -> bool:
        return bool(self.leaf >> self._flag & 1)

    @property
    def root(self) -> int:
        """The node that the path leads to: the root, for a path of all levels."""
        return self._folded(self.leaf)

    @property
    def root_taken(self) -> int:
        """As root, with the position taken and nothing else changed."""
        return self._folded(self.leaf | 1 << self._flag)

    def verify_free(self, root: int) -> bool:
        """Whether the position is free in the tree with this root."""
        return self._is_whole and not self.is_taken and self.root == root

    def verify_insertion(self, root: int, root_new: int) -> bool:
        """Whether it is free under `root`, and taking it, with nothing else changed, gives root_new."""
        return self.verify_free(root) and self.root_taken == root_new

    def inputs(self) -> dict[str, Any]:
        """What recv and op take: pid, nullifier_path and, where a leaf has several flags, nullifier_leaf."""
        leaf = {"nullifier_leaf": self.leaf} if self.shape.flag_bits else {}
        return {"pid": self.position, **leaf, "nullifier_path": [list(level) for level in self.path]}

    def encode(self) -> bytes:
        """Position (8 bytes), number of levels (1), flags, and 32 bytes of each sibling, little-endian."""
        siblings = nodes_to_bytes([x for level in self.path for x in level])
        return _PATH.pack(self.position, len(self.path)) + _flags_to_bytes(self.shape, self.leaf) + siblings

    @classmethod
    def decode(cls, shape: TreeShape, data: bytes) -> "NullifierPath":
        """The inverse of encode.  Raises WireError: another length, a position, flags or a sibling out of range."""
        start = _PATH.size + _flag_bytes(shape)
        if len(data) < start:
            raise WireError("path", f"{len(data)} bytes; a path has {start} or more")
        position, levels = _PATH.unpack_from(data)
        if position >> POSITION_BITS:
            raise WireError("position", f"{position} is not below 2^{POSITION_BITS}")
        if levels > shape.nullifiers.depth:
            raise WireError("path", f"{levels} levels; a path of this tree has at most {shape.nullifiers.depth}")
        leaf = _flags_from_bytes(shape, data[_PATH.size : start])
        counts = [2**width - 1 for width in shape.nullifiers.widths[:levels]]
        if len(data) != (expected := start + NODE_BYTES * sum(counts)):
            raise WireError("path", f"{len(data)} bytes; a path of {levels} levels has {expected}")
        siblings = iter(nodes_from_bytes(data[start:], "siblings"))
        return cls(shape, position, leaf, tuple(tuple(next(siblings) for _ in range(n)) for n in counts))

    @property
    def _is_whole(self) -> bool:
        return len(self.path) == self.shape.nullifiers.depth

    @property
    def _flag(self) -> int:
        return self.position % (1 << self.shape.flag_bits)

    def _folded(self, leaf: int) -> int:
        node = self.shape.leaf_node(leaf)
        return self.shape.nullifiers.fold(self.position >> self.shape.flag_bits, node, self.path)


class NullifierTree:
    """What a wallet keeps: the threshold L, the frontier, and everything claimed from L on.  One writer."""

    def __init__(self, shape: TreeShape, claimed: Iterable[int] = ()) -> None:
        """The tree in which these positions are claimed.  Raises InputError as insert_many."""
        self.shape = shape
        self._levels = shape.nullifiers
        self._first = 0  # the leaf of the threshold
        self._leaves: dict[int, int] = {}  # from there on: index -> flags
        self._nodes: list[dict[int, int]] = [{} for _ in range(self._levels.depth + 1)]  # those and the frontier
        self.insert_many(claimed)

    @property
    def root(self) -> int:
        return self._node(self._levels.depth, 0)

    @property
    def threshold(self) -> int:
        """L, the first position of a leaf: what is claimed from here on is kept."""
        return self._first << self.shape.flag_bits

    @property
    def claimed(self) -> Iterator[int]:
        """The claimed positions from the threshold on, ascending."""
        for index in sorted(self._leaves):
            for flag in range(1 << self.shape.flag_bits):
                if self._leaves[index] >> flag & 1:
                    yield (index << self.shape.flag_bits) + flag

    def frontier(self) -> list[list[int]]:
        """Of each level the nodes left of the threshold's path that have the same parent."""
        return [[self._node(level, i) for i in where] for level, where in enumerate(self._frontier_places(self._first))]

    def path(self, position: int, cold: NullifierPath | None = None) -> NullifierPath:
        """The path of a position, claimed or not.  In: cold, below the threshold, what the cold file's `path` gives for it.

        A position below the threshold whose whole surroundings are unclaimed needs no cold path.
        Raises InputError: no such position, or it needs a cold path.  WireError: the cold path does not lead to the frontier's node.
        """
        index = leaf_index(self.shape, position)
        merge = self._merge(index)
        if index < self._first:
            below = self._checked_cold(position, merge, cold)
            leaf, path = below.leaf, list(below.path)
        else:
            leaf, path = self._leaves.get(index, 0), []
        at = index >> self._levels.starts[merge]
        for level, width in enumerate(self._levels.widths[merge:], start=merge):
            path.append(tuple(self._node(level, i) for i in _siblings(at, width)))
            at >>= width
        return NullifierPath(self.shape, position, leaf, tuple(path))

    def insertion(self, position: int, cold: NullifierPath | None = None) -> NullifierPath:
        """The path by which a free position is taken: both roots come from it.  Changes nothing.

        Raises InputError: it is claimed already; otherwise as `path`.
        """
        found = self.path(position, cold)
        if found.is_taken:
            raise InputError("position", f"{position} is claimed already, and is claimed once")
        return found

    def insert(self, position: int, cold: NullifierPath | None = None) -> NullifierPath:
        """`insertion`, and the position is taken.  Below the threshold the cold file must be told after this one is safe
        (`ColdNullifiers.insert`).  Raises as insertion, before anything changes."""
        found = self.insertion(position, cold)
        leaf = found.leaf | 1 << position % (1 << self.shape.flag_bits)
        index, node = position >> self.shape.flag_bits, self.shape.leaf_node(leaf)
        merge = self._merge(index)
        if index >= self._first:
            self._leaves[index] = leaf
        for level, siblings in enumerate([*found.path, ()]):
            if level >= merge:
                self._nodes[level][index] = node
            if siblings:
                node = self._levels.fold(index, node, [siblings], level)
                index >>= self._levels.widths[level]
        return found

    def insert_many(self, positions: Iterable[int]) -> None:
        """Takes positions from the threshold on, hashing level by level; no paths.

        Raises InputError, before anything changes: one that is out of range, below the threshold, claimed, or named twice.
        """
        changed: dict[int, int] = {}
        for position in positions:
            index, flag = leaf_index(self.shape, position), 1 << position % (1 << self.shape.flag_bits)
            if index < self._first:
                raise InputError(
                    "positions", f"{position} is below the threshold {self.threshold}; insert it with its cold path"
                )
            flags = changed.get(index, self._leaves.get(index, 0))
            if flags & flag:
                raise InputError("positions", f"{position} is claimed already or named twice; nothing was inserted")
            changed[index] = flags | flag
        if not changed:
            return
        self._leaves |= changed
        self._nodes[0].update(zip(changed, self.shape.leaf_nodes(list(changed.values())), strict=True))
        self._hash_above(set(changed))

    def prune(self, below: int, cold: "ColdNullifiers | None" = None) -> None:
        """Raises the threshold to the leaf of position `below`; what is now below it goes to the cold file, then leaves memory.

        Without a cold file it is gone: no receipt down there can be claimed any more, but where nothing was claimed at all.
        Raises InputError: no such position, or one below the threshold; a file that has not what was pruned before.
        """
        first = leaf_index(self.shape, below)
        if first < self._first:
            raise InputError("below", f"{below} is below the threshold {self.threshold}, which never falls")
        if cold is not None:
            nodes = [
                (level, index, node)
                for level, start in enumerate(self._levels.starts[1:], start=1)
                for index, node in self._nodes[level].items()
                if (index + 1) << start <= first
            ]
            cold.add(first, {i: flags for i, flags in self._leaves.items() if i < first}, nodes, self._below)
        kept = self._frontier_places(first)
        for level, nodes_here in enumerate(self._nodes[:-1]):
            edge = first >> self._levels.starts[level]
            self._nodes[level] = {i: x for i, x in nodes_here.items() if i >= edge or i in kept[level]}
        self._leaves = {i: flags for i, flags in self._leaves.items() if i >= first}
        self._first = first

    def keep(self, n: int, cold: "ColdNullifiers | None" = None) -> None:
        """Prunes to the highest threshold that keeps the n largest claimed positions, n >= 1: those and the frontier stay, and what shares
        a leaf with the first of them.  Raises InputError: another n."""
        if not is_count(n) or n == 0:
            raise InputError("n", f"{n} is no number of positions to keep; keep one or more")
        positions = list(self.claimed)
        if len(positions) > n:
            self.prune(positions[-n], cold)

    def encode(self) -> bytes:
        """Shape, threshold, number of leaves, root, frontier, then index and flags of each leaf, ascending."""
        parts = [
            _TREE.pack(_MAGIC, shape_code(self.shape), self._first, len(self._leaves)),
            nodes_to_bytes([self.root, *(x for level in self.frontier() for x in level)]),
        ]
        parts += [_INDEX.pack(i) + _flags_to_bytes(self.shape, flags) for i, flags in sorted(self._leaves.items())]
        return b"".join(parts)

    @classmethod
    def decode(cls, shape: TreeShape, data: bytes) -> "NullifierTree":
        """The inverse of encode; what lies above the leaves is hashed again.

        Raises WireError: another shape, another length, a number out of range or order, or not that root: any byte that changed is refused.
        """
        tree = cls(shape)
        if len(data) < _TREE.size:
            raise WireError("tree", f"{len(data)} bytes; a tree has {_TREE.size + NODE_BYTES} or more")
        magic, code, first, n_leaves = _TREE.unpack_from(data)
        if magic != _MAGIC:
            raise WireError("tree", f"begins with {magic!r}, not {_MAGIC!r}: these bytes are something else")
        if code != shape_code(shape):
            raise WireError("shape", f"is number {code}; {shape.hash_name} {shape.name} has {shape_code(shape)}")
        if first >= shape.nullifiers.capacity or n_leaves > shape.nullifiers.capacity:
            raise WireError("threshold", f"leaf {first} or {n_leaves} leaves are more than the tree has")
        places = tree._frontier_places(first)
        end = _TREE.size + NODE_BYTES * (1 + sum(map(len, places)))
        step = _INDEX.size + _flag_bytes(shape)
        if len(data) != (expected := end + n_leaves * step):
            raise WireError("tree", f"{len(data)} bytes; with this threshold and {n_leaves} leaves it has {expected}")
        root, *nodes = nodes_from_bytes(data[_TREE.size : end], "nodes")
        given = iter(nodes)
        tree._first = first
        for level, where in enumerate(places):
            tree._nodes[level] = {i: next(given) for i in where}
        before = first - 1
        for at in range(end, len(data), step):
            (index,) = _INDEX.unpack_from(data, at)
            flags = _flags_from_bytes(shape, data[at + _INDEX.size : at + step])
            if not before < index < shape.nullifiers.capacity or not flags:
                raise WireError("leaves", f"leaf {index} is empty, out of range or out of order")
            tree._leaves[index] = flags
            before = index
        tree._nodes[0].update(zip(tree._leaves, shape.leaf_nodes(list(tree._leaves.values())), strict=True))
        tree._hash_above({first, *tree._leaves})
        if tree.root != root:
            raise WireError("root", "is not that of the nodes and leaves beside it; the bytes are damaged")
        return tree

    def _node(self, level: int, index: int) -> int:
        return self._nodes[level].get(index, self._levels.empty[level])

    def _hash_above(self, changed: set[int]) -> None:
        """Everything above these leaves, level by level."""
        for level, width in enumerate(self._levels.widths):
            changed = {i >> width for i in changed}
            above = sorted(changed)
            children = [self._node(level, (i << width) + j) for i in above for j in range(2**width)]
            parents = self._levels.parents(level, to_words(children).reshape(len(above), -1, NODE_WORDS))
            self._nodes[level + 1].update(zip(above, to_ints(parents), strict=True))

    def _merge(self, index: int) -> int:
        """The level from which on the path of a leaf is the tree's own."""
        return _merge(self._levels.starts, index, self._first) if index < self._first else 0

    def _frontier_places(self, first: int) -> list[range]:
        """Of each level the indices left of leaf `first`'s path that have the same parent."""
        places = []
        for level, width in enumerate(self._levels.widths):
            at = first >> self._levels.starts[level]
            places.append(range(at >> width << width, at))
        return places

    def _below(self, first: int) -> Iterator[Node]:
        """Nodes that make up all that lies below leaf `first`, or below the threshold if that is higher."""
        for level, where in enumerate(self._frontier_places(max(first, self._first))):
            yield from ((level, i, self._node(level, i)) for i in where)

    def _checked_cold(self, position: int, merge: int, cold: NullifierPath | None) -> NullifierPath:
        """The part of a path up to the frontier's node on level `merge`."""
        index = position >> self.shape.flag_bits
        node = self._node(merge, index >> self._levels.starts[merge])
        if cold is None:
            if node != self._levels.empty[merge]:
                raise InputError(
                    "cold",
                    f"position {position} is below the threshold {self.threshold}; give its path from the cold file",
                )
            return _empty_path(self.shape, position, merge)
        if cold.shape != self.shape or cold.position != position or len(cold.path) != merge:
            raise InputError(
                "cold",
                f"is not the path of position {position} for the threshold {self.threshold}; if the cold file has another one, prune to it",
            )
        if cold.root != node:
            raise WireError(
                "cold", "does not lead to the frontier's node: it is damaged, or of an older or newer state"
            )
        return cold


# The cold file ---------------------------------------------------------------------------------------------------------------


class ColdNullifiers:
    """What was pruned, in a file: every claimed leaf below the threshold and every node wholly below it.

    The file is an SQLite database, so a change is made whole or not at all, also when the process is killed.  Nothing that is read from it
    need be believed: a path is compared with the tree's frontier.
    Raises, whatever is called: FileDamaged, the file is no such database, or of another shape; StoreLocked, another process is at it;
    OSError, it cannot be opened or written.
    """

    def __init__(self, shape: TreeShape, path: Path) -> None:
        """Opens the file, or makes it."""
        self.shape = shape
        self._levels = shape.nullifiers
        self._path = path
        with self._database() as db:
            db.execute(
                "CREATE TABLE IF NOT EXISTS meta (one INTEGER PRIMARY KEY CHECK (one = 1), shape INTEGER, first INTEGER)"
            )
            db.execute(
                "CREATE TABLE IF NOT EXISTS node (level INTEGER, at INTEGER, value BLOB, PRIMARY KEY (level, at)) WITHOUT ROWID"
            )
            db.execute("INSERT OR IGNORE INTO meta VALUES (1, ?, 0)", (shape_code(shape),))
            self._first_leaf(db)

    @property
    def threshold(self) -> int:
        """L: what lies below is here."""
        with self._database() as db:
            return self._first_leaf(db) << self.shape.flag_bits

    def add(
        self,
        first: int,
        leaves: dict[int, int],
        nodes: Iterable[Node],
        below: Callable[[int], Iterable[Node]],
    ) -> None:
        """Takes over what a tree prunes when its threshold rises to leaf `first`: leaves by index, and nodes.

        In: below(leaf), nodes that make up all that the tree has below this leaf and what it has pruned already: the file must have it.
        Raises InputError: it has not, or its threshold is above `first`.
        """
        with self._database() as db:
            have = self._first_leaf(db)
            if first < have:
                raise InputError("cold", "this file belongs to a tree with a higher threshold")
            if any(self._node(db, level, i) != node for level, i, node in below(have)):
                what = "this file has not what was pruned from this tree before"
                remedy = "take the tree's own, a new file for a new tree, and insert a late claim that it was not told"
                raise InputError("cold", f"{what}: {remedy}")
            db.executemany(
                "REPLACE INTO node VALUES (0, ?, ?)", ((i, _flags_to_bytes(self.shape, x)) for i, x in leaves.items())
            )
            db.executemany(
                "REPLACE INTO node VALUES (?, ?, ?)", ((level, i, nodes_to_bytes([x])) for level, i, x in nodes)
            )
            db.execute("UPDATE meta SET first = ?", (first,))

    def path(self, position: int) -> NullifierPath:
        """The path of a position below the threshold up to the frontier's node: what NullifierTree takes as `cold`.

        Raises InputError: a position that is not below the threshold.
        """
        with self._database() as db:
            return self._path_of(db, position)

    def insert(self, position: int) -> None:
        """Takes a position that the tree has taken.  Taking it again changes nothing.  Raises InputError as `path`."""
        with self._database() as db:
            found = self._path_of(db, position)
            leaf, index = found.leaf | 1 << position % (1 << self.shape.flag_bits), position >> self.shape.flag_bits
            db.execute("REPLACE INTO node VALUES (0, ?, ?)", (index, _flags_to_bytes(self.shape, leaf)))
            node = self.shape.leaf_node(leaf)
            for level, siblings in enumerate(found.path):
                node = self._levels.fold(index, node, [siblings], level)
                index >>= self._levels.widths[level]
                db.execute("REPLACE INTO node VALUES (?, ?, ?)", (level + 1, index, nodes_to_bytes([node])))

    def _path_of(self, db: sqlite3.Connection, position: int) -> NullifierPath:
        index, first = leaf_index(self.shape, position), self._first_leaf(db)
        if index >= first:
            raise InputError("position", f"{position} is not below the threshold; the tree itself has its path")
        leaf, path, at = self._value(db, 0, index), [], index
        for level in range(_merge(self._levels.starts, index, first)):
            width = self._levels.widths[level]
            path.append(tuple(self._node(db, level, i) for i in _siblings(at, width)))
            at >>= width
        return NullifierPath(self.shape, position, leaf or 0, tuple(path))

    def _node(self, db: sqlite3.Connection, level: int, index: int) -> int:
        value = self._value(db, level, index)
        if value is None:
            return self._levels.empty[level]
        return value if level else self.shape.leaf_node(value)

    def _value(self, db: sqlite3.Connection, level: int, index: int) -> int | None:
        found = db.execute("SELECT value FROM node WHERE level = ? AND at = ?", (level, index)).fetchone()
        if found is None:
            return None
        try:
            size = NODE_BYTES if level else _flag_bytes(self.shape)
            if not isinstance(found[0], bytes) or len(found[0]) != size:
                raise WireError("value", f"is not {size} bytes")
            return nodes_from_bytes(found[0], "value")[0] if level else _flags_from_bytes(self.shape, found[0])
        except WireError as e:
            raise FileDamaged(str(self._path), f"level {level}, node {index}: {e}") from e

    def _first_leaf(self, db: sqlite3.Connection) -> int:
        found = db.execute("SELECT shape, first FROM meta").fetchone()
        if found is None or not all(isinstance(x, int) for x in found) or not 0 <= found[1] < self._levels.capacity:
            raise FileDamaged(str(self._path), "its threshold is damaged")
        if found[0] != shape_code(self.shape):
            raise FileDamaged(str(self._path), f"is not of the shape {self.shape.hash_name} {self.shape.name}")
        return int(found[1])

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        """A transaction: committed at the end, or rolled back."""
        try:
            with closing(sqlite3.connect(self._path, isolation_level=None)) as db, db:
                db.execute("BEGIN IMMEDIATE")  # from the first reading on: another process may be at it
                yield db
        except (sqlite3.Error, UnicodeDecodeError) as e:  # SQLite's message may quote what is damaged
            if isinstance(e, sqlite3.Error) and code(e) == BUSY:
                raise StoreLocked(str(self._path), "is in use elsewhere; try again") from e
            header = getattr(e, "sqlite_errorcode", 0) == READ_ONLY and os.access(
                self._path, os.W_OK
            )  # it says so itself
            if isinstance(e, sqlite3.Error) and failed_to_write(e) and not header:
                raise OSError(f"{self._path}: {e}") from e
            raise FileDamaged(str(self._path), f"cannot be used as a file of nullifiers: {e}") from e


# Inside ----------------------------------------------------------------------------------------------------------------------


def leaf_index(shape: TreeShape, position: int) -> int:
    """The leaf that holds the position.  Raises InputError: it is not in [0, 2^40)."""
    if not is_count(position) or position >> POSITION_BITS:
        raise InputError("position", f"{position!r} is not in 0 .. 2^{POSITION_BITS} - 1")
    return position >> shape.flag_bits


def _merge(starts: Sequence[int], index: int, first: int) -> int:
    """The level on which a leaf below leaf `first` has a node of the frontier above it: there they have the same parent."""
    return next(level for level, start in enumerate(starts[1:]) if index >> start == first >> start)


def _siblings(index: int, width: int) -> list[int]:
    first = index >> width << width
    return [i for i in range(first, first + 2**width) if i != index]


def _empty_path(shape: TreeShape, position: int, levels: int) -> NullifierPath:
    empty, widths = shape.nullifiers.empty, shape.nullifiers.widths[:levels]
    return NullifierPath(shape, position, 0, tuple((empty[i],) * (2**width - 1) for i, width in enumerate(widths)))


def _flag_bytes(shape: TreeShape) -> int:
    return max(1, (1 << shape.flag_bits) // 8)


def _flags_to_bytes(shape: TreeShape, flags: int) -> bytes:
    return flags.to_bytes(_flag_bytes(shape), "little")


def _flags_from_bytes(shape: TreeShape, data: bytes) -> int:
    flags = int.from_bytes(data, "little")
    if flags >> 2**shape.flag_bits:
        raise WireError("leaf", f"has more than {2**shape.flag_bits} flags")
    return flags

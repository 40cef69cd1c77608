"""LeanIMT: an append-only Merkle tree of any arity from 2 to 16 that hashes no padding and needs no depth beforehand.

A leaf is a node as it is; a parent of one child is that child, of 2 to N children their hash (node_hash.py).  The root of no leaf is None,
the root of one is the leaf.

Kept are complete nodes alone, which never change (shape.py), level by level (levels.py).  At most one node a level is not complete; those of
the present size are computed when leaves are inserted, and belong to the snapshot of that size.  So a snapshot costs nothing, stays as it
is whatever is inserted later, and any smaller size of a tree can be had from it.

One writer at a time, which insert and insert_many see to themselves; any number of readers, without a lock.

Source: zk-kit's LeanIMT (binary) and rotortree 0.20.0 (N-ary), whose roots these are.
"""

import threading

import numpy as np

from bonsai_verifier.field import Octets
from bonsai_verifier.threads import is_count

from ..errors import InputError
from .levels import Level, NodeSource
from .node_hash import BLAKE3, NodeHash
from .proofs import ConsistencyProof, Head, InclusionProof, consistency_nodes, inclusion_nodes
from .shape import (
    NODE_BYTES,
    check_arity,
    check_max_depth,
    default_depth,
    depth_of,
    level_size,
    n_complete,
)


class Snapshot:
    """The tree of one size.  Immutable, and cheap: it shares its nodes with the tree and with all other snapshots."""

    __slots__ = ("_levels", "_partial", "arity", "depth", "node_hash", "root", "size")

    def __init__(self, levels: list[Level], arity: int, node_hash: NodeHash, size: int) -> None:
        self._levels = levels
        self.arity = arity
        self.node_hash = node_hash
        self.size = size
        self.depth = depth_of(size, arity)
        self._partial = self._partial_nodes()
        self.root: bytes | None = self.node(self.depth, 0) if size else None

    @property
    def head(self) -> Head:
        """What a verifier trusts: hash, arity, size and root."""
        return Head(self.node_hash, self.arity, self.size, self.root)

    def at(self, size: int) -> "Snapshot":
        """The tree when it had `size` leaves.  Cost: one path of hashes.  Raises InputError: larger than this one."""
        if not is_count(size) or size > self.size:
            raise InputError("size", f"expected at most the {self.size} leaves of this snapshot, got {size!r}")
        return self if size == self.size else Snapshot(self._levels, self.arity, self.node_hash, size)

    def level_size(self, level: int) -> int:
        """Nodes of a level: 0 above the root.  Raises InputError: no number of a level."""
        if not is_count(level):
            raise InputError("level", f"expected a number from 0, the leaves, got {level!r}")
        return level_size(self.size, self.arity, level) if level <= self.depth and self.size else 0

    def node(self, level: int, index: int) -> bytes:
        """One node.  Raises InputError: there is no such node."""
        if not is_count(index) or index >= self.level_size(level):
            raise InputError(
                "index", f"level {level} has {self.level_size(level)} nodes, there is none of index {index!r}"
            )
        return self._read(level, index, index + 1).tobytes()

    def level(self, level: int, start: int = 0, stop: int | None = None) -> Octets:
        """A copy of nodes start..stop of a level, (n, 32) uint8.  Raises InputError: there are not so many."""
        size = self.level_size(level)
        stop = size if stop is None else stop
        if not (is_count(start) and is_count(stop) and start <= stop <= size):
            raise InputError("stop", f"level {level} has {size} nodes, {start!r} to {stop!r} are not among them")
        return self._read(level, start, stop)

    def complete(self, level: int, start: int, stop: int) -> Octets:
        """Nodes start..stop of a level, all complete: what a store has to keep.  Raises InputError: not so many are."""
        n = n_complete(self.size, self.arity, level)
        if not (is_count(start) and is_count(stop) and start <= stop <= n):
            raise InputError("stop", f"level {level} has {n} complete nodes, {start!r} to {stop!r} are not among them")
        return self._levels[level].read(start, stop) if stop > start else np.empty((0, NODE_BYTES), np.uint8)

    def prove(self, index: int) -> InclusionProof:
        """That the leaf of this index is in the tree.  Raises InputError: there is no such leaf."""
        leaf = self.node(0, index)
        siblings = [self._read(*where) for where in inclusion_nodes(self.size, self.arity, index)]
        return InclusionProof(self.arity, self.size, index, leaf, np.concatenate([_NONE, *siblings]).tobytes())

    def consistency(self, old_size: int) -> ConsistencyProof:
        """That the tree of `old_size` leaves is the beginning of this one.  Raises InputError: larger than this one."""
        if not is_count(old_size) or old_size > self.size:
            raise InputError("old_size", f"expected at most the {self.size} leaves of this snapshot, got {old_size!r}")
        nodes = [self._read(*where) for where in consistency_nodes(old_size, self.size, self.arity)]
        return ConsistencyProof(self.arity, old_size, self.size, np.concatenate([_NONE, *nodes]).tobytes())

    def _read(self, level: int, start: int, stop: int) -> Octets:
        """Nodes of a level, the one that is not complete among them."""
        n = n_complete(self.size, self.arity, level)
        if stop <= n or start == stop:
            return self._levels[level].read(start, stop)
        last = np.frombuffer(self._partial[level], np.uint8)[None]
        return np.concatenate([self._levels[level].read(start, n), last]) if start < n else last.copy()

    def _partial_nodes(self) -> tuple[bytes, ...]:
        """The node of each level that is not complete, of b"" where there is none."""
        partial, found = b"", [b""]
        for level in range(self.depth):
            n = n_complete(self.size, self.arity, level)
            group = n - n % self.arity
            children = self._levels[level].read(group, n).tobytes() + partial
            if len(children) > NODE_BYTES:
                rows = np.frombuffer(children, np.uint8).reshape(1, -1, NODE_BYTES)
                partial = self.node_hash.parents(rows).tobytes()
            else:
                partial = children
            found.append(partial)
        return tuple(found)


_NONE = np.empty((0, NODE_BYTES), np.uint8)


class LeanIMT:
    """The tree that grows.

    In: arity 2..16; node_hash, BLAKE3 unless another is named; max_depth: no more than N^max_depth leaves, 2^40 or a little less by default.
    Raises InputError: another arity or depth.
    """

    def __init__(self, arity: int, node_hash: NodeHash = BLAKE3, max_depth: int | None = None) -> None:
        self.arity = check_arity(arity)
        self.node_hash = node_hash
        self.max_depth = check_max_depth(default_depth(arity) if max_depth is None else max_depth, arity)
        self._levels: list[Level] = [Level(arity, number) for number in range(self.max_depth + 1)]
        self._writing = threading.Lock()
        self._now = Snapshot(self._levels, arity, node_hash, 0)

    @classmethod
    def restore(
        cls,
        source: NodeSource,
        size: int,
        arity: int,
        node_hash: NodeHash = BLAKE3,
        max_depth: int | None = None,
        *,
        pin_above_level: int = 0,
    ) -> "LeanIMT":
        """The tree of `size` leaves whose complete nodes, of all levels, the source has.

        Levels from `pin_above_level` on come into memory; of those below it what is needed to go on.  Nothing is hashed but one path: compare
        the root with one that is trusted; `check` recomputes every node.
        Raises InputError: a size above the capacity; what the source raises.
        """
        tree = cls(arity, node_hash, max_depth)
        if not is_count(size) or size > tree.capacity:
            raise InputError("size", f"expected at most {tree.capacity} leaves, got {size!r}")
        for level in tree._levels:
            level.restore(source, n_complete(size, arity, level.number), level.number >= pin_above_level)
        tree._now = Snapshot(tree._levels, arity, node_hash, size)
        return tree

    @property
    def capacity(self) -> int:
        """N^max_depth leaves."""
        return int(self.arity**self.max_depth)

    @property
    def size(self) -> int:
        return self._now.size

    @property
    def depth(self) -> int:
        return self._now.depth

    @property
    def root(self) -> bytes | None:
        return self._now.root

    @property
    def head(self) -> Head:
        return self._now.head

    def snapshot(self) -> Snapshot:
        """The tree as it is now, for as long as it is held."""
        return self._now

    def insert(self, leaf: bytes) -> bytes:
        """Appends one leaf of 32 bytes; the new root.  Raises InputError as insert_many does, with nothing changed."""
        if len(leaf) != NODE_BYTES:
            raise InputError("leaf", f"expected {NODE_BYTES} bytes, got {len(leaf)}")
        root = self.insert_many(np.frombuffer(leaf, np.uint8)[None])
        assert root is not None
        return root

    def insert_many(self, leaves: Octets) -> bytes | None:
        """Appends n leaves in their order, as n single inserts would; the new root.

        In: (n, 32) uint8; they are copied.
        Raises InputError, with nothing changed: another shape or type, a leaf that the hash does not take, more than the capacity.
        """
        if leaves.dtype != np.uint8 or leaves.ndim != 2 or leaves.shape[1] != NODE_BYTES:
            raise InputError("leaves", f"expected (n, 32) uint8, got {leaves.shape} of {leaves.dtype}")
        self.node_hash.check_leaves(leaves)
        with self._writing:
            old = self._now.size
            new = old + len(leaves)
            if new > self.capacity:
                raise InputError(
                    "leaves", f"{old} and {len(leaves)} more are above the capacity of {self.arity}^{self.max_depth}"
                )
            self._append(old, leaves)
            self._now = Snapshot(self._levels, self.arity, self.node_hash, new)
            return self._now.root

    def evict(self, source: NodeSource, below_level: int, size: int) -> None:
        """Levels below `below_level` leave memory, but for their last pages: from now on the source is asked.

        In: size: the source has all complete nodes of a tree of so many leaves, at most this one's.  Snapshots read from it too.
        """
        with self._writing:
            for level in self._levels[:below_level]:
                level.evict(source, n_complete(min(size, self._now.size), self.arity, level.number))

    @property
    def resident_bytes(self) -> int:
        """Memory reserved for nodes."""
        return sum(level.resident_bytes for level in self._levels)

    # Reading: the snapshot's, at this moment

    def node(self, level: int, index: int) -> bytes:
        return self._now.node(level, index)

    def level(self, level: int, start: int = 0, stop: int | None = None) -> Octets:
        return self._now.level(level, start, stop)

    def prove(self, index: int) -> InclusionProof:
        return self._now.prove(index)

    def consistency(self, old_size: int) -> ConsistencyProof:
        return self._now.consistency(old_size)

    def _append(self, old: int, leaves: Octets) -> None:
        """Writes the leaves and the nodes that they complete, behind all that readers see."""
        n, new = self.arity, old + len(leaves)
        for level in self._levels:
            start, stop = n_complete(old, n, level.number), n_complete(new, n, level.number)
            if start == stop:
                return
            level.reserve(stop)
            while start < stop:
                end = min(stop, start - start % level.page_nodes + level.page_nodes)
                out = level.run(start, end)
                if level.number == 0:
                    out[:] = leaves[start - old : end - old]
                else:
                    size = level.page_nodes // n  # parents of one page below
                    end = min(end, start - start % size + size)
                    children = self._levels[level.number - 1].run(start * n, end * n)
                    level.run(start, end)[:] = self.node_hash.parents(children.reshape(-1, n, NODE_BYTES))
                start = end


def leaves_from_bytes(data: bytes | bytearray | memoryview) -> Octets:
    """Leaves one after the other, 32 bytes each -> (n, 32), not copied.  Raises InputError: another length."""
    if len(data) % NODE_BYTES:
        raise InputError("leaves", f"{len(data)} bytes are not a multiple of {NODE_BYTES}")
    return np.frombuffer(data, np.uint8).reshape(-1, NODE_BYTES)

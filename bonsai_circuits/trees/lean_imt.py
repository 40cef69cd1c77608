"""LeanIMT: an append-only Merkle tree of any arity from 2 to 16 that hashes no padding and needs no depth beforehand.

A leaf is a node as it is; a parent of one child is that child, of 2 to N children their hash (node_hash.py).  The root of no leaf is None,
the root of one is the leaf.

Kept are complete nodes alone, which never change (shape.py), level by level (levels.py).  At most one node a level is not complete; those
of a size are computed when a tree gets that size, and belong to the snapshot of it.  So a snapshot costs nothing, stays as it is
whatever is inserted later, and the tree of any smaller size can be had from it.

One writer at a time, which the inserts see to themselves; any number of readers, without a lock.

Source: LeanIMT of zk-kit (binary) and of rotortree 0.20.0 (N-ary), whose roots these are.
"""

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.field import Octets
from bonsai_verifier.kernels.limbs import rows
from bonsai_verifier.threads import Workers, count, is_count, workers

from ..errors import InputError
from ..kernels.paths import siblings_into
from .levels import Growth, Level, NodeSource, Pages
from .node_hash import BLAKE3, NodeHash, check_node_hash
from .proofs import (
    BatchProof,
    ConsistencyProof,
    Head,
    InclusionProof,
    InclusionProofs,
    batch_levels,
    consistency_nodes,
    inclusion_nodes,
)
from .shape import (
    NODE_BYTES,
    check_arity,
    check_max_depth,
    default_depth,
    depth_of,
    largest_power,
    level_size,
    n_complete,
)

_JOBS = 4  # for each thread, where there is enough to do
_JOB_BLOCKS = 4  # of leaves, in one job at least
_WORTH_THREADS = 8  # blocks of leaves
_FEWEST_NODES = (
    8  # of a level of one block that its job still hashes; what is above comes later, for all blocks at once
)
_PATHS = 4096  # of a batch of proofs, in one job

Indices = Sequence[int] | NDArray[np.integer]


class Snapshot:
    """The tree of one size: immutable, and cheap, for it shares its nodes with the tree and with all other snapshots."""

    __slots__ = ("_levels", "_partial", "arity", "depth", "node_hash", "root", "size")

    def __init__(self, levels: list[Level], arity: int, node_hash: NodeHash, size: int, partial: Octets) -> None:
        """partial: NodeHash.open_nodes at this size."""
        self._levels, self._partial = levels, partial
        self.arity, self.node_hash, self.size = arity, node_hash, size
        self.depth = depth_of(size, arity)
        self.root: bytes | None = self._read(self.depth, 0, 1).tobytes() if size else None

    @property
    def head(self) -> Head:
        """What a verifier trusts: hash, arity, size and root."""
        return Head(self.node_hash, self.arity, self.size, self.root)

    def at(self, size: int) -> "Snapshot":
        """The tree when it had `size` leaves.  Cost: one path of hashes.  Raises InputError: larger than this one."""
        self._check_size("size", size)
        if size == self.size:
            return self
        groups = np.zeros((depth_of(size, self.arity), self.arity, NODE_BYTES), np.uint8)
        _read_groups(groups, self._levels, self.arity, size)
        return _snapshot(self._levels, groups, self.arity, self.node_hash, size)

    def level_size(self, level: int) -> int:
        """Nodes of a level, 0 above the root.  Raises InputError: no number of a level."""
        if not is_count(level):
            raise InputError("level", f"expected a number from 0, the leaves, got {level!r}")
        return level_size(self.size, self.arity, level) if level <= self.depth else 0

    def node(self, level: int, index: int) -> bytes:
        """One node.  Raises InputError: there is no such node."""
        if not is_count(index) or index >= self.level_size(level):
            raise InputError("index", f"level {level} has {self.level_size(level)} nodes, none of index {index!r}")
        return self._read(level, index, index + 1).tobytes()

    def level(self, level: int, start: int = 0, stop: int | None = None) -> Octets:
        """A copy of nodes start..stop of a level, (n, 32) uint8.  Raises InputError: there are not so many."""
        n = self.level_size(level)
        stop = n if stop is None else stop
        _check_range(start, stop, n, f"nodes of level {level}")
        return self._read(level, start, stop)

    def complete(self, level: int, start: int, stop: int) -> Octets:
        """A copy of nodes start..stop of a level, which are complete: what a store keeps.  Raises InputError: not so many are."""
        n = n_complete(self.size, self.arity, level) if self.level_size(level) else 0
        _check_range(start, stop, n, f"complete nodes of level {level}")
        return self._read(level, start, stop)

    # Proofs

    def prove(self, index: int) -> InclusionProof:
        """That the leaf of this index is in the tree.  Raises InputError: there is no such leaf."""
        leaf = self.node(0, index)
        siblings = [self._read(*where) for where in inclusion_nodes(self.size, self.arity, index)]
        return InclusionProof(self.arity, self.size, index, leaf, b"".join([x.tobytes() for x in siblings]))

    def prove_many(self, indices: Indices, threads: int = 0) -> InclusionProofs:
        """prove for each of m indices, in any order, as arrays.  Raises InputError: a leaf that is not there, no number of threads."""
        where = self._indices(indices)
        m = len(where)
        leaves = np.empty((m, NODE_BYTES), np.uint8)
        siblings = np.empty((m, self.depth, self.arity - 1, NODE_BYTES), np.uint8)
        if m and self.depth == 0:
            leaves[:] = np.frombuffer(self.root or b"", np.uint8)
        elif m:
            seen = [level.pages for level in self._levels[: self.depth]]
            table = np.concatenate([pages.addresses for pages in seen])
            first_page = np.cumsum([0] + [len(pages.addresses) for pages in seen])
            nodes = self._levels[0].page_nodes

            def gather(rows: slice) -> None:
                part = where[rows]
                siblings_into(
                    leaves[rows], siblings[rows], part, self.size, self.arity, nodes, table, first_page, self._partial
                )
                for level, pages in enumerate(seen):
                    self._gather_outside(pages, level, part, leaves[rows], siblings[rows, level])

            with workers(count(threads) if m > _PATHS else 1) as run:
                list(run(gather, run.shares(m, _PATHS)))
        return InclusionProofs(self.arity, self.size, where, leaves, siblings)

    def prove_batch(self, indices: Indices) -> BatchProof:
        """That the leaves of these indices are in the tree, each sibling once and none that others give.

        Raises InputError: no index, or a leaf that is not there.  An index may come twice.
        """
        where = np.unique(self._indices(indices))
        siblings = []
        for level, (_, missing) in enumerate(batch_levels(self.size, self.arity, where)):
            siblings += self._each(level, missing)
        return BatchProof(
            self.arity, self.size, tuple(where.tolist()), b"".join(self._each(0, where)), b"".join(siblings)
        )

    def consistency(self, old_size: int) -> ConsistencyProof:
        """That the tree of `old_size` leaves is the beginning of this one.  Raises InputError: larger than this one."""
        self._check_size("old_size", old_size)
        nodes = [self._read(*where).tobytes() for where in consistency_nodes(old_size, self.size, self.arity)]
        return ConsistencyProof(self.arity, old_size, self.size, b"".join(nodes))

    def check(self, level: int, start: int = 0, stop: int | None = None) -> int:
        """Recomputes nodes start..stop of a level, above the leaves, from their children; -1, or the index of the first that differs.

        Raises InputError: level 0, or not so many nodes.
        """
        n = self.level_size(level)
        stop = n if stop is None else stop
        _check_range(start, stop, n, f"nodes of level {level}")
        if level == 0:
            raise InputError("level", "leaves are not computed; name a level above them")
        if start == stop:
            return -1
        full = level_size(self.size, self.arity, level - 1) // self.arity
        step = self._levels[0].page_nodes
        for first in range(start, stop, step):
            end = min(stop, first + step)
            whole = max(first, min(end, full))
            children = self._read(level - 1, first * self.arity, whole * self.arity)
            parents = [self.node_hash.parents(children.reshape(whole - first, self.arity, NODE_BYTES))]
            if whole < end:  # the last node, of fewer children
                rest = self._read(level - 1, whole * self.arity, self.level_size(level - 1))
                parents.append(self.node_hash.parents(rest[None]) if len(rest) > 1 else rest)
            differs = (np.concatenate(parents) != self._read(level, first, end)).any(axis=1)
            if differs.any():
                return first + int(np.argmax(differs))
        return -1

    def _read(self, level: int, start: int, stop: int) -> Octets:
        """Nodes of a level, the one that is not complete among them; of a level above the root there are none."""
        if start == stop:
            return np.empty((0, NODE_BYTES), np.uint8)
        n = n_complete(self.size, self.arity, level)
        if stop <= n:
            return self._levels[level].read(start, stop)
        last = self._partial[level : level + 1]
        return np.concatenate([self._levels[level].read(start, n), last]) if start < n else last.copy()

    def _each(self, level: int, nodes: NDArray[np.int64]) -> list[bytes]:
        """These nodes, ascending; neighbours are read together."""
        runs = np.split(nodes, np.flatnonzero(np.diff(nodes) != 1) + 1)
        return [self._read(level, int(run[0]), int(run[-1]) + 1).tobytes() for run in runs if len(run)]

    def _gather_outside(
        self, pages: Pages, level: int, indices: NDArray[np.int64], leaves: Octets, out: Octets
    ) -> None:
        """Siblings, and at level 0 leaves, of groups on pages that are not in memory: whole ones, and the last one of an older tree."""
        if not pages.outside:
            return
        nodes = indices // self.arity**level
        rows = np.flatnonzero(nodes < pages.outside * self._levels[0].page_nodes)
        groups, which = np.unique(nodes[rows] // self.arity, return_inverse=True)
        width = self.level_size(level)
        read = [self._read(level, g * self.arity, min((g + 1) * self.arity, width)) for g in groups.tolist()]
        for row, j in zip(rows.tolist(), which.tolist(), strict=True):
            position, n = int(nodes[row]) % self.arity, len(read[j])
            out[row, :position], out[row, position : n - 1] = read[j][:position], read[j][position + 1 :]
            if level == 0:
                leaves[row] = read[j][position]

    def _indices(self, indices: Indices) -> NDArray[np.int64]:
        try:
            found = np.asarray(indices)
        except ValueError as e:
            raise InputError("indices", "expected a sequence of integers, got sequences of several lengths") from e
        if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
            raise InputError("indices", f"expected a sequence of integers, got {found.shape} of {found.dtype}")
        wrong = (found < 0) | (found >= self.size)
        if wrong.any():
            raise InputError("indices", f"the tree has {self.size} leaves, none of index {found[np.argmax(wrong)]}")
        return np.ascontiguousarray(found, np.int64)

    def _check_size(self, name: str, size: int) -> None:
        if not is_count(size) or size > self.size:
            raise InputError(name, f"expected at most the {self.size} leaves of this tree, got {size!r}")


class LeanIMT:
    """The tree that grows.

    In: arity 2..16; node_hash; max_depth: no more than N^max_depth leaves, by default 2^40 or somewhat less; threads that share the work of
    large inserts, 0: one for each core.
    Raises InputError: another arity or depth, no hash, no number of threads.
    """

    def __init__(
        self, arity: int, node_hash: NodeHash = BLAKE3, max_depth: int | None = None, *, threads: int = 0
    ) -> None:
        self.arity = check_arity(arity)
        self.node_hash = check_node_hash(node_hash)
        self.max_depth = check_max_depth(default_depth(arity) if max_depth is None else max_depth, arity)
        self._threads = count(threads)
        self._levels: list[Level] = [Level(arity, number) for number in range(self.max_depth + 1)]
        self._writing = threading.Lock()
        self._groups = np.zeros(
            (self.max_depth, arity, NODE_BYTES), np.uint8
        )  # of the last nodes without a complete parent
        self._grouped = -1  # the size of which these are; -1: an insert is at them, or was interrupted there
        self._publish(0)

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
        threads: int = 0,
    ) -> "LeanIMT":
        """The tree of `size` leaves whose complete nodes, of all levels, the source has.

        Levels from `pin_above_level` on come into memory; of those below it what is needed to go on.  One path is hashed, no more: compare
        the root with one that is trusted; Snapshot.check recomputes all the others.
        Raises InputError: as the constructor; a size above the capacity.  What the source raises.
        """
        tree = cls(arity, node_hash, max_depth, threads=threads)
        if not is_count(size) or size > tree.capacity:
            raise InputError("size", f"expected at most {tree.capacity} leaves, got {size!r}")
        for level in tree._levels:
            level.restore(source, n_complete(size, arity, level.number), level.number >= pin_above_level)
        _read_groups(tree._groups, tree._levels, arity, size)
        tree._publish(size)
        return tree

    @property
    def capacity(self) -> int:
        """N^max_depth leaves."""
        return int(self.arity**self.max_depth)

    @property
    def size(self) -> int:
        """Leaves."""
        return self._now.size

    @property
    def depth(self) -> int:
        """Levels above the leaves."""
        return self._now.depth

    @property
    def root(self) -> bytes | None:
        """The node of the highest level; None without leaves."""
        return self._now.root

    @property
    def head(self) -> Head:
        """What a verifier trusts: hash, arity, size and root."""
        return self._now.head

    @property
    def resident_bytes(self) -> int:
        """Memory reserved for nodes."""
        return sum(level.resident_bytes for level in self._levels)

    def snapshot(self) -> Snapshot:
        """The tree as it is now, for as long as it is held.  Cost: nothing."""
        return self._now

    def insert(self, leaf: bytes) -> bytes:
        """Appends one leaf of 32 bytes; the new root.  Raises InputError as insert_many does, with nothing changed."""
        octets = leaf_octets(leaf)
        self.node_hash.check_leaves(octets[None])
        with self._writing:
            self._check_room(self._now.size, 1)
            self._open_groups()
            self._push(self._now.size, octets)
            root = self._publish(self._now.size + 1)
            assert root is not None
            return root

    def insert_many(self, leaves: Octets) -> bytes | None:
        """Appends n leaves in their order, as n single inserts would; the new root.

        In: (n, 32) uint8, n may be 0; they are copied, and must not change meanwhile.
        Raises InputError, with nothing changed: another shape or type, a leaf that the hash does not take, more leaves than the capacity.
        """
        self.check_insert(leaves)
        leaves = rows(leaves, NODE_BYTES, np.uint8)
        with self._writing:
            old = self._now.size
            self._check_room(old, len(leaves))
            if len(leaves) == 0:
                return self._now.root
            self._append(old, leaves)
            self._open_groups()
            _read_groups(self._groups, self._levels, self.arity, old + len(leaves), old)
            return self._publish(old + len(leaves))

    def check_insert(self, leaves: Octets) -> None:
        """Raises InputError if insert_many would, as the tree is now."""
        if not isinstance(leaves, np.ndarray):
            raise InputError("leaves", f"expected an array (n, {NODE_BYTES}) of uint8, got {type(leaves).__name__}")
        if leaves.dtype != np.uint8 or leaves.ndim != 2 or leaves.shape[1] != NODE_BYTES:
            raise InputError("leaves", f"expected (n, {NODE_BYTES}) uint8, got {leaves.shape} of {leaves.dtype}")
        self.node_hash.check_leaves(leaves)
        self._check_room(self._now.size, len(leaves))

    def evict(self, source: NodeSource, below_level: int, size: int) -> None:
        """Levels below `below_level` leave memory, but for pages that are not full: from now on the source is asked, by snapshots too.

        In: the source has all complete nodes of this tree's first `size` leaves.  Raises InputError: more leaves than there are.
        """
        with self._writing:
            self._now._check_size("size", size)
            for level in self._levels[:below_level]:
                level.evict(source, n_complete(size, self.arity, level.number))

    # Reading: the snapshot's calls, at this moment

    def node(self, level: int, index: int) -> bytes:
        """Snapshot.node."""
        return self._now.node(level, index)

    def level(self, level: int, start: int = 0, stop: int | None = None) -> Octets:
        """Snapshot.level."""
        return self._now.level(level, start, stop)

    def prove(self, index: int) -> InclusionProof:
        """Snapshot.prove."""
        return self._now.prove(index)

    def prove_many(self, indices: Indices, threads: int = 0) -> InclusionProofs:
        """Snapshot.prove_many."""
        return self._now.prove_many(indices, threads)

    def prove_batch(self, indices: Indices) -> BatchProof:
        """Snapshot.prove_batch."""
        return self._now.prove_batch(indices)

    def consistency(self, old_size: int) -> ConsistencyProof:
        """Snapshot.consistency."""
        return self._now.consistency(old_size)

    def _check_room(self, size: int, more: int) -> None:
        if size + more > self.capacity:
            raise InputError(
                "leaves",
                f"{size} and {more} more are above the capacity, {self.arity}^{self.max_depth}; take a deeper tree",
            )

    def _open_groups(self) -> None:
        """The last groups, of the tree as it is, may be changed until the next one is published; after an interrupt they are read again."""
        if self._grouped != self._now.size:
            _read_groups(self._groups, self._levels, self.arity, self._now.size)
        self._grouped = -1

    def _publish(self, size: int) -> bytes | None:
        """Shows readers the tree of this size, whose complete nodes and last groups stand; its root."""
        groups = self._groups[: depth_of(size, self.arity)]
        self._now = _snapshot(self._levels, groups, self.arity, self.node_hash, size)
        self._grouped = size
        return self._now.root

    def _push(self, index: int, node: Octets) -> None:
        """Writes one leaf and the nodes that it completes."""
        for level in self._levels:
            level.reserve(index + 1)
            level.run(index, index + 1)[0] = node
            if level.number == self.max_depth:
                return
            group = self._groups[level.number]
            index, position = divmod(index, self.arity)
            group[position] = node
            if position + 1 < self.arity:
                return
            node = self.node_hash.parents(group[None])[0]

    def _append(self, old: int, leaves: Octets) -> None:
        """Writes the leaves and the nodes that they complete, behind all that readers see."""
        new = old + len(leaves)
        for level in self._levels:
            if n := n_complete(new, self.arity, level.number):
                level.reserve(n)
        block = largest_power(self.arity, min(self.node_hash.block, self._levels[0].page_nodes))
        together = 1  # levels that a job fills, the leaves' among them
        while together <= self.max_depth and block // self.arity**together >= _FEWEST_NODES:
            together += 1
        starts = self._cuts(old, new, block)
        stops = np.append(starts[1:], new)
        growth = Growth(self.arity, self._levels[:together], leaves, old, block, starts, stops)
        jobs = len(starts)
        with workers(self._threads if len(leaves) >= _WORTH_THREADS * block else 1) as run:
            share = max(1, jobs // (_JOBS * run.threads))
            list(run(lambda ranges: self.node_hash.grow(growth, ranges), _slices(jobs, share)))
            for number in range(together, self.max_depth + 1):
                start, stop = n_complete(old, self.arity, number), n_complete(new, self.arity, number)
                if start == stop:
                    return
                self._raise_level(run, number, start, stop)

    def _cuts(self, old: int, new: int, block: int) -> NDArray[np.int64]:
        """The first leaves of ranges that lie under one page of each level, several for each thread where there are enough."""
        size = self._levels[0].page_nodes
        while size // self.arity >= _JOB_BLOCKS * block and (new - old) // size < _JOBS * self._threads:
            size //= self.arity
        later = np.arange(old - old % size + size, new, size, dtype=np.int64)
        return np.concatenate([np.array([old], np.int64), later])

    def _raise_level(self, run: Workers, number: int, start: int, stop: int) -> None:
        """Hashes the complete nodes start..stop of a level."""
        below, level = self._levels[number - 1], self._levels[number]
        step = min(level.page_nodes // self.arity, largest_power(self.arity, self.node_hash.block))

        def raise_run(low: int) -> None:
            high = min(stop, low - low % step + step)
            children = below.run(low * self.arity, high * self.arity)
            level.run(low, high)[:] = self.node_hash.parents(children.reshape(high - low, self.arity, NODE_BYTES))

        jobs = [start, *range(start - start % step + step, stop, step)]
        list(run(raise_run, jobs) if len(jobs) > 1 else map(raise_run, jobs))


def leaf_octets(leaf: bytes) -> Octets:
    """(32,), not copied.  Raises InputError: no bytes, or another number of them."""
    try:
        octets = np.frombuffer(leaf, np.uint8)
    except (TypeError, ValueError) as e:
        raise InputError("leaf", f"expected {NODE_BYTES} bytes, got {type(leaf).__name__}") from e
    if len(octets) != NODE_BYTES:
        raise InputError("leaf", f"expected {NODE_BYTES} bytes, got {len(octets)}")
    return octets


def _snapshot(levels: list[Level], groups: Octets, arity: int, node_hash: NodeHash, size: int) -> Snapshot:
    """The snapshot of a size whose complete nodes stand.  In: groups: what _read_groups gives; the rest of them is overwritten."""
    counts, n = [], size
    for _ in groups:
        n, left = divmod(n, arity)
        counts.append(left)
    return Snapshot(levels, arity, node_hash, size, node_hash.open_nodes(groups, counts))


def _read_groups(groups: Octets, levels: list[Level], arity: int, size: int, old: int = -1) -> None:
    """groups[l] begins with the complete nodes of level l that have no complete parent in a tree of this size.

    In: old: a smaller size for which that was so, if any.
    """
    n = size
    for level, group in zip(levels, groups, strict=False):
        if n == old:
            return
        n, left = divmod(n, arity)
        old //= arity
        group[:left] = level.read(n * arity, n * arity + left)


def _slices(n: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def _check_range(start: int, stop: int, n: int, what: str) -> None:
    if not (is_count(start) and is_count(stop) and start <= stop <= n):
        raise InputError("stop", f"there are {n} {what}; {start!r} to {stop!r} are not among them")

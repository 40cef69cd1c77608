"""Orchard's note commitment tree: binary, of 2^32 leaves from the beginning, all of them uncommitted, filled from the left.

Kept is the frontier alone, at most one node a level: the left siblings that wait for a right one.  Appending many leaves at once hashes
each level in batches (native/sinsemilla.py).

Source: Zcash protocol specification, sections 3.8 "Note Commitment Trees" and 5.4.1.3 "MerkleCRH^Orchard Hash Function".
"""

from collections.abc import Sequence
from functools import cache

import numpy as np

from bonsai_verifier.field import Octets
from bonsai_verifier.threads import is_count

from ..errors import InputError
from ..native.sinsemilla import NODE_BYTES, check_nodes, merkle_hash, merkle_hash_many

DEPTH = 32  # MerkleDepth^Orchard
UNCOMMITTED = 2  # an x of no point of Pallas: no commitment is it


@cache
def empty_roots(depth: int = DEPTH) -> tuple[int, ...]:
    """The roots of trees without a commitment, of depth 0, 1, .. depth."""
    roots = [UNCOMMITTED]
    for level in range(depth):
        roots.append(merkle_hash(level, roots[-1], roots[-1]))
    return tuple(roots)


class OrchardTree:
    """An append-only tree: `append`, `append_many`, `root`, `frontier`.  Not for several threads at once.

    Nodes are x coordinates in 32 bytes, little-endian and below p, or integers where there is one of them.
    """

    def __init__(self, depth: int = DEPTH) -> None:
        """An empty tree.  Raises InputError: a depth not in [1, 32]."""
        if not (is_count(depth) and 1 <= depth <= DEPTH):
            raise InputError("depth", f"not an integer in [1, {DEPTH}]")
        self.depth = depth
        self.size = 0
        self._waiting: list[Octets | None] = [None] * (depth + 1)  # by level; the last is the root of a full tree

    @classmethod
    def from_frontier(cls, size: int, nodes: Sequence[int], depth: int = DEPTH) -> "OrchardTree":
        """The tree whose `size` and `frontier` these were.

        Raises InputError: a size that does not fit the depth, another number of nodes than the size has ones, a node not in [0, p).
        """
        tree = cls(depth)
        if not (is_count(size) and size <= 1 << depth):
            raise InputError("size", f"not an integer in [0, 2^{depth}]")
        if len(nodes) != size.bit_count():
            raise InputError("nodes", f"{len(nodes)} of them; a tree of {size} leaves has {size.bit_count()}")
        rows = iter(_rows(nodes, "nodes"))
        tree.size = size
        tree._waiting = [next(rows)[None] if size >> level & 1 else None for level in range(depth + 1)]
        return tree

    @property
    def frontier(self) -> tuple[int, ...]:
        """The roots of the complete subtrees, smallest first: one for each bit of the size that is 1."""
        return tuple(int.from_bytes(node.tobytes(), "little") for node in self._waiting if node is not None)

    def append(self, leaf: int) -> None:
        """Raises InputError: a leaf not in [0, p), a full tree."""
        self.append_many(_rows([leaf], "leaf"))

    def append_many(self, leaves: Octets) -> None:
        """As many appends, (n, 32) uint8.  Cost: n hashes, most of them in batches.

        Raises InputError, before anything changes: another shape or type, a leaf not below p, by its index, more leaves than there is room.
        """
        check_nodes(leaves, "leaves")
        if self.size + len(leaves) > 1 << self.depth:
            raise InputError("leaves", f"{len(leaves)} of them; there is room for {(1 << self.depth) - self.size}")
        self.size += len(leaves)
        nodes = leaves.copy()
        for level in range(self.depth + 1):
            waiting = self._waiting[level]
            if not len(nodes):
                return
            if waiting is not None:
                nodes = np.concatenate([waiting, nodes])
            pairs = len(nodes) // 2
            self._waiting[level] = nodes[-1:].copy() if len(nodes) % 2 else None
            nodes = merkle_hash_many(level, nodes[: 2 * pairs].reshape(pairs, 2, NODE_BYTES))

    def root(self) -> int:
        """The root of all 2^depth leaves, those not appended yet uncommitted.  Cost: at most a hash a level."""
        empty = empty_roots(self.depth)
        node: int | None = None  # the subtree at the edge, once it has a commitment
        for level, waiting in enumerate(self._waiting):
            left = None if waiting is None else int.from_bytes(waiting.tobytes(), "little")
            if level == self.depth:
                return left if left is not None else empty[level] if node is None else node
            if left is not None:
                node = merkle_hash(level, left, empty[level] if node is None else node)
            elif node is not None:
                node = merkle_hash(level, node, empty[level])
        raise AssertionError("the levels end with the root")


def _rows(nodes: Sequence[int], name: str) -> Octets:
    """Integers as rows of 32 bytes.  Raises InputError: one that is none in [0, 2^256)."""
    try:
        data = b"".join([node.to_bytes(NODE_BYTES, "little") for node in nodes])
    except (OverflowError, AttributeError):
        raise InputError(name, "an integer in [0, p) is needed") from None
    rows = np.frombuffer(data, np.uint8).reshape(-1, NODE_BYTES)
    check_nodes(rows, name)
    return rows

"""Proofs about lean trees: what they hold, their one encoding, and what is checked, against a head that is trusted.

A head is a hash, an arity, a size and a root.  The size belongs to it as much as the root: the hash does not tell leaves from inner
nodes, so a root alone commits to nothing.  H(a, b) is the root of two leaves a and b, and of four whose parents are a and b; and a lifted
leaf may be shown as another leaf of a larger tree.  Whoever publishes a root publishes its size.

*Why a proof that verifies is true.*  Let the head be that of an honest tree.  Its depth, and how many children each of its nodes has,
follow from its size and arity (shape.py).  A verifier takes nothing about the shape from a proof: not which level a node is at, not
its place, not how many siblings it has.  It computes the root by that one formula.

  Inclusion.  Go down the path from the root, where the computed node is the tree's node.  Has it k >= 2 children, then both nodes are
  hashes of k children, and all children are equal, unless two different inputs of 32 k bytes (k elements) have one hash: a collision.
  For k = 1 the child is the node.  After `depth` levels the leaf of the proof is the tree's leaf of that index, and every sibling is
  the tree's.  So a leaf has one proof.  A relabelled leaf, an inflated size, an inner node as a leaf, a lifted level that claims a place or
  a sibling: each claims another shape, and is refused before anything is hashed.
  k is never the prover's choice, and inputs of another k have another length; so the hash needs no tag for it.

  Many leaves at once: the same argument down all paths; a node that paths share is computed once.

  Consistency.  Let both heads be honest.  The old tree's last leaf, and at each level what stands left of its path, complete nodes and
  the same in both trees, make the old root; with what stands right of it in the new tree, the new root.  By the argument above each of
  these nodes is the old tree's and the new tree's node of its place.  Below them are all leaves of the old tree: they are the first leaves
  of the new one.  If nobody vouches for the new head, the proof says only that some inputs below the new root have the old leaves
  first; the size, and what stands right of them, is then what the prover says.

  Update.  A true inclusion proof for the old head and a true consistency proof hold every node of the new path.

*One encoding.*  Elements of a hash over a field are canonical (node_hash.py).  How many nodes a proof has follows from its numbers; bytes
of another length are refused.  In arrays, places for siblings that the shape has not are zero.

A false proof is a verdict, False or None.  What is no proof at all, of a wrong length or out of range, is an error.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.field import Octets
from bonsai_verifier.threads import count, is_count, workers

from ..errors import InputError, WireError
from .node_hash import NodeHash
from .shape import MAX_SIZE, NODE_BYTES, check_arity, depth_of, group_size, level_size

Where = tuple[int, int, int]  # nodes start..stop of a level

# The first byte of an encoding, then arity, size and another number; integers little-endian
_INCLUSION, _CONSISTENCY, _BATCH = 1, 2, 3
_HEADER = struct.Struct("<BBQQ")
_INDEX_BYTES = 8
_SHARE = 1024  # proofs of one job


# Shapes ----------------------------------------------------------------------------------------------------------------------


def inclusion_nodes(size: int, arity: int, index: int) -> Iterator[Where]:
    """The siblings of a leaf's path: of each level, from the leaves up, those left of it and those right of it."""
    for level in range(depth_of(size, arity)):
        first = index - index % arity
        yield level, first, index
        yield level, index + 1, first + group_size(size, arity, level, index)
        index //= arity


def consistency_nodes(old_size: int, size: int, arity: int) -> Iterator[Where]:
    """Of each level: what stands left of the old tree's last node (at the leaves, that node too), then what its group has got since.

    Nothing for an old tree that is empty, or the new one.
    """
    if 0 < old_size < size:
        last = old_size - 1
        for level in range(depth_of(size, arity)):
            first = last - last % arity
            yield level, first, last + (level == 0)
            yield level, last + 1, first + group_size(size, arity, level, last)
            last //= arity


def batch_levels(
    size: int, arity: int, indices: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Of each level, from the leaves up: (nodes that are known, siblings that are not), ascending.  In: indices ascending, no two alike."""
    known = indices
    for level in range(depth_of(size, arity)):
        groups = np.unique(known // arity)
        children = _children(groups, level_size(size, arity, level), arity)
        yield known, children[~np.isin(children, known, assume_unique=True)]
        known = groups


def _children(groups: NDArray[np.int64], n: int, arity: int) -> NDArray[np.int64]:
    """The nodes, of n of a level, below these nodes of the next."""
    children = (groups[:, None] * arity + np.arange(arity)).ravel()
    return children[children < n]


def _sides(nodes: bytes, where: Iterator[Where]) -> Iterator[tuple[bytes, bytes]]:
    """The nodes of each level that stand left and right of a path."""
    at = 0
    for (_, start, left), (_, right, stop) in zip(where, where, strict=True):
        end = at + NODE_BYTES * (left - start)
        yield nodes[at:end], nodes[end : end + NODE_BYTES * (stop - right)]
        at = end + NODE_BYTES * (stop - right)


def _n_nodes(where: Iterator[Where]) -> int:
    return sum(stop - start for _, start, stop in where)


# Heads -----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Head:
    """What a verifier trusts: the hash, the arity, and the size and root of one tree.

    Raises InputError: no arity, a size out of range, a root that is not 32 bytes, or one where there are no leaves.
    """

    node_hash: NodeHash
    arity: int
    size: int
    root: bytes | None

    def __post_init__(self) -> None:
        check_arity(self.arity)
        _check_size("size", self.size)
        if (self.root is None) != (self.size == 0):
            raise InputError("root", "expected None for a tree without leaves, and 32 bytes for any other")
        if self.root is not None and len(self.root) != NODE_BYTES:
            raise InputError("root", f"expected {NODE_BYTES} bytes, got {len(self.root)}")

    def takes(self, nodes: bytes) -> bool:
        """Each 32 bytes may stand in a tree of this hash."""
        return self.node_hash.takes_all or bool(self.node_hash.canonical(_nodes(nodes)).all())

    def parent(self, children: bytes) -> bytes:
        """The node over these children, 32 bytes each; one is lifted."""
        if len(children) == NODE_BYTES:
            return children
        return self.node_hash.parents(_nodes(children)[None]).tobytes()


# One leaf --------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class InclusionProof:
    """That `leaf` is leaf `index` of the tree of `size` leaves.

    siblings: 32 bytes each, in the order of inclusion_nodes.
    Raises InputError: numbers out of range, lengths that do not follow from them.
    """

    arity: int
    size: int
    index: int
    leaf: bytes
    siblings: bytes

    def __post_init__(self) -> None:
        _check_place(self.arity, self.size, self.index)
        _check_length("leaf", self.leaf, 1)
        _check_length("siblings", self.siblings, _n_nodes(inclusion_nodes(self.size, self.arity, self.index)))

    def verify(self, head: Head) -> bool:
        """The tree of this head has this leaf at this index.  The caller compares leaf and index with those it asks about."""
        if (self.arity, self.size) != (head.arity, head.size) or not head.takes(self.leaf + self.siblings):
            return False
        node = self.leaf
        for left, right in self.sides():
            node = head.parent(left + node + right)
        return node == head.root

    def zk_kit(self) -> tuple[int, tuple[bytes, ...]]:
        """(index, siblings) of zk-kit's LeanIMT, which drops lifted levels and numbers the path by the others.

        Raises InputError: a tree that is not binary.
        """
        if self.arity != 2:
            raise InputError("arity", f"zk-kit's trees are binary, this one has {self.arity} children a node")
        bits = [bool(left) for left, right in self.sides() if left + right]
        siblings = tuple(self.siblings[i : i + NODE_BYTES] for i in range(0, len(self.siblings), NODE_BYTES))
        return sum(bit << i for i, bit in enumerate(bits)), siblings

    def encode(self) -> bytes:
        """18 bytes of numbers, the leaf, the siblings."""
        return _HEADER.pack(_INCLUSION, self.arity, self.size, self.index) + self.leaf + self.siblings

    @classmethod
    def decode(cls, data: bytes) -> "InclusionProof":
        """The proof of this encoding.  Raises WireError: bytes that are no encoding."""
        arity, size, index = _header(data, _INCLUSION)
        body = data[_HEADER.size :]
        return _decoded(lambda: cls(arity, size, index, body[:NODE_BYTES], body[NODE_BYTES:]))

    def sides(self) -> Iterator[tuple[bytes, bytes]]:
        """Siblings left and right of the path, level by level."""
        return _sides(self.siblings, inclusion_nodes(self.size, self.arity, self.index))


# Many leaves -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class InclusionProofs:
    """m proofs as arrays: leaf i of m is leaf indices[i] of the tree of `size` leaves.

    In: indices (m,) int64; leaves (m, 32) uint8; siblings (m, depth, N - 1, 32) uint8: left ones, right ones, then zeros where a group has
    fewer than N nodes.
    Raises InputError: another shape or type, an index out of range.
    """

    arity: int
    size: int
    indices: NDArray[np.int64]
    leaves: Octets
    siblings: Octets

    def __post_init__(self) -> None:
        check_arity(self.arity)
        _check_size("size", self.size)
        m = len(self.indices)
        shape = (m, depth_of(self.size, self.arity), self.arity - 1, NODE_BYTES)
        for name, array, expected in (
            ("leaves", self.leaves, (m, NODE_BYTES)),
            ("siblings", self.siblings, shape),
        ):
            if array.shape != expected or array.dtype != np.uint8:
                raise InputError(name, f"expected {expected} of uint8, got {array.shape} of {array.dtype}")
        if self.indices.ndim != 1 or self.indices.dtype != np.int64:
            raise InputError("indices", f"expected (m,) int64, got {self.indices.shape} of {self.indices.dtype}")
        if m and not (self.indices.min() >= 0 and self.indices.max() < self.size):
            raise InputError("indices", f"not all of them are in [0, {self.size})")

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, i: int) -> InclusionProof:
        """Proof i by itself; what stands in places that the shape has not is left behind."""
        index = int(self.indices[i])
        sizes = [group_size(self.size, self.arity, level, index // self.arity**level) for level in range(self.depth)]
        siblings = b"".join([self.siblings[i, level, : n - 1].tobytes() for level, n in enumerate(sizes)])
        return InclusionProof(self.arity, self.size, index, self.leaves[i].tobytes(), siblings)

    @property
    def depth(self) -> int:
        """Levels above the leaves."""
        return depth_of(self.size, self.arity)

    def verify(self, head: Head, threads: int = 0) -> NDArray[np.bool_]:
        """InclusionProof.verify of each of the m proofs, (m,) bool: paths go up side by side.

        In: threads that share the work, 0: one for each core.  Raises InputError: no number of threads.
        """
        m, n_threads = len(self), count(threads)
        verdict = np.zeros(m, bool)
        if (self.arity, self.size) != (head.arity, head.size):
            return verdict
        root = np.frombuffer(head.root or b"", np.uint8)
        node_hash = head.node_hash

        def verify(part: slice) -> None:
            leaves, siblings = self.leaves[part], self.siblings[part]
            indices = self.indices[part]
            known = np.arange(m)[part]
            if not node_hash.takes_all:
                nodes = np.concatenate([leaves[:, None], siblings.reshape(len(leaves), -1, NODE_BYTES)], axis=1)
                canonical = node_hash.canonical(nodes.reshape(-1, NODE_BYTES)).reshape(nodes.shape[:2]).all(axis=1)
                leaves, siblings = leaves[canonical], siblings[canonical]
                indices, known = indices[canonical], known[canonical]
            roots, tidy = node_hash.path_roots(leaves, siblings, indices, self.size, self.arity)
            verdict[known] = tidy & (roots == root).all(axis=1)

        with workers(n_threads if m > _SHARE else 1) as run:
            list(run(verify, run.shares(m, _SHARE)))
        return verdict


@dataclass(frozen=True, slots=True)
class BatchProof:
    """That leaf i of `leaves` is leaf indices[i] of the tree of `size` leaves, for all i: one path each, what they share once.

    In: indices ascending, no two alike; leaves and siblings 32 bytes each, the latter in the order of batch_levels.
    Raises InputError: no index, numbers out of range or order, lengths that do not follow from them.
    """

    arity: int
    size: int
    indices: tuple[int, ...]
    leaves: bytes
    siblings: bytes

    def __post_init__(self) -> None:
        if not self.indices:
            raise InputError("indices", "expected at least one")
        for index in self.indices:
            _check_place(self.arity, self.size, index)
        if any(a >= b for a, b in pairwise(self.indices)):
            raise InputError("indices", "expected them ascending, no two alike")
        _check_length("leaves", self.leaves, len(self.indices))
        _check_length("siblings", self.siblings, sum(len(missing) for _, missing in self._levels()))

    def verify(self, head: Head) -> bool:
        """The tree of this head has these leaves at these indices; the caller compares them with those it asks about."""
        if (self.arity, self.size) != (head.arity, head.size) or not head.takes(self.leaves + self.siblings):
            return False
        values, given, at = _nodes(self.leaves), _nodes(self.siblings), 0
        for known, missing in self._levels():
            children = np.concatenate([known, missing])
            order = np.argsort(children)
            nodes = np.concatenate([values, given[at : at + len(missing)]])[order]
            at += len(missing)
            # Only the last group of a level may have fewer than N nodes
            rest = len(children) % self.arity
            full = nodes[: len(nodes) - rest].reshape(-1, self.arity, NODE_BYTES)
            values = head.node_hash.parents(full)
            if rest:
                last = head.parent(nodes[len(nodes) - rest :].tobytes())
                values = np.concatenate([values, _nodes(last)])
        return values.tobytes() == head.root

    def encode(self) -> bytes:
        """18 bytes of numbers, 8 for each index, the leaves, the siblings."""
        header = _HEADER.pack(_BATCH, self.arity, self.size, len(self.indices))
        return header + np.array(self.indices, "<u8").tobytes() + self.leaves + self.siblings

    @classmethod
    def decode(cls, data: bytes) -> "BatchProof":
        """The proof of this encoding.  Raises WireError: bytes that are no encoding."""
        arity, size, n = _header(data, _BATCH)
        body = data[_HEADER.size :]
        if n * (_INDEX_BYTES + NODE_BYTES) > len(body):
            raise WireError("proof", f"{len(data)} bytes are too few for {n} leaves")
        leaves, siblings = n * _INDEX_BYTES, n * (_INDEX_BYTES + NODE_BYTES)
        indices = tuple(np.frombuffer(body[:leaves], "<u8").tolist())
        return _decoded(lambda: cls(arity, size, indices, body[leaves:siblings], body[siblings:]))

    def _levels(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        return batch_levels(self.size, self.arity, np.array(self.indices, np.int64))


# Two trees -------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConsistencyProof:
    """That the tree of `old_size` leaves is the beginning of that of `size`.

    nodes: 32 bytes each, in the order of consistency_nodes.
    Raises InputError: numbers out of range, a length that does not follow from them.
    """

    arity: int
    old_size: int
    size: int
    nodes: bytes

    def __post_init__(self) -> None:
        check_arity(self.arity)
        _check_size("size", self.size)
        if not is_count(self.old_size) or self.old_size > self.size:
            raise InputError("old_size", f"expected at most {self.size}, got {self.old_size!r}")
        _check_length("nodes", self.nodes, _n_nodes(consistency_nodes(self.old_size, self.size, self.arity)))

    def verify(self, old: Head, new: Head) -> bool:
        """The tree of the old head is the beginning of that of the new one.  Both heads are trusted, as is said above."""
        if (old.arity, old.size, new.arity, new.size) != (self.arity, self.old_size, self.arity, self.size):
            return False
        if old.node_hash.name != new.node_hash.name or not new.takes(self.nodes):
            return False
        if self.old_size in (0, self.size):  # nothing to be the beginning of; the same tree
            return self.old_size == 0 or old.root == new.root
        old_node, new_node = b"", b""
        for left, right in self.sides():
            old_node, new_node = new.parent(left + old_node), new.parent(left + new_node + right)
        return (old_node, new_node) == (old.root, new.root)

    def update(self, proof: InclusionProof, old: Head, new: Head) -> InclusionProof | None:
        """The proof of the same leaf in the new tree, as that tree would give it; None if either proof is not true of these heads."""
        if not (self.verify(old, new) and proof.verify(old)):
            return None
        if self.old_size == self.size:
            return proof
        found, node, index, last = [], b"", proof.index, self.old_size - 1
        sides = zip_longest(self.sides(), proof.sides(), fillvalue=(b"", b""))
        for (left, right), (before, behind) in sides:
            # `node` is the new tree's node on the path of the old tree's last leaf; at the leaves it is the end of `left`
            if index // self.arity == last // self.arity:
                if index < last and node:
                    behind = behind[:-NODE_BYTES] + node
                behind += right
            found += [before, behind]
            node = new.parent(left + node + right)
            index, last = index // self.arity, last // self.arity
        return InclusionProof(self.arity, self.size, proof.index, proof.leaf, b"".join(found))

    def encode(self) -> bytes:
        """18 bytes of numbers, the nodes."""
        return _HEADER.pack(_CONSISTENCY, self.arity, self.old_size, self.size) + self.nodes

    @classmethod
    def decode(cls, data: bytes) -> "ConsistencyProof":
        """The proof of this encoding.  Raises WireError: bytes that are no encoding."""
        arity, old_size, size = _header(data, _CONSISTENCY)
        return _decoded(lambda: cls(arity, old_size, size, data[_HEADER.size :]))

    def sides(self) -> Iterator[tuple[bytes, bytes]]:
        """What stands left and right of the old tree's last path, level by level."""
        return _sides(self.nodes, consistency_nodes(self.old_size, self.size, self.arity))


# Checks ----------------------------------------------------------------------------------------------------------------------


def _nodes(data: bytes) -> Octets:
    return np.frombuffer(data, np.uint8).reshape(-1, NODE_BYTES)


def _check_size(name: str, size: int) -> None:
    if not is_count(size) or size > MAX_SIZE:
        raise InputError(name, f"expected a number of leaves, at most 2^62, got {size!r}")


def _check_place(arity: int, size: int, index: int) -> None:
    check_arity(arity)
    _check_size("size", size)
    if not is_count(index) or index >= size:
        raise InputError("index", f"a tree of {size} leaves has none of index {index!r}")


def _check_length(name: str, data: bytes, n: int) -> None:
    if len(data) != n * NODE_BYTES:
        raise InputError(name, f"expected {n} times {NODE_BYTES} bytes, got {len(data)}")


def _header(data: bytes, kind: int) -> tuple[int, int, int]:
    if len(data) < _HEADER.size:
        raise WireError("proof", f"{len(data)} bytes are no proof")
    found, *numbers = _HEADER.unpack_from(data)
    if found != kind:
        raise WireError("proof", f"expected a proof of kind {kind}, got one of kind {found}")
    arity, first, second = numbers
    return arity, first, second


_T = TypeVar("_T")


def _decoded(make: Callable[[], _T]) -> _T:
    try:
        return make()
    except InputError as error:
        raise WireError("proof", str(error)) from error

"""The hashes that a lean tree may be made of: 2 to N children of 32 bytes -> their parent, many at a time.

    blake3         BLAKE3 of the children one after the other, unkeyed; a child is any 32 bytes
    poseidon_bls   Poseidon over Fr of BLS12-381 with the Filecoin constants and the tag of a tree node, 2^k - 1
    poseidon_bn254 Poseidon over Fr of BN254 with circom's constants, as zk-kit's trees use it

Looked up by name: node_hash("blake3").  A child of a hash over a field is an element in 32 bytes, little-endian and below the modulus:
one value, one encoding.  x and x + r would be hashed alike, so that a proof for the one would be a proof for the other; both a tree and
its verifiers refuse what is not below r.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.field import Octets
from bonsai_verifier.kernels.limbs import rows
from bonsai_verifier.parameters import FR_MODULUS

from ..errors import InputError
from ..kernels.blake3_nodes import grow_into, nodes_into, open_nodes_into, path_roots_into
from ..kernels.bn254_fr import BN254_FR_MODULUS
from ..native.poseidon import merkle_tag, poseidon_many
from ..native.poseidon_arrays import Elements
from ..native.poseidon_bn254 import poseidon_bn254_many
from .levels import Growth
from .shape import MAX_ARITY, MIN_ARITY, NODE_BYTES, level_size


class NodeHash(ABC):
    """A function of 2, 3, ... nodes; those of one number of children are one function, and no two numbers need be told apart by it."""

    name: ClassVar[str]
    block: ClassVar[int] = 512  # leaves that are worth a job
    takes_all: ClassVar[bool] = False  # any 32 bytes are canonical

    @abstractmethod
    def parents(self, children: Octets) -> Octets:
        """The parent of each row of children.  In: (n, k, 32) uint8, elements canonical.  Out: (n, 32) uint8.

        Raises InputError: another shape or type, an element that is not canonical.
        """

    def canonical(self, nodes: Octets) -> NDArray[np.bool_]:
        """Which of n nodes, (n, 32) uint8, may stand in a tree of this hash."""
        return np.ones(len(nodes), bool)

    def check_leaves(self, leaves: Octets) -> None:
        """Raises InputError naming the index: a leaf that no tree of this hash has."""
        if not self.takes_all and not (canonical := self.canonical(leaves)).all():
            index = int(np.argmin(canonical))
            raise InputError(f"leaves[{index}]", f"not below the modulus of {self.name}; reduce it first")

    # What trees ask for; a hash with a kernel for it does better

    def grow(self, growth: Growth, ranges: slice) -> None:
        """Puts leaves in their places, and the nodes that they complete."""
        for j in range(len(growth.starts))[ranges]:
            growth.copy_leaves(j)
            for out, children in growth.runs(j):
                out[:] = self.parents(children)

    def open_nodes(self, groups: Octets, counts: list[int]) -> Octets:
        """The nodes that are not complete, from the leaves up.

        In: groups (levels, N, 32), the last children of each level that have no complete parent yet, counts[l] < N of them at level l.
        Out: (levels + 1, 32): the one of each level; what has no leaves below it is zero, and above it what its children are.
        """
        out = np.zeros((len(counts) + 1, NODE_BYTES), np.uint8)
        found = False
        for level, count in enumerate(counts):
            if found and count:
                children = np.concatenate([groups[level, :count], out[level][None]])
                out[level + 1] = self.parents(children[None])[0]
            elif found:
                out[level + 1] = out[level]
            elif count:
                found = True
                out[level + 1] = self.parents(groups[level, :count][None])[0] if count > 1 else groups[level, 0]
        return out

    def path_roots(
        self, leaves: Octets, siblings: Octets, indices: NDArray[np.int64], size: int, arity: int
    ) -> tuple[Octets, NDArray[np.bool_]]:
        """The roots that m paths lead to in a tree of `size` leaves, and which of them have zeros in the places that the shape has not.

        In: leaves (m, 32), siblings (m, depth, N - 1, 32), canonical; indices (m,) in [0, size).
        """
        roots, tidy = leaves.copy(), np.ones(len(leaves), bool)
        nodes = indices
        for level in range(siblings.shape[1]):
            parents, position = np.divmod(nodes, arity)
            n = np.minimum(arity, level_size(size, arity, level) - parents * arity)
            for k in np.unique(n).tolist():
                rows = np.flatnonzero(n == k)
                given = siblings[rows, level]
                tidy[rows] &= ~given[:, k - 1 :].any(axis=(1, 2))
                if k > 1:
                    children = np.empty((len(rows), k, NODE_BYTES), np.uint8)
                    own = np.arange(k) == position[rows][:, None]
                    children[own] = roots[rows]
                    children[~own] = given[:, : k - 1].reshape(-1, NODE_BYTES)
                    roots[rows] = self.parents(children)
            nodes = parents
        return roots, tidy

    def __repr__(self) -> str:
        return f"node_hash({self.name!r})"


class _Blake3(NodeHash):
    name = "blake3"
    takes_all = True
    block = 4096  # and the nodes above them, 170 KiB, stay in a core's second cache

    def parents(self, children: Octets) -> Octets:
        n, k = check_children(children)
        out = np.empty((n, NODE_BYTES), np.uint8)
        nodes_into(out, rows(children.reshape(n, k * NODE_BYTES), k * NODE_BYTES, np.uint8))
        return out

    def grow(self, growth: Growth, ranges: slice) -> None:
        starts, stops, where = growth.starts[ranges], growth.stops[ranges], growth.where(ranges)
        grow_into(where, growth.leaves, growth.first, starts, stops, growth.arity, growth.block)

    def open_nodes(self, groups: Octets, counts: list[int]) -> Octets:
        out = np.zeros((len(counts) + 1, NODE_BYTES), np.uint8)
        if counts:
            open_nodes_into(out, groups, np.array(counts, np.int64))
        return out

    def path_roots(
        self, leaves: Octets, siblings: Octets, indices: NDArray[np.int64], size: int, arity: int
    ) -> tuple[Octets, NDArray[np.bool_]]:
        roots, tidy = np.empty((len(leaves), NODE_BYTES), np.uint8), np.empty(len(leaves), np.uint8)
        width = siblings.shape[1] * (arity - 1) * NODE_BYTES
        flat = rows(siblings.reshape(len(leaves), width), width, np.uint8)
        path_roots_into(roots, tidy, rows(leaves, NODE_BYTES, np.uint8), flat, indices, size, arity)
        return roots, tidy.astype(bool)


class _Poseidon(NodeHash):
    """Of field elements; `many` hashes rows (n, k, 32) of canonical ones."""

    modulus: ClassVar[int]

    def parents(self, children: Octets) -> Octets:
        check_children(children)
        return np.asarray(self._many(children), np.uint8)

    def canonical(self, nodes: Octets) -> NDArray[np.bool_]:
        return below(nodes, self.modulus)

    @abstractmethod
    def _many(self, children: Octets) -> Elements:
        """The hash of each row."""


class _PoseidonBls(_Poseidon):
    name = "poseidon_bls"
    modulus = FR_MODULUS

    def _many(self, children: Octets) -> Elements:
        return poseidon_many(children, merkle_tag(children.shape[1]))


class _PoseidonBn254(_Poseidon):
    name = "poseidon_bn254"
    modulus = BN254_FR_MODULUS

    def _many(self, children: Octets) -> Elements:
        return poseidon_bn254_many(children)


def below(nodes: Octets, modulus: int) -> NDArray[np.bool_]:
    """Which of n little-endian integers, (n, 32) uint8, are below the modulus."""
    words = np.ascontiguousarray(nodes).view("<u8")
    bound = np.frombuffer(modulus.to_bytes(NODE_BYTES, "little"), "<u8")
    smaller = np.zeros(len(words), bool)
    for word, limit in zip(words.T, bound, strict=True):  # the highest decides, so it comes last
        smaller = np.where(word == limit, smaller, word < limit)
    return smaller


def check_children(children: Octets) -> tuple[int, int]:
    """(n, k).  Raises InputError: not (n, k, 32) uint8 with 2 <= k <= 16."""
    if not isinstance(children, np.ndarray):
        raise InputError("children", f"expected an array (n, k, {NODE_BYTES}) of uint8, got {type(children).__name__}")
    if children.dtype != np.uint8 or children.ndim != 3 or children.shape[2] != NODE_BYTES:
        raise InputError("children", f"expected (n, k, {NODE_BYTES}) uint8, got {children.shape} of {children.dtype}")
    n, k, _ = children.shape
    if not MIN_ARITY <= k <= MAX_ARITY:
        raise InputError("children", f"expected {MIN_ARITY} to {MAX_ARITY} children a node, got {k}")
    return n, k


BLAKE3: NodeHash = _Blake3()
POSEIDON_BLS: NodeHash = _PoseidonBls()
POSEIDON_BN254: NodeHash = _PoseidonBn254()
_BY_NAME = {h.name: h for h in (BLAKE3, POSEIDON_BLS, POSEIDON_BN254)}


def node_hash(name: str) -> NodeHash:
    """The hash of this name.  Raises InputError: there is none; the message names those there are."""
    if name not in _BY_NAME:
        raise InputError("hash", f"there is no node hash {name!r}; take one of {', '.join(sorted(_BY_NAME))}")
    return _BY_NAME[name]


def check_node_hash(value: NodeHash) -> NodeHash:
    """The hash.  Raises InputError: it is none, but perhaps the name of one."""
    if not isinstance(value, NodeHash):
        raise InputError("node_hash", f'expected a NodeHash, as node_hash("blake3") gives it, got {value!r}')
    return value

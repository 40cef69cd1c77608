"""The hashes a lean tree may be made of: k children of 32 bytes -> their parent, 2 <= k <= N, many at a time.

A hash is looked up by its name: node_hash("blake3").  A leaf is a node as it is, never hashed.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from bonsai_verifier.field import Octets
from bonsai_verifier.transcript import blake3

from ..errors import InputError
from .shape import MAX_ARITY, MIN_ARITY, NODE_BYTES


class NodeHash(ABC):
    """parents(children) for every number of children that a node may have."""

    name: ClassVar[str]

    @abstractmethod
    def parents(self, children: Octets) -> Octets:
        """The parent of each row.  In: children (n, k, 32) uint8, 2 <= k <= 16, checked by check_leaves or parents themselves.  Out: (n, 32)."""

    @abstractmethod
    def first_refused(self, nodes: Octets) -> int:
        """The index of the first of n nodes, (n, 32) uint8, that is no value of this hash's inputs; -1 if there is none."""

    def check_leaves(self, leaves: Octets) -> None:
        """Raises InputError naming the index: a leaf that this hash does not take."""
        if (index := self.first_refused(leaves)) >= 0:
            raise InputError(f"leaves[{index}]", f"not a canonical element, as {self.name} needs: {self._canonical}")

    _canonical: ClassVar[str] = ""

    def __repr__(self) -> str:
        return f"node_hash({self.name!r})"


class _Blake3(NodeHash):
    name = "blake3"

    def parents(self, children: Octets) -> Octets:
        check_children(children)
        rows = children.reshape(len(children), -1)
        return np.array([np.frombuffer(blake3(row), np.uint8) for row in rows], np.uint8).reshape(-1, NODE_BYTES)

    def first_refused(self, nodes: Octets) -> int:
        return -1


def check_children(children: Octets) -> None:
    """Raises InputError: not (n, k, 32) bytes with 2 <= k <= 16."""
    if children.dtype != np.uint8 or children.ndim != 3 or children.shape[2] != NODE_BYTES:
        raise InputError("children", f"expected (n, k, 32) uint8, got {children.shape} of {children.dtype}")
    if not MIN_ARITY <= children.shape[1] <= MAX_ARITY:
        raise InputError("children", f"expected {MIN_ARITY} to {MAX_ARITY} children a node, got {children.shape[1]}")


BLAKE3: NodeHash = _Blake3()
_BY_NAME = {h.name: h for h in (BLAKE3,)}


def node_hash(name: str) -> NodeHash:
    """The hash of this name.  Raises InputError: there is none; the message names those there are."""
    if name not in _BY_NAME:
        raise InputError("hash", f"there is no node hash {name!r}; take one of {', '.join(sorted(_BY_NAME))}")
    return _BY_NAME[name]

"""Proofs about lean trees, and their verification.  (More of why it is sound follows.)"""

from collections.abc import Iterator
from dataclasses import dataclass

from .node_hash import NodeHash
from .shape import depth_of, group_size, level_size

Where = tuple[int, int, int]  # nodes start..stop of a level


@dataclass(frozen=True, slots=True)
class Head:
    """What a verifier trusts: a hash, an arity, and a root together with its size.  Proofs are verified against heads alone."""

    node_hash: NodeHash
    arity: int
    size: int
    root: bytes | None


def inclusion_nodes(size: int, arity: int, index: int) -> Iterator[Where]:
    """The siblings of a leaf's path, left ones and right ones of each level in turn, from the leaves up."""
    for level in range(depth_of(size, arity)):
        first = index - index % arity
        stop = first + group_size(size, arity, level, index)
        yield level, first, index
        yield level, index + 1, stop
        index //= arity


def consistency_nodes(old_size: int, size: int, arity: int) -> Iterator[Where]:
    """Per level: what stands left of the old tree's last node (at the leaves, that node too), and what came into its group since."""
    if not 0 < old_size < size:
        return
    last = old_size - 1
    for level in range(depth_of(size, arity)):
        first = last - last % arity
        yield level, first, last + (level == 0)
        yield level, last + 1, min(first + arity, level_size(size, arity, level))
        last //= arity


def n_inclusion_nodes(size: int, arity: int, index: int) -> int:
    return sum(stop - start for _, start, stop in inclusion_nodes(size, arity, index) if stop > start)


@dataclass(frozen=True, slots=True)
class InclusionProof:
    """That `leaf` is leaf `index` of the tree of `size` leaves.  siblings: 32 bytes each, in the order of inclusion_nodes."""

    arity: int
    size: int
    index: int
    leaf: bytes
    siblings: bytes


@dataclass(frozen=True, slots=True)
class ConsistencyProof:
    """That the tree of `old_size` leaves is the beginning of that of `size`.  nodes: 32 bytes each, in the order of consistency_nodes."""

    arity: int
    old_size: int
    size: int
    nodes: bytes

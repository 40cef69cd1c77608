"""Membership in a LeanIMT over Poseidon in the clear: the twin of gadgets/lean_imt.py.

A node of one child is that child, lifted; of k children, 2 <= k <= N, their Poseidon hash with the tag of a tree node of arity k.  The last
node of a level may have fewer children than N.  What a path looks like follows from index and size.

Source of the tree: @zk-kit/lean-imt (binary; its proofs leave lifted levels out of siblings and index, here the index is the leaf's).
"""

from collections.abc import Sequence

from ..errors import InputError
from .poseidon import identifier_tag, merkle_tag, poseidon

SIZED_ROOT_TAG = identifier_tag(3)


def group_sizes(index: int, size: int, arity: int, depth: int) -> list[int]:
    """How many children the node above leaf `index` has on each of `depth` levels, in a tree of `size` leaves; 1: it is lifted.

    Raises InputError: an index not below the size, or a size above arity^depth.
    """
    if not 0 < size <= arity**depth:
        raise InputError("size", f"{size} is not in 1 .. {arity}^{depth}")
    if not 0 <= index < size:
        raise InputError("index", f"{index} is not below the size {size}")
    sizes, last = [], size - 1
    for _ in range(depth):
        sizes.append(last % arity + 1 if index // arity == last // arity else arity)
        index, last = index // arity, last // arity
    return sizes


def lean_imt_root(leaf: int, index: int, size: int, path: Sequence[Sequence[int]], arity: int = 2) -> int:
    """The root over `leaf` at `index`.  path[level]: the other children in order; what a level does not need is ignored.

    Raises InputError as group_sizes, for as many levels as the path has; or a level of too few siblings.
    """
    node = leaf
    for level, n in enumerate(group_sizes(index, size, arity, len(path))):
        if len(path[level]) < n - 1:
            raise InputError(f"path[{level}]", f"{len(path[level])} siblings; with this index and size it has {n - 1}")
        digit = index // arity**level % arity
        children = [*path[level][:digit], node, *path[level][digit : n - 1]]
        if n > 1:
            node = poseidon(children, merkle_tag(n))
    return node


def padded_path(siblings: Sequence[int], index: int, size: int, arity: int, depth: int) -> list[list[int]]:
    """A path as the circuit takes it, `depth` levels of arity - 1 siblings, zeros where there are fewer.

    In: the siblings one after the other from the leaves up, lifted levels having none: those of an inclusion proof.
    Raises InputError as group_sizes, or another number of siblings.
    """
    counts = [n - 1 for n in group_sizes(index, size, arity, depth)]
    if len(siblings) != sum(counts):
        raise InputError("siblings", f"{len(siblings)} of them; with this index and size there are {sum(counts)}")
    given = iter(siblings)
    return [[*(next(given) for _ in range(n)), *[0] * (arity - 1 - n)] for n in counts]


def sized_root(root: int, size: int) -> int:
    """One number for a root and the number of its leaves."""
    return poseidon([root, size], SIZED_ROOT_TAG)

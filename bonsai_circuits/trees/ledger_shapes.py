"""The shapes of a ledger's two trees, and how their nodes are hashed: what the circuits of gadgets/ speak of, in the clear.

A position has 40 bits.  Levels count from the leaves; the node of level i has 2^widths[i] children, which the next widths[i] bits of a
position choose among.  Nodes are elements of Fr: integers one at a time, (n, 4) uint64 little-endian words in bulk, canonical.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache

import numpy as np

from bonsai_verifier.field import Words, fr_below, ints_from_limbs, limbs_from_ints
from bonsai_verifier.parameters import FR_MODULUS as R
from bonsai_verifier.threads import is_count

from ..errors import InputError, WireError
from ..native.pedersen import BITMAP_TAG, QUATERNARY_TAG, nodes
from ..native.poseidon import merkle_tag, poseidon_many

POSITION_BITS = 40
NODE_WORDS, NODE_BYTES = 4, 32
FLAG_LEVELS = 4  # of the classic Pedersen nullifier tree, below what a path shows: a leaf there has 2^4 flags
BITMAP_BITS = 7  # of a position, within a leaf of the wide shapes


@dataclass(frozen=True)
class Levels:
    """One tree: widths, and parents(level, children (n, 2^width, 4)) -> nodes (n, 4)."""

    widths: tuple[int, ...]
    parents: Callable[[int, Words], Words] = field(repr=False)
    empty_leaf: Callable[[], int] = field(default=int, repr=False)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """starts[i]: bits of a position below level i; the last one is all of them."""
        sums = [0]
        for width in self.widths:
            sums.append(sums[-1] + width)
        return tuple(sums)

    @property
    def depth(self) -> int:
        return len(self.widths)

    @property
    def capacity(self) -> int:
        """Leaves."""
        return 1 << self.starts[-1]

    @cached_property
    def empty(self) -> tuple[int, ...]:
        """The empty leaf, and the node of each level over none but empty ones."""
        nodes = [self.empty_leaf()]
        for level, width in enumerate(self.widths):
            nodes.append(self.node(level, [nodes[-1]] * 2**width))
        return tuple(nodes)

    def node(self, level: int, children: Sequence[int]) -> int:
        """One node of level `level` + 1 from its children, all 2^width of them."""
        return to_ints(self.parents(level, to_words(children).reshape(1, -1, NODE_WORDS)))[0]

    def fold(self, index: int, node: int, path: Sequence[Sequence[int]], first: int = 0) -> int:
        """The node above a node of level `first`, whose index it is, and a path of siblings, as many levels higher."""
        for level, siblings in enumerate(path, start=first):
            digit = index % 2 ** self.widths[level]
            node = self.node(level, [*siblings[:digit], node, *siblings[digit:]])
            index >>= self.widths[level]
        return node

    def cut(self, levels: int) -> "Levels":
        """The lowest levels alone: a smaller capacity.  Raises InputError: there are not so many."""
        if not 1 <= levels <= self.depth:
            raise InputError("levels", f"{levels} of them; this shape has 1 to {self.depth}")
        return self if levels == self.depth else _cut(self, levels)


@cache
def _cut(whole: Levels, levels: int) -> Levels:
    """One object for each, since it remembers its empty nodes."""
    return Levels(whole.widths[:levels], whole.parents, whole.empty_leaf)


@dataclass(frozen=True)
class TreeShape:
    """Both trees of a hash and a shape.

    A leaf of the nullifier tree holds 2^flag_bits neighbouring positions as flags, bit i of a number for the i-th; leaf_nodes are the nodes
    that stand for such numbers in level 0 of `nullifiers`.
    """

    hash_name: str
    name: str
    receipts: Levels
    nullifiers: Levels
    flag_bits: int
    leaf_nodes: Callable[[Sequence[int]], list[int]] = field(repr=False)

    def leaf_node(self, flags: int) -> int:
        return self.leaf_nodes([flags])[0]


def tree_shape(hash_name: str, name: str) -> TreeShape:
    """poseidon or pedersen, wide or classic.  Raises InputError with the shapes there are."""
    found = SHAPES.get((hash_name, name))
    if found is None:
        known = ", ".join(" ".join(key) for key in SHAPES)
        raise InputError("shape", f"there is no shape {name!r} over {hash_name!r}; there are {known}")
    return found


def shape_code(shape: TreeShape) -> int:
    """What stands for a shape in encodings: 0 to 3, in the order of SHAPES."""
    return list(SHAPES).index((shape.hash_name, shape.name))


# Values ----------------------------------------------------------------------------------------------------------------------


def to_words(values: Sequence[int]) -> Words:
    return limbs_from_ints(values, NODE_WORDS)


def to_ints(words: Words) -> list[int]:
    return ints_from_limbs(words)


def checked_words(values: Words | Sequence[int], name: str) -> Words:
    """(n, 4) canonical words, of an array or of integers.  Raises InputError, naming the first that is no element of Fr."""
    if not isinstance(values, np.ndarray):
        return to_words([element(x, f"{name}[{i}]") for i, x in enumerate(values)])
    if values.dtype != np.uint64 or values.ndim != 2 or values.shape[1] != NODE_WORDS:
        raise InputError(name, f"expected (n, 4) uint64 words, got {values.shape} {values.dtype}")
    below = fr_below(np.ascontiguousarray(values).view(np.uint8))[:, 0]
    if not below.all():
        raise InputError(f"{name}[{int(np.argmin(below))}]", "not in [0, r); reduce it modulo r first")
    return values


def element(x: object, name: str) -> int:
    """x, which is an element of Fr.  Raises InputError."""
    if not isinstance(x, int) or isinstance(x, bool):
        raise InputError(name, f"an integer is needed, not {type(x).__name__}")
    if not 0 <= x < R:
        raise InputError(name, "not in [0, r); reduce it modulo r first")
    return x


def check_path(levels: Levels, position: int, path: Sequence[Sequence[int]]) -> None:
    """Raises InputError: no position of the tree, or the path has not the siblings, elements of Fr, of the lowest levels."""
    if not is_count(position) or position >= levels.capacity:
        raise InputError("position", f"{position!r} is not in 0 .. {levels.capacity - 1}")
    if len(path) > levels.depth:
        raise InputError("path", f"{len(path)} levels; a path of this tree has at most {levels.depth}")
    for level, (siblings, width) in enumerate(zip(path, levels.widths, strict=False)):
        if len(siblings) != 2**width - 1:
            raise InputError(f"path[{level}]", f"{len(siblings)} siblings; this level has {2**width - 1}")
        for j, node in enumerate(siblings):
            element(node, f"path[{level}][{j}]")


def nodes_to_bytes(nodes: Sequence[int]) -> bytes:
    """32 bytes each, little-endian."""
    return b"".join(x.to_bytes(NODE_BYTES, "little") for x in nodes)


def nodes_from_bytes(data: bytes, name: str) -> list[int]:
    """The inverse of nodes_to_bytes.  Raises WireError, naming the first that is no element of Fr."""
    nodes = [int.from_bytes(data[i : i + NODE_BYTES], "little") for i in range(0, len(data), NODE_BYTES)]
    for i, x in enumerate(nodes):
        if x >= R:
            raise WireError(f"{name}[{i}]", "not below r, so no element")
    return nodes


# Nodes -----------------------------------------------------------------------------------------------------------------------


def _poseidon_parents(level: int, children: Words) -> Words:
    return np.asarray(poseidon_many(children, merkle_tag(children.shape[1])), np.uint64)


def _pedersen_parents(tag: int, children: Words) -> Words:
    return nodes(tag, children)


def _above_flags(level: int, children: Words) -> Words:
    return _pedersen_parents(FLAG_LEVELS + level, children)


def _above_bitmaps(level: int, children: Words) -> Words:
    return _pedersen_parents(QUATERNARY_TAG + level - 1 if level else BITMAP_TAG, children)


def _itself(flags: Sequence[int]) -> list[int]:
    return list(flags)


def _over_flags(flags: Sequence[int]) -> list[int]:
    """The node over sixteen leaves that are 0 or 1, for each."""
    return [_over_sixteen(x) for x in flags]


@lru_cache(1 << 10)
def _over_sixteen(flags: int) -> int:
    nodes = to_words([flags >> i & 1 for i in range(1 << FLAG_LEVELS)])
    for level in range(FLAG_LEVELS):
        nodes = _pedersen_parents(level, nodes.reshape(-1, 2, NODE_WORDS))
    return to_ints(nodes)[0]


_BINARY = (1,) * POSITION_BITS
SHAPES = {
    (shape.hash_name, shape.name): shape
    for shape in (
        TreeShape(
            "poseidon",
            "wide",
            Levels((3, 2, 2, *[3] * 11), _poseidon_parents),
            Levels((3,) * 11, _poseidon_parents),
            BITMAP_BITS,
            _itself,
        ),
        TreeShape(
            "poseidon", "classic", Levels(_BINARY, _poseidon_parents), Levels(_BINARY, _poseidon_parents), 0, _itself
        ),
        TreeShape(
            "pedersen",
            "wide",
            Levels(_BINARY, _pedersen_parents),
            Levels((1, *[2] * 16), _above_bitmaps),
            BITMAP_BITS,
            _itself,
        ),
        TreeShape(
            "pedersen",
            "classic",
            Levels(_BINARY, _pedersen_parents),
            Levels((1,) * (POSITION_BITS - FLAG_LEVELS), _above_flags, lambda: _over_sixteen(0)),
            FLAG_LEVELS,
            _over_flags,
        ),
    )
}

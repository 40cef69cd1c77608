"""A tree of many places and few leaves, node by node: what validators and wallets hold, in the clear."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from .poseidon import poseidon


def node(children: Sequence[int]) -> int:
    """A Poseidon node, tagged with its arity."""
    return poseidon(list(children), 2 ** len(children) - 1)


def poseidon_node(level: int, children: Sequence[int]) -> int:
    return node(children)


Node = Callable[[int, Sequence[int]], int]  # level of the children from the leaves, children -> their node


@cache
def empty_nodes(widths: tuple[int, ...], node_of: Node = poseidon_node, empty: int = 0) -> tuple[int, ...]:
    """A leaf, and the node of each level over no leaves but empty ones."""
    nodes = [empty]
    for level, width in enumerate(widths):
        nodes.append(node_of(level, [nodes[-1]] * 2**width))
    return tuple(nodes)


class SparseTree:
    """leaves: position -> leaf; every other leaf is `empty`.  The nodes of level i have 2^widths[i] children."""

    def __init__(
        self, widths: Sequence[int], leaves: Mapping[int, int], node_of: Node = poseidon_node, empty: int = 0
    ) -> None:
        self.widths, self.empty = widths, empty_nodes(tuple(widths), node_of, empty)
        self.levels = [dict(leaves)]
        for level, (width, nothing) in enumerate(zip(widths, self.empty, strict=False)):
            below, nodes = self.levels[-1], {}
            for index in {i >> width for i in below}:
                nodes[index] = node_of(level, [below.get((index << width) + j, nothing) for j in range(2**width)])
            self.levels.append(nodes)

    @property
    def root(self) -> int:
        return self.levels[-1].get(0, self.empty[-1])

    def path(self, position: int) -> list[list[int]]:
        """The siblings on the way up, in order, from the leaves."""
        path = []
        for width, below, empty in zip(self.widths, self.levels, self.empty, strict=False):
            first = position >> width << width
            path.append([below.get(i, empty) for i in range(first, first + 2**width) if i != position])
            position >>= width
        return path

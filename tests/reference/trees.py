"""A tree of many places and few leaves, node by node: what validators and wallets hold, in the clear."""

from collections.abc import Mapping, Sequence
from functools import cache

from .poseidon import poseidon


def node(children: Sequence[int]) -> int:
    """A Poseidon node, tagged with its arity."""
    return poseidon(list(children), 2 ** len(children) - 1)


@cache
def empty_nodes(widths: tuple[int, ...]) -> tuple[int, ...]:
    """A leaf, and the node of each level over no leaves but empty ones."""
    nodes = [0]
    for width in widths:
        nodes.append(node([nodes[-1]] * 2**width))
    return tuple(nodes)


class SparseTree:
    """leaves: position -> leaf; every other leaf is 0.  The nodes of level i have 2^widths[i] children."""

    def __init__(self, widths: Sequence[int], leaves: Mapping[int, int]) -> None:
        self.widths, self.empty = widths, empty_nodes(tuple(widths))
        self.levels = [dict(leaves)]
        for width, empty in zip(widths, self.empty, strict=False):
            below, nodes = self.levels[-1], {}
            for index in {i >> width for i in below}:
                nodes[index] = node([below.get((index << width) + j, empty) for j in range(2**width)])
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

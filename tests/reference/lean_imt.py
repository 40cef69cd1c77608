"""A LeanIMT over Poseidon as its definition reads: levels of nodes, a lone last child is lifted."""

from collections.abc import Sequence

from .trees import node


def levels(leaves: Sequence[int], arity: int) -> list[list[int]]:
    out = [list(leaves)]
    while len(out[-1]) > 1:
        groups = [out[-1][i : i + arity] for i in range(0, len(out[-1]), arity)]
        out.append([group[0] if len(group) == 1 else node(group) for group in groups])
    return out


def root(leaves: Sequence[int], arity: int) -> int:
    return levels(leaves, arity)[-1][0]


def siblings(leaves: Sequence[int], index: int, arity: int) -> list[list[int]]:
    """The other children on the way up, of the levels that the tree has."""
    out = []
    for level in levels(leaves, arity)[:-1]:
        first = index - index % arity
        out.append([level[i] for i in range(first, min(first + arity, len(level))) if i != index])
        index //= arity
    return out

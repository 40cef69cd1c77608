"""The ledger's trees as the oracles have them, for the shapes of trees/ledger_shapes.py."""

from collections.abc import Iterable, Mapping
from functools import cache

from bonsai_circuits.trees.ledger_shapes import SHAPES
from tests.reference.relations import SUITES
from tests.reference.trees import Node, SparseTree

KEYS = list(SHAPES)


@cache
def _nodes(hash_name: str, shape: str) -> tuple[Node, Node]:
    suite = SUITES[hash_name]
    return (
        lambda level, children: suite.receipt_node(shape, level, children),
        lambda level, children: suite.nullifier_node(shape, level, children),
    )


def receipt_tree(key: tuple[str, str], receipts: Mapping[int, int], levels: int | None = None) -> SparseTree:
    widths = SUITES[key[0]].receipt_widths[key[1]]
    return SparseTree(widths[:levels], receipts, _nodes(*key)[0])


def flags_of(key: tuple[str, str], claimed: Iterable[int]) -> dict[int, int]:
    """Leaf -> its flags."""
    bits, leaves = SUITES[key[0]].flag_bits[key[1]], dict[int, int]()
    for position in claimed:
        leaves[position >> bits] = leaves.get(position >> bits, 0) | 1 << position % 2**bits
    return leaves


def nullifier_tree(key: tuple[str, str], claimed: Iterable[int]) -> SparseTree:
    suite = SUITES[key[0]]
    leaves = {i: suite.leaf(key[1], flags) for i, flags in flags_of(key, claimed).items()}
    return SparseTree(suite.nullifier_widths[key[1]], leaves, _nodes(*key)[1], _empty_leaf(*key))


@cache
def _empty_leaf(hash_name: str, shape: str) -> int:
    return SUITES[hash_name].leaf(shape, 0)

"""Orchard's tree: published roots, equality with the oracle however leaves arrive, frontiers, refusals."""

import json
from pathlib import Path

import numpy as np
import pytest

from bonsai_circuits.errors import InputError
from bonsai_circuits.native.pallas import P
from bonsai_circuits.trees import orchard
from bonsai_circuits.trees.orchard import OrchardTree, empty_roots
from tests.reference import sinsemilla as reference

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "sinsemilla.json").read_text())


def as_rows(leaves: list[int]) -> np.ndarray:
    return np.frombuffer(b"".join(x.to_bytes(32, "little") for x in leaves), np.uint8).reshape(-1, 32)


def leaves_of(seed: int, n: int) -> list[int]:
    rng = np.random.default_rng(seed)
    return [int.from_bytes(rng.bytes(40), "little") % P for _ in range(n)]


@pytest.mark.usefixtures("body")
def test_empty_roots_equal_the_published_ones() -> None:
    assert list(empty_roots.__wrapped__()) == [int(x, 16) for x in VECTORS["empty_roots"]]
    assert OrchardTree().root() == int(VECTORS["empty_roots"][-1], 16)


def test_no_point_has_the_uncommitted_abscissa() -> None:
    assert orchard.UNCOMMITTED == reference.UNCOMMITTED
    assert reference.root(orchard.UNCOMMITTED**3 + 5) is None


@pytest.mark.usefixtures("body")
@pytest.mark.parametrize("vector", VECTORS["trees"], ids=lambda v: str(sum(int(x, 16) != 2 for x in v["leaves"])))
def test_roots_equal_the_published_ones(vector: dict[str, list[str] | str]) -> None:
    leaves = [int(x, 16) for x in vector["leaves"]]
    leaves = leaves[: max(i + 1 for i, x in enumerate(leaves) if x != orchard.UNCOMMITTED)]
    one_by_one, at_once = OrchardTree(4), OrchardTree(4)
    for leaf in leaves:
        one_by_one.append(leaf)
    at_once.append_many(as_rows(leaves))
    assert one_by_one.root() == at_once.root() == int(str(vector["root"]), 16)
    assert one_by_one.frontier == at_once.frontier


@pytest.mark.parametrize("n", range(9))
def test_trees_of_every_size_equal_the_oracle(n: int) -> None:
    leaves = leaves_of(n, n)
    tree = OrchardTree(3)
    tree.append_many(as_rows(leaves))
    assert tree.size == n
    assert tree.root() == reference.tree_root(leaves, 3)


def test_leaves_in_any_portions_make_the_same_tree() -> None:
    leaves = as_rows(leaves_of(20, 150))
    whole = OrchardTree()
    whole.append_many(leaves)
    for portions in ([149, 1], [1, 149], [3, 60, 87], [64, 64, 22], [0, 150, 0]):
        tree, at = OrchardTree(), 0
        for k in portions:
            tree.append_many(leaves[at : at + k])
            at += k
        assert (tree.size, tree.frontier, tree.root()) == (whole.size, whole.frontier, whole.root())


def test_a_tree_of_the_full_depth_continues_paths_with_empty_roots() -> None:
    leaves, empty = leaves_of(21, 3), [int(x, 16) for x in VECTORS["empty_roots"]]
    tree = OrchardTree()
    tree.append_many(as_rows(leaves))
    node = reference.tree_root(leaves, 2)
    for level in range(2, 32):
        node = reference.merkle(level, node, empty[level])
    assert tree.root() == node


@pytest.mark.parametrize("n", [0, 1, 5, 8])
def test_a_tree_goes_on_from_its_frontier(n: int) -> None:
    leaves = leaves_of(22, 8)
    tree = OrchardTree(3)
    tree.append_many(as_rows(leaves[:n]))
    again = OrchardTree.from_frontier(tree.size, tree.frontier, 3)
    assert again.root() == tree.root()
    for leaf in leaves[n:]:
        tree.append(leaf)
        again.append(leaf)
    assert again.frontier == tree.frontier
    assert again.root() == tree.root() == reference.tree_root(leaves, 3)


def test_a_tree_keeps_what_it_was_given() -> None:
    """An array that changes afterwards changes nothing."""
    leaves = as_rows(leaves_of(23, 5)).copy()
    tree = OrchardTree(3)
    tree.append_many(leaves)
    before = tree.root()
    leaves[:] = 0
    assert tree.root() == before


def test_what_is_no_leaf_or_has_no_room_is_refused_and_changes_nothing() -> None:
    tree = OrchardTree(2)
    tree.append(7)
    before = tree.frontier, tree.root()
    with pytest.raises(InputError, match="room for 3"):
        tree.append_many(as_rows([1, 2, 3, 4]))
    with pytest.raises(InputError) as error:
        tree.append_many(as_rows([1, P]))
    assert error.value.field == "leaves[1]"
    for bad in (np.zeros((2, 31), np.uint8), np.zeros(32, np.uint8), np.zeros((1, 32), np.int8), [b"\0" * 32]):
        with pytest.raises(InputError, match="leaves"):
            tree.append_many(bad)  # type: ignore[arg-type]
    for leaf in (-1, P, 2**256, 1.0):
        with pytest.raises(InputError, match="leaf"):
            tree.append(leaf)  # type: ignore[arg-type]
    assert (tree.frontier, tree.root(), tree.size) == (*before, 1)


def test_depths_and_frontiers_that_do_not_fit_are_refused() -> None:
    for depth in (0, 33, -1, 2.0):
        with pytest.raises(InputError, match="depth"):
            OrchardTree(depth)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="size"):
        OrchardTree.from_frontier(5, (1, 2), 2)
    with pytest.raises(InputError, match="has 2"):
        OrchardTree.from_frontier(3, (1,), 2)
    with pytest.raises(InputError) as error:
        OrchardTree.from_frontier(3, (1, P), 2)
    assert error.value.field == "nodes[1]"

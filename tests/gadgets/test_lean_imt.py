"""Membership in a LeanIMT: against the tree as it is defined, costs, forged hints, and proofs of what is not so."""

import random
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.errors import CircuitError, InputError
from bonsai_circuits.gadgets.lean_imt import lean_imt_root, sized_root
from bonsai_circuits.native import lean_imt as native
from bonsai_circuits.native.poseidon import ACCOUNT_TAG, RECEIPT_TAG, merkle_tag, poseidon_parameters
from bonsai_circuits.pipeline import Compiled
from bonsai_circuits.trees.lean_imt import LeanIMT
from bonsai_circuits.trees.node_hash import POSEIDON_BLS
from bonsai_circuits.witness.inputs import flatten_inputs
from bonsai_circuits.witness.runner import run
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.reference import lean_imt as reference
from tests.reference.poseidon import poseidon
from tests.reference.trees import node
from tests.support import builder, cheated, compiled, loose_wires, open_wires, refusals, satisfied

KINDS = [(1, 2), (3, 2), (1, 4), (2, 4), (1, 8)]  # depth, arity
NO_BITS = [2, R - 1, pow(2, -1, R)]
BELOW = "the index is below the size"
rng = random.Random(9)
LEAVES = [rng.randrange(R) for _ in range(16)]
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[1]}^{kind[0]}")


@cache
def circuit(depth: int, arity: int, size: int | None = None, index: int | None = None) -> Compiled:
    """Public: leaf, size unless it is given, root."""

    def describe(c, p, w):
        at, of = (w.index if index is None else c.num(index)), (p.size if size is None else c.num(size))
        p.root.must_equal(lean_imt_root(c, p.leaf, at, of, depth, arity))

    return compiled(describe, "leaf", *(() if size is not None else ("size",)), "root")


def path_of(leaves: Sequence[int], index: int, depth: int, arity: int) -> list[list[int]]:
    flat = [x for level in reference.siblings(leaves, arity, index, node) for x in level]
    return native.padded_path(flat, index, len(leaves), arity, depth)


def inputs_of(kind: tuple[int, int], size: int, index: int, **change: Any) -> dict[str, int]:
    """Leaf `index` of the first `size` leaves."""
    leaves = LEAVES[:size]
    w: dict[str, Any] = {"leaf": leaves[index], "index": index, "size": size, "siblings": path_of(leaves, index, *kind)}
    return flatten_inputs(w | change)


def accepted(kind: tuple[int, int], inputs: dict[str, int], root: int) -> bool:
    return satisfied(circuit(*kind), inputs | {"root": root})


# Equal to the twin and to the definition -------------------------------------------------------------------------------------


@kinds
def test_every_leaf_of_every_size_is_a_member(kind: tuple[int, int]) -> None:
    depth, arity = kind
    for size in range(1, arity**depth + 1):
        root = reference.root(LEAVES[:size], arity, node)
        for index in range(size) if size < 9 else (0, size // 2, size - 2, size - 1):
            inputs = inputs_of(kind, size, index)
            w = run(circuit(*kind).tape, inputs)
            assert w.public()["root"] == root
            assert refusals(circuit(*kind), w) == [set()] * 3
            path = path_of(LEAVES[:size], index, *kind)
            assert native.lean_imt_root(LEAVES[index], index, size, path, arity) == root


@kinds
@given(data=st.data())
@settings(max_examples=6)
def test_any_path_gives_the_root_of_the_twin(kind: tuple[int, int], data: st.DataObject) -> None:
    """Siblings may be anything, those that a level does not need as well."""
    depth, arity = kind
    size = data.draw(st.integers(1, arity**depth))
    index, element = data.draw(st.integers(0, size - 1)), st.integers(0, R - 1)
    path = data.draw(
        st.lists(st.lists(element, min_size=arity - 1, max_size=arity - 1), min_size=depth, max_size=depth)
    )
    leaf = data.draw(element)
    inputs = flatten_inputs({"leaf": leaf, "index": index, "size": size, "siblings": path})
    root = native.lean_imt_root(leaf, index, size, path, arity)
    assert run(circuit(*kind).tape, inputs).public()["root"] == root
    assert accepted(kind, inputs, root)
    assert not accepted(kind, inputs, (root + 1) % R)


def test_deep_trees_of_few_leaves() -> None:
    """Twenty levels, the upper ones lifted."""
    kind = (20, 2)
    for size, index in ((1, 0), (5, 4), (16, 3)):
        w = run(circuit(*kind).tape, inputs_of(kind, size, index))
        assert w.public()["root"] == reference.root(LEAVES[:size], 2, node)
        assert refusals(circuit(*kind), w) == [set()] * 3


def test_sized_root_is_the_twin() -> None:
    def describe(c, p, w):
        p.out.must_equal(sized_root(c, p.root, p.size))

    made = compiled(describe, "root", "size", "out")
    for root, size in ((0, 1), (R - 1, 2**40), (LEAVES[0], 7)):
        w = run(made.tape, {"root": root, "size": size})
        assert w.public()["out"] == native.sized_root(root, size) == poseidon([root, size], native.SIZED_ROOT_TAG)
        assert refusals(made, w) == [set()] * 3
    assert native.SIZED_ROOT_TAG not in {ACCOUNT_TAG, RECEIPT_TAG, *(merkle_tag(n) for n in range(1, 17))}
    assert loose_wires(made.r1cs, w.r1cs(), 4) == []


# Cost ------------------------------------------------------------------------------------------------------------------------


def opened(n: int) -> tuple[int, int]:
    """gadgets.poseidon_tree.open_level of n children, digits aside."""
    t = n + 1
    boxes = 8 * t + poseidon_parameters(n).r_p - 1 - n
    return 3 * boxes - t // 2 + 3 + (n - 1), 4 * boxes - 2 * (t // 2) + 4 + (n - 1)


@pytest.mark.parametrize(
    ("kind", "level"),
    [((1, 2), (236, 313)), ((3, 2), (236, 313)), ((1, 4), (777, 1029)), ((2, 4), (777, 1029)), ((1, 8), (2123, 2803))],
)
def test_it_costs_what_it_says(kind: tuple[int, int], level: tuple[int, int]) -> None:
    depth, made = kind[0], circuit(*kind)
    assert made.r1cs.n_rows == level[0] * depth - 2
    assert made.square.n_rows == level[1] * depth - 2 + 4  # and four outline rows


def test_a_level_is_its_hashes_and_four_rows_a_bit() -> None:
    assert (opened(2)[0] + 1 + 4, opened(2)[1] + 2 + 4) == (236, 313)
    hashes = [opened(n) for n in (2, 3, 4)]
    table, flags, choices = 1, 2, 3  # of the digit: one product
    assert sum(x for x, _ in hashes) + table + flags + choices + 2 * 4 == 777
    assert sum(x for _, x in hashes) + table + flags + 2 * choices + 2 * 4 == 1029


@pytest.mark.parametrize("size", range(1, 9))
def test_constants_add_no_rows(size: int) -> None:
    """A constant size: the levels it has, a choice where one is lifted, a row for each bit of the index that may be 1, and no more than one
    for each bit to compare.  A constant index too: hashes alone."""
    root, last = reference.root(LEAVES[:size], 2, node), size - 1
    depth = last.bit_length()
    made = circuit(3, 2, size)
    lifted = sum(not last >> level & 1 for level in range(depth))
    most = (opened(2)[0] * depth + lifted + 2 * depth, opened(2)[1] * depth + 2 * lifted + 2 * depth)
    public = int(size == 1)  # leaf = root, an equation of public inputs, is a row
    assert made.r1cs.n_rows <= most[0] + public
    assert made.square.n_rows <= most[1] + public + 3
    for index in range(size):
        path = reference.siblings(LEAVES[:size], 2, index, node)
        given = flatten_inputs({"siblings": [level or [0] for level in path]})
        inputs = {"leaf": LEAVES[index], "index": index, **{n: given.get(n, 0) for n in made.tape.inputs if "sib" in n}}
        assert run(made.tape, inputs).public()["root"] == root
        assert satisfied(made, inputs)
        fixed = circuit(3, 2, size, index)
        steps = sum(map(len, path))
        assert fixed.r1cs.n_rows == opened(2)[0] * steps + public
        assert fixed.square.n_rows == opened(2)[1] * steps + public + 3


def test_a_constant_that_no_witness_satisfies_is_refused() -> None:
    with pytest.raises(CircuitError, match=BELOW):
        circuit(2, 2, 3, 3)
    with pytest.raises(CircuitError, match="is not below 2\\^2"):
        circuit(2, 2, 5)
    with pytest.raises(CircuitError, match="is not below 2\\^2"):
        circuit(2, 2, 0)


# What must not pass ----------------------------------------------------------------------------------------------------------


def test_an_index_beyond_the_size_is_rejected_by_its_row() -> None:
    for kind in ((3, 2), (2, 4)):
        for size in (1, 2, 3, 5, 6):
            for index in {size, size + 1, 7} - set(range(size)):
                inputs = inputs_of(kind, size, size - 1) | {"index": index}
                for labels in refusals(circuit(*kind), run(circuit(*kind).tape, inputs)):
                    assert BELOW in labels


@pytest.mark.parametrize("size", [0, 9, R - 1])
def test_a_size_that_no_tree_has_is_rejected(size: int) -> None:
    inputs = inputs_of((3, 2), 8, 3) | {"size": size}
    trace, r1cs, square = refusals(circuit(3, 2), run(circuit(3, 2).tape, inputs))
    assert "size - 1 is below 2^3" in trace
    assert r1cs
    assert square


@pytest.mark.parametrize("arity", [2, 4])
def test_a_relabelled_leaf_is_rejected(arity: int) -> None:
    """Every leaf at every other index, with the right path or that of the index, in the same tree."""
    kind, size = {2: (3, 2), 4: (2, 4)}[arity], 7
    root = reference.root(LEAVES[:size], arity, node)
    for index in range(size):
        for other in {(index + 1) % size, index ^ 1, size - 1, 0} - {index, size}:
            for path in (index, other):
                inputs = inputs_of(kind, size, index) | flatten_inputs(
                    {"index": other, "siblings": path_of(LEAVES[:size], path, *kind)}
                )
                assert not accepted(kind, inputs, root)


def test_the_last_leaf_of_three_is_not_the_last_of_four() -> None:
    """Its path has one sibling: as leaf 3 of 4 it would need a second one, whatever that is."""
    a, b, c = LEAVES[:3]
    root, kind = reference.root([a, b, c], 2, node), (2, 2)
    left = poseidon([a, b], merkle_tag(2))
    for path in ([[left], [0]], [[0], [left]], [[c], [left]], [[left], [left]]):
        inputs = flatten_inputs({"leaf": c, "index": 3, "size": 4, "siblings": path})
        assert not accepted(kind, inputs, root)
        assert not accepted(kind, inputs | {"index": 2}, root)
    assert accepted(kind, inputs_of(kind, 3, 2), root)


def test_an_inner_node_is_no_leaf_of_the_size_that_the_root_has() -> None:
    """Its path is one level shorter; every way to lay it out in a tree of three or of seven leaves is rejected."""
    for size, kind in ((3, (2, 2)), (7, (3, 2))):
        levels = reference.levels(LEAVES[:size], 2, node)
        root, inner, sibling = levels[-1][0], levels[1][0], levels[1][1]
        above = [[level[1]] for level in levels[2:-1]]
        for index in range(size):
            for path in ([[sibling], *above, [0]], [[0], [sibling], *above], [[inner], [sibling], *above]):
                inputs = flatten_inputs({"leaf": inner, "index": index, "size": size, "siblings": path})
                assert not accepted(kind, inputs, root)


def test_a_root_with_the_size_of_another_tree_says_something_else() -> None:
    """Why the size must be bound: for a size of the prover's own an inner node is a leaf, and this is no fault of the rows."""
    a, b, c = LEAVES[:3]
    root, left = reference.root([a, b, c], 2, node), poseidon([a, b], merkle_tag(2))
    inputs = flatten_inputs({"leaf": left, "index": 0, "size": 2, "siblings": [[c], [0]]})
    assert accepted((2, 2), inputs, root)
    assert native.sized_root(root, 2) != native.sized_root(root, 3)


@kinds
def test_every_wire_is_bound(kind: tuple[int, int]) -> None:
    """None can be changed alone but the root's siblings; and given bits and lifted children each has one value."""
    depth, arity = kind
    made = circuit(*kind)
    for size in {arity**depth, arity**depth - 1, arity + 1, 1} & set(range(1, arity**depth + 1)):
        for index in {0, size - 1}:
            w = run(made.tape, inputs_of(kind, size, index))
            for system, z in ((made.r1cs, w.r1cs()), (made.square, w.square())):
                assert open_wires(system, z, lambda name: "bit_" in name or "/lifted_child_" in name) == []
                assert [name for name in loose_wires(system, z, 4) if counts(name, index, size, kind)] == []


def counts(name: str, index: int, size: int, kind: tuple[int, int]) -> bool:
    """Whether a wire belongs to no node, or to one that the path has; siblings of the others are free."""
    found = re.search(r"level_(\d+)/(\d+)_children", name)
    return found is None or native.group_sizes(index, size, kind[1], kind[0])[int(found[1])] == int(found[2])


@kinds
def test_forged_wires_are_rejected(kind: tuple[int, int]) -> None:
    """Each wire outside the hashes set to another value, everything else following from it."""
    depth, arity = kind
    made = circuit(*kind)
    for size, index in ((arity**depth, 0), (arity**depth - 1, arity**depth - 2)):
        inputs = inputs_of(kind, size, index)
        inputs |= run(made.tape, inputs).public()
        names = [x for x in made.traced.wire_names if "/" in x and "/round_" not in x and "sibling" not in x]
        forged = [name for name in names if counts(name, index, size, kind)]
        assert any("lifted_child" in name for name in forged) or size == 1
        for name in forged:
            assert refusals(made, cheated(made, inputs, {name: 12345}))[0], name


@kinds
@pytest.mark.parametrize("value", NO_BITS)
def test_a_bit_that_is_no_bit_is_rejected_by_its_row(kind: tuple[int, int], value: int) -> None:
    """Of the index and of the size, everything else following from it.  The systems have no wire for the size's highest bit."""
    depth, arity = kind
    made, size = circuit(*kind), arity**depth
    n_bits = depth * (arity.bit_length() - 1)
    for i in range(n_bits):
        for name, label in (
            (f"test/lean_tree/shape/bit_{i}_of_the_index", BELOW),
            (f"test/lean_tree/bits[{n_bits}]/bit_{i}", f"bit {i} is 0 or 1"),
        ):
            for labels in (found := refusals(made, cheated(made, inputs_of(kind, size, 0), {name: value}))):
                assert label in labels or (labels and labels is not found[0] and i == n_bits - 1)


@pytest.mark.parametrize("name", ["edge,_last_bit_is_1", "same_bit"])
def test_a_forged_comparison_is_rejected_by_its_row(name: str) -> None:
    """The flags that say where a node has one child: each set to the other value."""
    made = circuit(3, 2)
    found = [
        wire for wire in made.traced.wire_names if wire.startswith("test/lean_tree/shape/" + name.replace(",", "_"))
    ]
    assert len(found) == 2
    for size, index in ((5, 4), (8, 7), (7, 0)):
        inputs = inputs_of((3, 2), size, index)
        inputs |= run(made.tape, inputs).public()
        for wire in found:
            verdicts = [refusals(made, cheated(made, inputs, {wire: value})) for value in (0, 1)]
            assert sorted(v == [set()] * 3 for v in verdicts) == [False, True]  # one of them is what it was
            assert all(v == [set()] * 3 or all(v) for v in verdicts)


# Doors -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arity", [0, 1, 3, 6, 16])
def test_another_arity_is_refused(arity: int) -> None:
    c = builder("leaf", "size")
    with pytest.raises(CircuitError, match="is not one of"):
        lean_imt_root(c, c.public("leaf"), c.secret("index"), c.public("size"), 2, arity)


@pytest.mark.parametrize(("depth", "arity"), [(0, 2), (65, 2), (33, 4), (-1, 2)])
def test_another_depth_is_refused(depth: int, arity: int) -> None:
    c = builder("leaf", "size")
    with pytest.raises(CircuitError, match="an index has 1 to 64 bits"):
        lean_imt_root(c, c.public("leaf"), c.secret("index"), c.public("size"), depth, arity)


def test_the_twin_refuses_what_no_tree_has() -> None:
    for size, index, field in ((0, 0, "size"), (9, 0, "size"), (3, 3, "index"), (3, -1, "index")):
        with pytest.raises(InputError) as error:
            native.lean_imt_root(1, index, size, [[0]] * 3)
        assert error.value.field == field
    with pytest.raises(InputError, match=r"path\[1\]: 0 siblings; with this index and size it has 1"):
        native.lean_imt_root(1, 0, 3, [[0], []])
    with pytest.raises(InputError, match="siblings: 3 of them; with this index and size there are 1"):
        native.padded_path([1, 2, 3], 2, 3, 2, 2)


@kinds
def test_proofs_of_the_native_tree_are_paths(kind: tuple[int, int]) -> None:
    """An inclusion proof's siblings, in their order, are what the circuit takes, and it finds the tree's root."""
    depth, arity = kind
    leaves = LEAVES[: min(7, arity**depth)]
    tree = LeanIMT(arity, POSEIDON_BLS, max_depth=depth)
    for leaf in leaves:
        tree.insert(leaf.to_bytes(32, "little"))
    assert tree.root is not None
    for index in range(len(leaves)):
        data = tree.prove(index).siblings
        flat = [int.from_bytes(data[i : i + 32], "little") for i in range(0, len(data), 32)]
        path = native.padded_path(flat, index, len(leaves), arity, depth)
        inputs = {"leaf": leaves[index], "index": index, "size": len(leaves), "siblings": path}
        assert accepted(kind, flatten_inputs(inputs), int.from_bytes(tree.root, "little"))


def test_the_page_has_these_counts() -> None:
    page = (Path(__file__).parents[2] / "docs" / "relations.md").read_text()
    rows = re.findall(
        r"^\| (\d) \| ([\d,]+) \| ([\d,]+) \| (\d+) \| 2\^(\d+) \| ([\d,]+) \| ([\d,]+) \|$", page, re.MULTILINE
    )
    assert len(rows) == 4
    for arity, *numbers in (map(int, (x.replace(",", "") for x in row)) for row in rows):
        r1cs, square, depth, n_bits, all_r1cs, all_square = numbers
        one = circuit(1, arity)
        assert (r1cs - 2, square - 2) == (one.r1cs.n_rows, one.square.n_rows - 4)
        assert (all_r1cs, all_square) == (r1cs * depth - 2, square * depth - 2)
        assert arity**depth == 2**n_bits

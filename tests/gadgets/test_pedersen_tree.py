import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.dsl.trace import System
from bonsai_circuits.gadgets.digit import Digit
from bonsai_circuits.gadgets.pedersen_tree import FLAG_LEVELS, change_level, open_level, take_flag
from bonsai_circuits.gadgets.range import bits
from bonsai_circuits.native import pedersen as native
from bonsai_circuits.pipeline import Compiled
from bonsai_circuits.witness.runner import run
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.reference import pedersen as reference
from tests.support import broken, builder, cheated, compiled, loose_wires, satisfied

elements = st.one_of(st.sampled_from([0, 1, R - 1]), st.integers(0, R - 1))
TAG = 5


def opening(c, p, w):
    digit = Digit(c, bits(c, w.position, 1))
    p.node.must_equal(open_level(c, w.child, digit, TAG, c.advice("sibling")))


def changing(n: int, width: int) -> Compiled:
    """Nodes of n children, the siblings s0, s1, ... in order."""

    def describe(c, p, w):
        digit = Digit(c, bits(c, w.position, n.bit_length() - 1), shared=True)
        siblings = [c.advice(f"s{j}") for j in range(n - 1)]
        before, after = change_level(c, w.old, w.new, digit, TAG, siblings, width)
        p.before.must_equal(before)
        p.after.must_equal(after)

    return compiled(describe, "before", "after")


def flagging(with_active: bool) -> Compiled:
    def describe(c, p, w):
        *low, high = bits(c, w.position, FLAG_LEVELS)
        active = bits(c, w.active, 1)[0] if with_active else None
        before, after = take_flag(c, c.secret("leaf"), Digit(c, low, shared=True), Digit(c, [high]), active)
        p.before.must_equal(before)
        p.after.must_equal(after)

    return compiled(describe, "before", "after")


OPEN = compiled(opening, "node")
CHANGE = {(n, width): changing(n, width) for n, width in ((2, 255), (2, 128), (4, 255))}
FLAGS = {active: flagging(active) for active in (False, True)}


def crh(children: list[int]) -> int:
    return reference.merkle_crh(TAG, *children) if len(children) == 2 else reference.quaternary_crh(TAG, children)


def placed(position: int, child: int, siblings: list[int]) -> list[int]:
    return [*siblings[:position], child, *siblings[position:]]


@given(st.integers(0, 1), elements, elements)
@settings(max_examples=10)
def test_opening_equals_the_oracle(position: int, child: int, sibling: int) -> None:
    w = run(OPEN.tape, {"position": position, "child": child, "sibling": sibling})
    assert w.public()["node"] == crh(placed(position, child, [sibling]))
    assert w.public()["node"] == native.binary_node(TAG, *placed(position, child, [sibling]))
    assert not any(broken(OPEN, w))


@pytest.mark.parametrize(("n", "width"), CHANGE)
@given(data=st.data())
@settings(max_examples=12)
def test_change_equals_the_oracle(n: int, width: int, data: st.DataObject) -> None:
    values = elements if width == 255 else st.integers(0, 2**width - 1)
    position, old, new = data.draw(st.integers(0, n - 1)), data.draw(values), data.draw(values)
    siblings = data.draw(st.lists(values, min_size=n - 1, max_size=n - 1))
    inputs = {"position": position, "old": old, "new": new} | {f"s{j}": s for j, s in enumerate(siblings)}
    w = run(CHANGE[n, width].tape, inputs)
    assert w.public() == {
        "before": crh(placed(position, old, siblings)),
        "after": crh(placed(position, new, siblings)),
    }
    assert not any(broken(CHANGE[n, width], w))


def flag_root(flags: int) -> int:
    nodes = [flags >> i & 1 for i in range(1 << FLAG_LEVELS)]
    for level in range(FLAG_LEVELS):
        nodes = [reference.merkle_crh(level, *nodes[i : i + 2]) for i in range(0, len(nodes), 2)]
    return nodes[0]


@pytest.mark.parametrize("active", [None, 0, 1])
@pytest.mark.parametrize("position", range(16))
def test_taking_a_flag_equals_the_oracle(position: int, active: int | None) -> None:
    leaf = random.Random(position).getrandbits(16) & ~(1 << position)
    circuit = FLAGS[active is not None]
    inputs = {"position": position, "leaf": leaf} | ({} if active is None else {"active": active})
    w = run(circuit.tape, inputs)
    after = leaf if active == 0 else leaf | 1 << position
    assert w.public() == {"before": flag_root(leaf), "after": flag_root(after)}
    assert not any(broken(circuit, w))


def test_levels_cost_what_they_say() -> None:
    """A bit of the position or two, and the bits of `new`, come besides: in a tree they stand already."""
    assert (OPEN.r1cs.n_rows - 1, OPEN.square.n_rows - 1 - 2) == (1372, 1557)
    costs = {
        shape: (
            circuit.r1cs.n_rows - (shape[0].bit_length() - 1),
            circuit.square.n_rows - (shape[0].bit_length() - 1) - 3,
        )
        for shape, circuit in CHANGE.items()
    }
    assert costs[2, 255] == (2248 + 255, 2631 + 255)
    assert costs[2, 128] == (1277 + 128, 1488 + 128)
    assert costs[4, 255] == (3991 + 255, 4669 + 255)
    position_and_one_hot, node_after = 4 + 4, 255
    assert FLAGS[False].r1cs.n_rows == position_and_one_hot + 190 + node_after
    assert FLAGS[False].square.n_rows - 3 == position_and_one_hot + 201 + node_after
    assert FLAGS[True].r1cs.n_rows == 1 + position_and_one_hot + 197 + node_after
    assert FLAGS[True].square.n_rows - 3 == 1 + position_and_one_hot + 208 + node_after


HONEST: dict[tuple[int, int], dict[str, int]] = {
    (2, 255): {"position": 1, "old": 11, "new": 12, "s0": 13},
    (2, 128): {"position": 0, "old": 11, "new": 12, "s0": 13},
    (4, 255): {"position": 2, "old": 11, "new": 12, "s0": 13, "s1": 14, "s2": 15},
}


@pytest.mark.parametrize("shape", CHANGE)
def test_another_child_position_or_root_is_rejected(shape: tuple[int, int]) -> None:
    circuit, honest = CHANGE[shape], HONEST[shape]
    honest = honest | run(circuit.tape, honest).public()
    assert satisfied(circuit, honest)
    for name in honest:
        changed = honest[name] ^ 1
        assert not satisfied(circuit, honest | {name: changed}), name


@pytest.mark.parametrize("shape", CHANGE)
def test_siblings_cannot_differ_between_the_two_nodes(shape: tuple[int, int]) -> None:
    """A prover who changes a sibling changes both nodes; one who changes the old or the new child breaks a row."""
    (n, width), circuit, honest = shape, CHANGE[shape], HONEST[shape]
    position, old, new = honest["position"], honest["old"], honest["new"]
    siblings = [honest[f"s{j}"] for j in range(n - 1)]
    unpacked = [*(f"test/child_{j}/bit_0" for j in range(n)), f"test/bits[{width}]/bit_0"]
    for j, name in enumerate(unpacked):
        child = [*placed(position, old, siblings), new][j]
        w = cheated(circuit, honest, {name: 1 - child % 2})
        if j in (position, n):
            assert broken(circuit, w)[0]
            continue
        others = [s ^ 1 if k == j - (j > position) else s for k, s in enumerate(siblings)]
        assert not any(broken(circuit, w))
        assert w.public() == {
            "before": crh(placed(position, old, others)),
            "after": crh(placed(position, new, others)),
        }


@pytest.mark.parametrize("shape", CHANGE)
def test_every_private_wire_is_bound(shape: tuple[int, int]) -> None:
    circuit = CHANGE[shape]
    w = run(circuit.tape, HONEST[shape])
    assert loose_wires(circuit.r1cs, w.r1cs(), 3) == []
    assert loose_wires(circuit.square, w.square(), 3) == []


def test_a_child_wider_than_its_place_is_rejected() -> None:
    circuit, honest = CHANGE[2, 128], HONEST[2, 128]
    honest = honest | run(circuit.tape, honest).public()
    for name, label in (("old", "the selected value"), ("new", "value is below 2^128")):
        w = run(circuit.tape, honest | {name: 2**128 + honest[name]})
        assert [row.label for row in broken(circuit, w)[0]] == [label]


@pytest.mark.parametrize("position", [3, 12])
@pytest.mark.parametrize("active", [None, 0, 1])
def test_a_taken_flag_is_rejected(active: int | None, position: int) -> None:
    circuit = FLAGS[active is not None]
    inputs = {"position": position, "leaf": 1 << position} | ({} if active is None else {"active": active})
    w = run(circuit.tape, inputs)
    label = f"flag {position % 8} is 0 or 1, and 0 if it is to be taken"
    assert label in [row.label for row in broken(circuit, w)[0]]
    assert all(broken(circuit, w))
    hidden = cheated(circuit, inputs, {f"test/selected_flag_{position % 8}": 0})  # and said to be free
    assert "the selected value" in [row.label for row in broken(circuit, hidden)[0]]
    assert all(broken(circuit, hidden))


@pytest.mark.parametrize("value", [2, R - 1, pow(2, -1, R)])
@pytest.mark.parametrize("flag", ["flag_3", "flag_4", "flag_11", "selected_flag_3", "selected_flag_5"])
def test_a_flag_that_is_no_flag_is_rejected(flag: str, value: int) -> None:
    w = cheated(FLAGS[False], {"position": 3, "leaf": 0}, {f"test/{flag}": value})
    assert all(broken(FLAGS[False], w))


def test_every_wire_over_flags_is_bound() -> None:
    w = run(FLAGS[True].tape, {"position": 9, "leaf": 0b1010_0000_0001_0110, "active": 1})
    assert loose_wires(FLAGS[True].r1cs, w.r1cs(), 3) == []
    assert loose_wires(FLAGS[True].square, w.square(), 3) == []


def test_constants_add_no_rows() -> None:
    """A tag is constant: it goes into tables that stand anyway, whatever it is."""
    for tag in (0, 1, 63):
        c = builder()
        digit = Digit(c, bits(c, c.secret("position"), 1))
        open_level(c, c.secret("child"), digit, tag, c.advice("sibling"))
        assert len([row for row in c.finish().rows if row.system is not System.SQUARE]) == 1 + 1372

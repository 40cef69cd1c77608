import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.errors import CircuitError
from bonsai_circuits.gadgets.digit import Digit
from bonsai_circuits.gadgets.poseidon_tree import change_level, open_level
from bonsai_circuits.gadgets.range import bits
from bonsai_circuits.native.poseidon import poseidon_parameters
from bonsai_circuits.pipeline import Compiled
from bonsai_circuits.witness.inputs import flatten_inputs
from bonsai_circuits.witness.runner import run
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.reference.poseidon import poseidon
from tests.support import builder, cheated, compiled, loose_wires, open_wires, refusals, satisfied, values

ARITIES = (2, 4, 8)
NO_BITS = [2, R - 1, pow(2, -1, R)]
elements = st.integers(0, R - 1)


def digit_of(c, w, n: int) -> Digit:
    return Digit(c, bits(c, w.d, n.bit_length() - 1))


def siblings_of(c, n: int):
    return [c.advice(f"path[{j}]") for j in range(n - 1)]


def open_circuit(n: int, constant: int | None = None) -> Compiled:
    def describe(c, p, w):
        child = p.child if constant is None else c.num(constant)
        p.node.must_equal(open_level(c, child, digit_of(c, w, n), siblings_of(c, n)))

    return compiled(describe, *(("child", "node") if constant is None else ("node",)))


def change_circuit(n: int, constants: tuple[int, int] | None = None) -> Compiled:
    def describe(c, p, w):
        old, new = (p.old, p.new) if constants is None else map(c.num, constants)
        before, after = change_level(c, old, new, digit_of(c, w, n), siblings_of(c, n))
        p.before.must_equal(before)
        p.after.must_equal(after)

    return compiled(describe, *(("old", "new") if constants is None else ()), "before", "after")


OPEN = {n: open_circuit(n) for n in ARITIES}
CHANGE = {n: change_circuit(n) for n in ARITIES}


def path_of(n: int, seed: int = 1) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(R) for _ in range(n - 1)]


def node(child: int, d: int, path: list[int]) -> int:
    """The node whose child at d is `child`, the others being `path`, in order."""
    return poseidon([*path[:d], child, *path[d:]], 2 ** (len(path) + 1) - 1)


def change_inputs(n: int, d: int) -> dict[str, int]:
    return flatten_inputs({"d": d, "old": 5, "new": 6, "path": path_of(n)})


# Equal to the twin -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", ARITIES)
@settings(max_examples=6)
@given(data=st.data())
def test_open_level_is_the_node(n: int, data: st.DataObject) -> None:
    child, d = data.draw(elements), data.draw(st.integers(0, n - 1))
    path = data.draw(st.lists(elements, min_size=n - 1, max_size=n - 1))
    inputs = flatten_inputs({"child": child, "d": d, "path": path})
    assert run(OPEN[n].tape, inputs).public()["node"] == (out := node(child, d, path))
    assert satisfied(OPEN[n], inputs)
    assert not satisfied(OPEN[n], inputs | {"node": (out + 1) % R})
    assert not satisfied(OPEN[n], inputs | {"node": out, "child": (child + 1) % R})


@pytest.mark.parametrize("n", ARITIES)
@settings(max_examples=6)
@given(data=st.data())
def test_change_level_is_both_nodes(n: int, data: st.DataObject) -> None:
    old, new, d = data.draw(elements), data.draw(elements), data.draw(st.integers(0, n - 1))
    path = data.draw(st.lists(elements, min_size=n - 1, max_size=n - 1))
    inputs = flatten_inputs({"old": old, "new": new, "d": d, "path": path})
    public = run(CHANGE[n].tape, inputs).public()
    assert (public["before"], public["after"]) == (node(old, d, path), node(new, d, path))
    assert satisfied(CHANGE[n], inputs)
    for name in ("before", "after"):
        assert not satisfied(CHANGE[n], inputs | public | {name: (public[name] + 1) % R})


@pytest.mark.parametrize("n", ARITIES)
@pytest.mark.parametrize("children", [(0, 0), (0, 1), (R - 1, 0), (7, 7)])
def test_change_level_at_every_digit(n: int, children: tuple[int, int]) -> None:
    for d in range(n):
        old, new = children
        inputs = flatten_inputs({"old": old, "new": new, "d": d, "path": path_of(n)})
        public = run(CHANGE[n].tape, inputs).public()
        assert public["before"] == node(old, d, path_of(n))
        assert public["after"] == node(new, d, path_of(n))
        assert satisfied(CHANGE[n], inputs)


# Cost ------------------------------------------------------------------------------------------------------------------------


def hash_rows(n: int) -> tuple[int, int]:
    """A hash of n free children, in R1CS and in Square R1CS: gadgets.poseidon."""
    t, boxes = n + 1, 8 * (n + 1) + poseidon_parameters(n).r_p - 1 - n
    return 3 * boxes - t // 2, 4 * boxes - 2 * (t // 2)


def digit_rows(n: int) -> tuple[int, int]:
    """The bits; the table of one combination in R1CS; the one-hot form in Square R1CS."""
    k = n.bit_length() - 1
    return k + {1: 0, 2: 1, 3: 2}[k], k + 2**k - 1 - k


@pytest.mark.parametrize("n", ARITIES)
def test_open_level_costs_what_it_says(n: int) -> None:
    r1cs, square = (a + b for a, b in zip(hash_rows(n), digit_rows(n), strict=True))
    assert OPEN[n].r1cs.n_rows == r1cs + 3 + (n - 1)
    assert OPEN[n].square.n_rows == square + 4 + (n - 1) + 3
    constant = open_circuit(n, 5)  # no S-box, and the table is the lifted child itself
    assert constant.r1cs.n_rows == r1cs + (n - 1)
    assert constant.square.n_rows == square + (n - 1) + 2


@pytest.mark.parametrize("n", ARITIES)
def test_change_level_costs_what_it_says(n: int) -> None:
    r1cs, square = (2 * a + b for a, b in zip(hash_rows(n), digit_rows(n), strict=True))
    assert CHANGE[n].r1cs.n_rows == r1cs + 2 * 3 + 2 * (n - 1)
    assert CHANGE[n].square.n_rows == square + 2 * 4 + (n - 1) + n + 5
    constant = change_circuit(n, (0, 1))
    second_table = int(n == 8)  # of 3 bits; one of 2 bits costs nothing more
    assert constant.r1cs.n_rows == r1cs + 2 * (n - 1) + second_table
    assert constant.square.n_rows == square + (n - 1) + n + 3


@pytest.mark.parametrize("n", ARITIES)
def test_levels_over_constants_are_the_nodes(n: int) -> None:
    circuit = change_circuit(n, (0, 1))
    for d in range(n):
        w = run(circuit.tape, flatten_inputs({"d": d, "path": path_of(n)}))
        assert w.public() == {"before": node(0, d, path_of(n)), "after": node(1, d, path_of(n))}
        assert refusals(circuit, w) == [set()] * 3


# What must not pass ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", ARITIES)
def test_every_wire_is_bound(n: int) -> None:
    """None can be changed alone; and given the bits and the lifted children, each has one value."""
    for d in range(n):
        w = run(CHANGE[n].tape, change_inputs(n, d))
        for system, z in ((CHANGE[n].r1cs, w.r1cs()), (CHANGE[n].square, w.square())):
            assert loose_wires(system, z, 5) == []
            assert open_wires(system, z, lambda name: "bit_" in name or "/lifted_child_" in name) == []


@pytest.mark.parametrize("n", ARITIES)
def test_forged_wires_are_rejected(n: int) -> None:
    """Each wire outside the hashes set to another value, everything else following from it; siblings are free."""
    for d in (0, n - 1):
        inputs = change_inputs(n, d)
        inputs |= run(CHANGE[n].tape, inputs).public()
        for name in CHANGE[n].traced.wire_names:
            if "/" in name and "/round_" not in name and "sibling" not in name:
                assert refusals(CHANGE[n], cheated(CHANGE[n], inputs, {name: 12345}))[0], name


@pytest.mark.parametrize("n", ARITIES)
def test_a_child_at_the_digit_that_is_not_the_child_is_rejected(n: int) -> None:
    for d in range(n):
        w = cheated(OPEN[n], flatten_inputs({"child": 5, "d": d, "path": path_of(n)}), {f"test/lifted_child_{d}": 77})
        assert refusals(OPEN[n], w) == [
            {"the selected value", "the selected child"},
            {"the selected value"},
            {"the selected child"},
        ]


@pytest.mark.parametrize("n", ARITIES)
def test_siblings_that_differ_between_the_nodes_are_rejected(n: int) -> None:
    """The change of each other child set to 1: a second root with another sibling, all else as it must be."""
    for d in range(n):
        for j in set(range(n)) - {d}:
            w = cheated(CHANGE[n], change_inputs(n, d), {f"test/change_of_child_{j}": 1})
            assert all(refusals(CHANGE[n], w))


@pytest.mark.parametrize("n", ARITIES)
def test_a_key_that_differs_between_the_nodes_is_rejected(n: int) -> None:
    """Opened at d, changed at another place."""
    for d in range(n):
        register = CHANGE[n].traced.wire_names.index(f"test/change_of_child_{d}")
        (difference,) = values(run(CHANGE[n].tape, change_inputs(n, d)), np.array([register], np.int32))
        for j in set(range(n)) - {d}:
            pinned = {f"test/change_of_child_{i}": difference * (i == j) for i in range(n)}
            assert all(refusals(CHANGE[n], cheated(CHANGE[n], change_inputs(n, d), pinned)))


@pytest.mark.parametrize("n", ARITIES)
@pytest.mark.parametrize("value", NO_BITS)
def test_a_selector_that_is_no_bit_is_rejected_by_its_row(n: int, value: int) -> None:
    """2, -1, 1/2 for each bit of the digit, everything else following from it."""
    k = n.bit_length() - 1
    for i in range(k):
        w = cheated(CHANGE[n], change_inputs(n, 0), {f"test/bits[{k}]/bit_{i}": value})
        assert all(refusals(CHANGE[n], w))
        for labels in refusals(CHANGE[n], w)[: 1 if k == 1 else 3]:
            assert f"bit {i} is 0 or 1" in labels


@pytest.mark.parametrize("n", ARITIES)
@pytest.mark.parametrize("count", [-1, 1])
def test_another_number_of_siblings_is_refused(n: int, count: int) -> None:
    c = builder("child")
    with pytest.raises(CircuitError, match=f"a child of a node of {n} has {n - 1}"):
        open_level(
            c, c.public("child"), Digit(c, bits(c, c.secret("d"), n.bit_length() - 1)), siblings_of(c, n + count)
        )

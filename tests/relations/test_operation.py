"""R_op against its oracle, and every line of the security list that applies to it, in both tree shapes and both kinds of operation.

Each private wire mutated alone             test_every_private_wire_is_bound, ..._follows_from_bits_and_free_wires, pairs
v = r - 1, a change below 0, a balance      test_amounts_out_of_range_are_rejected: v and the new balance, of both kinds
  of 65 bits, fee > b
pid + 2^40, a branch bit of 2               test_inputs_beyond_their_bits_are_rejected
a digit, selector or branch bit of 2,       test_bits_of_2_and_minus_1_and_a_half_are_rejected
  -1, 1/2
same receipt claimed twice, taken leaves    test_a_receipt_is_claimed_once_whatever_happens_between
siblings or key differing                   test_siblings_or_a_key_that_differ_between_the_roots_are_rejected
inner node, another receipt, a dummy        test_what_is_not_the_account_s_receipt_is_not_claimed
a path of 39 or 41 levels, or none          test_paths_of_other_lengths_are_input_errors
strict disjunction                          test_a_send_does_nothing_of_a_receive, test_a_receive_does_nothing_of_a_send,
                                              test_neither_kind_passes_for_the_other, test_a_receive_cannot_skip_its_claim
"""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.errors import InputError
from bonsai_circuits.keys.domain import smallest_domain
from bonsai_circuits.witness.runner import run, run_from_r1cs
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.reference.relations import BITMAP_BITS, com_acct, com_rec, digits_of, receipt_root, send_outputs
from tests.reference.trees import node
from tests.relations.payments import (
    NO_BITS,
    POSITIONS,
    SHAPES,
    Account,
    Inputs,
    edge_positions,
    flat,
    nullifier_widths,
    operated,
    operation_secrets,
    received,
)
from tests.support import cheated, loose_wires, open_wires, passing_pairs, poseidon_circuit, refusals, satisfied, values

OPERATION = {shape: poseidon_circuit("op", shape) for shape in SHAPES}
SEND, RECEIVE = KINDS = (0, 1)
HONEST = {(shape, kind): operation_secrets(shape, kind) for shape in SHAPES for kind in KINDS}
OUTPUTS = {key: operated(key[0], w) for key, w in HONEST.items()}
AMOUNT = 2**64
STANDS = "the receipt (v, sen, A; t_in) stands at pid under root_rho"

elements = st.integers(0, R - 1)
both_shapes = pytest.mark.parametrize("shape", SHAPES)
both_kinds = pytest.mark.parametrize("kind", KINDS, ids=["send", "receive"])


def honest(shape: str, kind: int, **change: Any) -> dict[str, int]:
    """All inputs of an honest operation, its public ones included."""
    return flat(shape, HONEST[shape, kind] | OUTPUTS[shape, kind] | change)


def accepts(shape: str, w: Inputs) -> bool:
    """The verdict of all three systems."""
    return satisfied(OPERATION[shape], flat(shape, w))


def claimed_root(shape: str, w: Inputs) -> int:
    """The root above the receipt (v, sen, A; t_in), whatever else is wrong with the operation."""
    return receipt_root(shape, w["pid"], com_rec(w["v"], w["sen"], w["A"], w["t_in"]), w["receipt_path"])


@pytest.mark.parametrize(
    ("shape", "rows", "domain", "free"),
    [
        ("wide", (14_418, 18_985), 19_456, 9 + 84 + 6 + 77 - 1 - 2),
        ("classic", (28_955, 38_474), 38_912, 9 + 40 + 40 - 2),
    ],
)
def test_operation_is_at_its_counts(shape: str, rows: tuple[int, int], domain: int, free: int) -> None:
    """And both systems leave the same dimensions: A, fee, root_rho, sen, rec, s, s_new, t, t_in, and the siblings; one less for the
    bitmap's word, and for each of the two gates.
    """
    circuit = OPERATION[shape]
    assert (circuit.r1cs.n_rows, circuit.square.n_rows) == rows
    assert circuit.r1cs.public == ("A", "com", "com_new", "rho", "root_rho", "fee")
    assert smallest_domain(circuit.square.n_rows).size == domain
    for system in (circuit.r1cs, circuit.square):
        assert system.n_wires - 1 - system.n_rows == free


# Equal to the oracle ---------------------------------------------------------------------------------------------------------


def matches(shape: str, w: Inputs) -> None:
    expected = operated(shape, w)
    witness = run(OPERATION[shape].tape, flat(shape, w | {"root_rho": expected["root_rho"]}))
    assert {name: witness.public()[name] for name in expected} == expected
    assert refusals(OPERATION[shape], witness) == [set()] * 3


@both_shapes
@both_kinds
@settings(max_examples=4)
@given(
    st.fixed_dictionaries(dict.fromkeys(("A", "sen", "rec", "s", "s_new", "t", "t_in"), elements)),
    st.integers(0, AMOUNT - 1),
    st.integers(0, AMOUNT - 1),
    st.integers(0, 1000),
    st.integers(0, POSITIONS - 1),
    st.integers(),
)
def test_operation_computes_the_outputs_of_the_oracle(
    shape: str, kind: int, free: dict[str, int], balance: int, v: int, fee: int, pid: int, seed: int
) -> None:
    change = free | {"rec": 0 if kind else free["rec"], "v": v, "fee": fee, "pid": pid}
    change["b"] = (balance - v + fee) % R if kind else balance + v + fee
    matches(shape, operation_secrets(shape, kind, seed, **change))


@both_shapes
@both_kinds
def test_positions_with_extreme_digits(shape: str, kind: int) -> None:
    for pid in edge_positions(shape)[:6:2]:
        matches(shape, operation_secrets(shape, kind, pid, pid=pid))


@both_kinds
@pytest.mark.parametrize(
    "change",
    [
        {"v": 0},
        {"v": AMOUNT - 1, "b": (AMOUNT + 9, 10), "fee": 10},  # the largest value; a change of 0, a balance of 2^64 - 1
        {"v": 0, "b": 10},  # the new balance is 0
        {"v": 0, "b": AMOUNT + 9},  # the new balance is the largest
        {"fee": 0},
        {"fee": R - 1},  # minus one: the fee is public, and the ledger sets it; the relation does not bound it
        {"sen": 7, "A": 7, "s_new": 3, "s": 3, "t_in": 4, "t": 4},
        {"A": R - 1, "sen": R - 1, "s": R - 1, "s_new": R - 1, "t": R - 1, "t_in": R - 1},
        {"A": 0, "sen": 0, "rec": 0, "s": 0, "s_new": 0, "t": 0, "t_in": 0},
    ],
)
def test_edges_of_the_relation_are_accepted(kind: int, change: dict[str, Any]) -> None:
    change = {name: x[kind] if isinstance(x, tuple) else x for name, x in change.items()}
    matches("wide", operation_secrets("wide", kind, **change))


@both_shapes
def test_each_kind_is_its_own_relation(shape: str) -> None:
    """A send has the outputs of R_send, a receive those of R_recv; their public inputs have the same names."""
    root = Account(shape, {}).nullifiers().root
    send = HONEST[shape, SEND] | Account(shape, {}).claim(77)
    assert tuple(operated(shape, send)[x] for x in ("com", "com_new", "rho")) == send_outputs(send | {"root": root})
    matches(shape, send)
    receive = HONEST[shape, RECEIVE]
    out = operated(shape, receive)
    assert {x: out[x] for x in ("com", "com_new", "root_rho")} == received(shape, receive | {"t": receive["t_in"]})
    assert out["rho"] == com_rec(0, receive["A"], 0, receive["t"])


@both_shapes
@both_kinds
def test_an_r1cs_assignment_gives_the_square_assignment(shape: str, kind: int) -> None:
    w = run(OPERATION[shape].tape, honest(shape, kind))
    np.testing.assert_array_equal(run_from_r1cs(OPERATION[shape].tape, w.r1cs()).square(), w.square())


# Amounts, positions, bits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "change", "rows"),
    [
        (SEND, {"v": AMOUNT}, {"v", "balance"}),  # a 65-bit value
        (SEND, {"v": AMOUNT, "b": AMOUNT + 1000}, {"v"}),
        (SEND, {"v": R - 1}, {"v"}),  # minus one: the account would gain
        (SEND, {"v": R - 100, "b": 0}, {"v"}),
        (SEND, {"v": 991}, {"balance"}),  # b - v - fee = -1
        (SEND, {"fee": 901, "v": 100}, {"balance"}),
        (SEND, {"fee": 1001, "v": 0}, {"balance"}),  # fee > b
        (SEND, {"b": AMOUNT + 510}, {"balance"}),  # the change has 65 bits
        (SEND, {"v": pow(2, -1, R)}, {"v", "balance"}),
        (RECEIVE, {"v": AMOUNT}, {"v", "balance"}),
        (RECEIVE, {"v": AMOUNT, "b": R - 5}, {"v"}),
        (RECEIVE, {"v": R - 1}, {"v"}),  # the range of v holds in both kinds
        (RECEIVE, {"v": AMOUNT - 1, "b": 11}, {"balance"}),  # b + v - fee = 2^64
        (RECEIVE, {"v": 0, "b": AMOUNT + 10}, {"balance"}),
        (RECEIVE, {"v": 4, "b": 5}, {"balance"}),  # -1
        (RECEIVE, {"fee": 1501}, {"balance"}),
        (RECEIVE, {"v": pow(2, -1, R)}, {"v", "balance"}),
    ],
)
def test_amounts_out_of_range_are_rejected(kind: int, change: dict[str, int], rows: set[str]) -> None:
    """Everything else follows from the amounts; only the ranges notice."""
    names = {"v": "v is below 2^64", "balance": "the new balance is below 2^64"}
    circuit, w = OPERATION["wide"], HONEST["wide", kind] | change
    inputs = flat("wide", w | {"root_rho": claimed_root("wide", w)})
    trace, r1cs, square = refusals(circuit, run(circuit.tape, inputs))
    assert trace == {names[row] for row in rows}
    assert r1cs
    assert square


@both_shapes
@both_kinds
@pytest.mark.parametrize(("name", "excess"), [("pid", POSITIONS), ("receive", 2), ("receive", 2**200)])
def test_inputs_beyond_their_bits_are_rejected(shape: str, kind: int, name: str, excess: int) -> None:
    """pid + 2^40, a branch bit of 2 or 3.  The systems have no wire for these inputs but their booleans, of which the rest is true."""
    circuit, inputs = OPERATION[shape], honest(shape, kind)
    w = run(circuit.tape, inputs | {name: inputs[name] + excess})
    assert refusals(circuit, w) == [{f"{name} is below 2^{40 if name == 'pid' else 1}"}, set(), set()]
    assert name not in circuit.r1cs.wire_names + circuit.square.wire_names
    np.testing.assert_array_equal(w.r1cs(), run(circuit.tape, inputs).r1cs())


@both_shapes
@both_kinds
@pytest.mark.parametrize("value", [*NO_BITS, 3])
def test_a_branch_bit_that_is_none_is_rejected_by_its_row(shape: str, kind: int, value: int) -> None:
    """Everything else follows from it: both relations at once, weighted."""
    circuit, inputs = OPERATION[shape], flat(shape, HONEST[shape, kind] | {"rec": 0, "root_rho": 1})
    for labels in refusals(circuit, cheated(circuit, inputs, {"op/bits[1]/bit_0": value})):
        assert "bit 0 is 0 or 1" in labels


@both_kinds
@pytest.mark.parametrize(
    "wire", [*(f"bits[40]/bit_{i}" for i in range(0, 40, 3)), *(f"bits[64]/bit_{i}" for i in (0, 9, 63))]
)
def test_bits_of_2_and_minus_1_and_a_half_are_rejected(kind: int, wire: str) -> None:
    """Digits, selectors and bits of v; the new balance's are gadgets.range's."""
    i, circuit = int(wire.rpartition("_")[2]), OPERATION["wide"]
    w = cheated(circuit, honest("wide", kind), {f"op/{wire}": NO_BITS[i // 3 % 3]})
    trace, r1cs, square = refusals(circuit, w)
    assert f"bit {i} is 0 or 1" in trace
    assert r1cs
    assert square
    if "[40]" in wire:
        assert f"bit {i} is 0 or 1" in r1cs & square


# Exactly one of the two ------------------------------------------------------------------------------------------------------


@both_shapes
def test_a_send_does_nothing_of_a_receive(shape: str) -> None:
    """The root stays, any root_rho, path and claimed receipt will do, and v leaves the account."""
    w = HONEST[shape, SEND] | Account(shape, {}, {5}).claim(77)
    root = Account(shape, {}, {5}).nullifiers().root
    public = operated(shape, w)
    assert public["com_new"] == com_acct(w["b"] - w["v"] - w["fee"], root, w["s_new"])
    for root_rho in (0, 1, R - 1, root):
        assert accepts(shape, w | public | {"root_rho": root_rho})
    other = {"sen": 1, "t_in": 2, "receipt_path": HONEST[shape, RECEIVE]["receipt_path"]}
    assert accepts(shape, w | public | other)


@both_shapes
def test_a_send_cannot_take_a_position_or_a_value(shape: str) -> None:
    """The inserted power (the leaf, in the classic shape) and the two parts of v are bound to the branch bit."""
    circuit, inputs = OPERATION[shape], flat(shape, HONEST[shape, SEND] | {"root_rho": 1})
    if BITMAP_BITS[shape]:
        w = cheated(circuit, inputs, {"op/nullifier_tree/bitmap/power_of_two/2^d0_if_active": 1 << inputs["pid"] % 8})
        assert refusals(circuit, w) == [{"2^d0 if active"}] * 3
    w = cheated(circuit, inputs, {"op/v_received": inputs["v"]})
    assert all("v received" in labels for labels in refusals(circuit, w))
    level = "op/nullifier_tree/level_0"
    digit = digits_of(inputs["pid"] >> BITMAP_BITS[shape], nullifier_widths(shape))[0]
    assert all(refusals(circuit, cheated(circuit, inputs, {f"{level}/change_of_child_{digit}": 1})))


@both_shapes
def test_a_receive_does_nothing_of_a_send(shape: str) -> None:
    """rho is Com_rec(0, A, 0; t) and no other: not of v, not to anyone."""
    w = HONEST[shape, RECEIVE]
    public = OUTPUTS[shape, RECEIVE]
    assert public["rho"] == com_rec(0, w["A"], 0, w["t"])
    assert accepts(shape, w | public)
    for rho in (
        com_rec(w["v"], w["A"], 0, w["t"]),
        com_rec(w["v"], w["A"], w["sen"], w["t"]),
        com_rec(0, 0, 0, w["t"]),
    ):
        assert not accepts(shape, w | public | {"rho": rho})


@both_shapes
@pytest.mark.parametrize("rec", [1, R - 1, "A", "sen"])
def test_a_receive_to_somebody_is_rejected(shape: str, rec: int | str) -> None:
    """rec != 0, rho computed with it: the gate alone notices."""
    circuit, w = OPERATION[shape], HONEST[shape, RECEIVE]
    inputs = flat(shape, w | {"root_rho": claimed_root(shape, w), "rec": w[rec] if isinstance(rec, str) else rec})
    assert refusals(circuit, run(circuit.tape, inputs)) == [{"the receiver is 0"}] * 3


@both_shapes
@pytest.mark.parametrize("share", [0, 1, 499, 501, R - 500])
def test_what_is_received_is_all_of_v_and_nothing_else(shape: str, share: int) -> None:
    """A receive that counts another part of v, the claim and the dummy following from it."""
    circuit, w = OPERATION[shape], HONEST[shape, RECEIVE]
    inputs = flat(shape, w | {"root_rho": claimed_root(shape, w | {"v": share})})
    for labels in refusals(circuit, cheated(circuit, inputs, {"op/v_received": share})):
        assert "v received" in labels


@both_shapes
def test_neither_kind_passes_for_the_other(shape: str) -> None:
    """The public inputs of one kind with the bit of the other, and with the other's rec too."""
    for kind in KINDS:
        w = HONEST[shape, kind] | OUTPUTS[shape, kind] | {"receive": 1 - kind}
        for rec in (0, 9, HONEST[shape, kind]["rec"]):
            assert not accepts(shape, w | {"rec": rec})


@both_shapes
def test_a_receive_cannot_skip_its_claim(shape: str) -> None:
    """root_rho, receipt or position other than those that are opened: the comparison notices, in each system."""
    circuit, inputs = OPERATION[shape], honest(shape, RECEIVE)
    changes: list[dict[str, int]] = [{"root_rho": x} for x in (0, 1, inputs["root_rho"] + 1)]
    changes += [{"sen": 1}, {"t_in": 1}, {"receipt_path[0][0]": 1}]
    for change in changes:
        assert refusals(circuit, run(circuit.tape, inputs | change)) == [{STANDS}] * 3


# Trees -----------------------------------------------------------------------------------------------------------------------


@both_shapes
def test_a_receipt_is_claimed_once_whatever_happens_between(shape: str) -> None:
    """Claim, send, claim of a neighbour; then the first once more.  A send of a taken position shows none that is free."""
    pids, carried = (4242, 4243), {"v": 100, "sen": 50, "t_in": 60}
    account = Account(shape, {pid: com_rec(100, 50, 7, 60) for pid in pids})
    state: Inputs = {"A": 7, "fee": 1, "b": 1000, "s": 5, "t": 3, **carried}
    com = com_acct(1000, account.nullifiers().root, 5)

    def step(kind: int, pid: int) -> Inputs:
        public = {"com": com, "root_rho": account.receipt_tree.root}
        return state | {"receive": kind, "rec": 0 if kind else 8, "s_new": state["s"] + 1} | account.claim(pid) | public

    for kind, pid in ((RECEIVE, pids[0]), (SEND, 1), (RECEIVE, pids[1]), (SEND, 2)):
        w = step(kind, pid)
        assert accepts(shape, w)
        com = operated(shape, w)["com_new"]
        if kind == RECEIVE:
            account.taken.add(pid)
        state |= {"b": state["b"] + (100 if kind else -100) - 1, "s": w["s_new"]}
        assert com == com_acct(state["b"], account.nullifiers().root, state["s"])
    assert state["b"] == 1000 - 4
    for pid in pids:
        for kind in KINDS:
            w = step(kind, pid)
            assert not accepts(shape, w)
            assert not accepts(shape, w | {"nullifier_leaf": w["nullifier_leaf"] & ~(1 << pid % 128)})


@pytest.mark.parametrize("kind", KINDS)
def test_a_flag_that_is_taken_is_rejected_by_its_row(kind: int) -> None:
    circuit, w = OPERATION["wide"], HONEST["wide", kind]
    flag = w["pid"] % 128
    inputs = flat("wide", w | {"nullifier_leaf": w["nullifier_leaf"] | 1 << flag, "root_rho": claimed_root("wide", w)})
    label = f"flag {flag % 8} of the word is 0 or 1, and 0 if it is to be taken"
    assert refusals(circuit, run(circuit.tape, inputs)) == [{label}] * 3


@both_shapes
@both_kinds
def test_siblings_or_a_key_that_differ_between_the_roots_are_rejected(shape: str, kind: int) -> None:
    """The change of another child set to 1, or moved to another child: at some levels, for both kinds."""
    circuit, inputs = (
        OPERATION[shape],
        flat(shape, HONEST[shape, kind] | {"root_rho": OUTPUTS[shape, kind]["root_rho"]}),
    )
    honest_witness, widths = run(circuit.tape, inputs), nullifier_widths(shape)
    digits = digits_of(inputs["pid"] >> BITMAP_BITS[shape], widths)
    for level in (0, len(widths) // 2, len(widths) - 1):
        scope, n, d = f"op/nullifier_tree/level_{level}/change_of_child_", 2 ** widths[level], digits[level]
        register = circuit.traced.wire_names.index(f"{scope}{d}")
        (change,) = values(honest_witness, np.array([register], np.int32))
        assert (change != 0) == (kind == RECEIVE)
        j = (d + 1) % n
        assert all(refusals(circuit, cheated(circuit, inputs, {f"{scope}{j}": 1})))
        moved = {f"{scope}{i}": (change or 1) * (i == j) for i in range(n)}
        assert all(refusals(circuit, cheated(circuit, inputs, moved)))


@both_shapes
def test_what_is_not_the_account_s_receipt_is_not_claimed(shape: str) -> None:
    """Leaves that are: a dummy, a receipt to another, of another value, a node over the same fields, an inner node, an account; empty."""
    w = HONEST[shape, RECEIVE] | {"A": 7, "v": 500, "sen": 8, "t_in": 9}
    good = com_rec(500, 8, 7, 9)
    wrong = [
        com_rec(0, 8, 0, 9),
        com_rec(500, 8, 0, 9),
        com_rec(500, 8, 6, 9),
        com_rec(501, 8, 7, 9),
        com_rec(0, 7, 0, 9),
    ]
    wrong += [node([500, 8, 7, 9]), node([good, 0]), com_acct(500, 8, 7), 0]
    for leaf in (good, *wrong):
        account = Account(shape, {w["pid"]: leaf})
        claim = w | account.claim(w["pid"]) | {"root_rho": account.receipt_tree.root}
        assert accepts(shape, claim) == (leaf == good)


@both_shapes
def test_a_published_dummy_is_claimed_by_nobody(shape: str) -> None:
    """The receipt of a receive, offered as one of value 0: by its own account, by the sender before, by anyone but 0; 0 is no account."""
    w = HONEST[shape, RECEIVE]
    account = Account(shape, {w["pid"]: OUTPUTS[shape, RECEIVE]["rho"]})
    claim = w | {"v": 0, "sen": w["A"], "t_in": w["t"]} | account.claim(w["pid"])
    claim |= {"root_rho": account.receipt_tree.root}
    for identifier in (w["A"], w["sen"], 1):
        assert not accepts(shape, claim | {"A": identifier})
    assert accepts(shape, claim | {"A": 0})


@both_shapes
@both_kinds
@pytest.mark.parametrize("name", ["receipt_path", "nullifier_path"])
def test_paths_of_other_lengths_are_input_errors(shape: str, kind: int, name: str) -> None:
    w = HONEST[shape, kind] | {"root_rho": 1}
    last = len(w[name]) - 1
    for wrong, first, what in (
        ([], 0, "this input is missing"),
        (w[name][:-1], last, "this input is missing"),
        ([*w[name], w[name][-1]], last + 1, "there is no such input"),
    ):
        expected = rf"^{name}\[{first}(\.\.\d+)?\]\[0(\.\.\d+)?\]: {what}"  # an array, as ranges
        with pytest.raises(InputError, match=expected):
            run(OPERATION[shape].tape, flat(shape, w | {name: wrong}))


def test_an_operation_names_a_root() -> None:
    """Also a send: root_rho is not computed from anything."""
    with pytest.raises(InputError, match="root_rho: this input is missing"):
        run(OPERATION["wide"].tape, flat("wide", HONEST["wide", SEND]))


# Inputs and wires ------------------------------------------------------------------------------------------------------------


@both_shapes
@both_kinds
def test_an_input_that_the_outputs_were_not_made_with_is_rejected(shape: str, kind: int) -> None:
    """Each input alone, siblings of some levels, digits of the position.  A send binds nothing of the claim that it does not make."""
    circuit, inputs = OPERATION[shape], honest(shape, kind)
    single = [
        "A",
        "com",
        "com_new",
        "rho",
        "root_rho",
        "fee",
        "b",
        "v",
        "sen",
        "rec",
        "s",
        "s_new",
        "t",
        "t_in",
        "receive",
    ]
    for name in ("receipt_path", "nullifier_path"):
        some = range(0, len(HONEST[shape, kind][name]), 6 if shape == "wide" else 39)
        single += [f"{name}[{i}][0]" for i in some]
    changes = [{name: 1 - inputs[name] if name == "receive" else (inputs[name] + 1) % R} for name in single]
    changes += [{"pid": inputs["pid"] ^ 1 << i} for i in (0, 3, 6, 9, 39)]
    if BITMAP_BITS[shape]:
        changes.append({"nullifier_leaf": inputs["nullifier_leaf"] ^ 1 << (inputs["pid"] + 1) % 128})
    unbound = ("sen", "t_in", "root_rho", "receipt_path") if kind == SEND else ()
    for change in changes:
        (name,) = change
        assert satisfied(circuit, inputs | change) == name.startswith(unbound), name


@both_shapes
@both_kinds
def test_every_private_wire_is_bound(shape: str, kind: int) -> None:
    """No private wire of either system can be changed alone, to any value; a send's receipt path is wires of hashes all the same."""
    circuit = OPERATION[shape]
    w = run(circuit.tape, honest(shape, kind))
    n_fixed = 1 + len(circuit.r1cs.public)
    assert loose_wires(circuit.r1cs, w.r1cs(), n_fixed) == []
    assert loose_wires(circuit.square, w.square(), n_fixed) == []


def free_wire(name: str) -> bool:
    """What a prover chooses: bits, flags, private inputs and children behind their first S-box."""
    last = name.rpartition("/")[2].partition("#")[0]
    chosen = ("bit_", "flag_", "selected_flag_", "lifted_child_", "lifted_receiver")
    return last.startswith(chosen) or last[:-1] == "s-box_"


@both_shapes
@both_kinds
def test_every_private_wire_follows_from_bits_and_free_wires(shape: str, kind: int) -> None:
    """Given those, row by row, every other wire of either system has one value."""
    circuit = OPERATION[shape]
    w = run(circuit.tape, honest(shape, kind))
    assert open_wires(circuit.r1cs, w.r1cs(), free_wire) == []
    assert open_wires(circuit.square, w.square(), free_wire) == []


@both_shapes
@both_kinds
def test_pairs_of_wires_are_bound(shape: str, kind: int) -> None:
    circuit, rng = OPERATION[shape], random.Random(1)
    w = run(circuit.tape, honest(shape, kind))
    n_fixed = 1 + len(circuit.r1cs.public)
    assert passing_pairs(circuit.r1cs, w.r1cs(), n_fixed, 15, rng) == []
    assert passing_pairs(circuit.square, w.square(), n_fixed, 15, rng) == []

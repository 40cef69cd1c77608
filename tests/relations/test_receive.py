"""R_recv against its oracle, and every line of the security list that applies to it, in both tree shapes.

Each private wire mutated alone             test_every_private_wire_is_bound, ..._follows_from_bits_and_free_wires, pairs
v = r - 1, b + v - fee < 0 or >= 2^64,      test_balances_out_of_range_are_rejected; v itself has no range here: receipts
  fee > b, 65 bits                            of the ledger's tree were ranged when they were sent
pid + 2^40                                  test_a_position_beyond_the_tree_is_rejected
a digit or selector of 2, -1, 1/2           test_bits_of_2_and_minus_1_and_a_half_are_rejected
same receipt claimed twice                  test_the_same_receipt_is_claimed_once
insert where the leaf is taken              test_a_position_that_is_taken_is_rejected
siblings or key differing between roots     test_siblings_that_differ_..., test_a_key_that_differs_...
key differing between the two trees         test_a_receipt_of_another_position_is_rejected
inner node offered as a receipt             test_an_inner_node_is_no_receipt, test_a_node_over_the_fields_of_a_receipt_is_none
a path of 39 or 41 levels, or none          test_paths_of_other_lengths_are_input_errors, test_trees_of_other_heights_are_rejected
claim of a dummy receipt                    test_a_receipt_to_nobody_or_to_another_is_rejected
v or rec other than the receipt's           the same, and test_an_input_that_the_outputs_were_not_made_with_is_rejected
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
from tests.reference.relations import BITMAP_BITS, WIDTHS, com_acct, com_rec, digits_of
from tests.reference.trees import SparseTree, node
from tests.relations.payments import (
    NO_BITS,
    POSITIONS,
    SHAPES,
    Account,
    Inputs,
    edge_positions,
    flat,
    nullifier_widths,
    received,
    secrets,
)
from tests.support import cheated, loose_wires, open_wires, passing_pairs, poseidon_circuit, refusals, satisfied, values

RECEIVE = {shape: poseidon_circuit("recv", shape) for shape in SHAPES}
HONEST = {shape: secrets(shape) for shape in SHAPES}
AMOUNT = 2**64
TAKEN = "com opens to (b, root; s)"  # of the classic tree: its free leaf is a constant, so the root shows a taken one

elements = st.integers(0, R - 1)
both_shapes = pytest.mark.parametrize("shape", SHAPES)


def accepts(shape: str, w: Inputs) -> bool:
    """The verdict of all three systems."""
    return satisfied(RECEIVE[shape], flat(shape, w))


@pytest.mark.parametrize(
    ("shape", "rows", "domain", "free"),
    [("wide", (14_072, 18_544), 19_456, 7 + 84 + 6 + 77 - 1), ("classic", (28_607, 38_030), 38_912, 7 + 40 + 40)],
)
def test_receive_is_at_its_counts(shape: str, rows: tuple[int, int], domain: int, free: int) -> None:
    """And both systems leave the same dimensions: A, fee, v, sen, s, s_new, t, and the siblings; one less for the bitmap's word."""
    circuit = RECEIVE[shape]
    assert (circuit.r1cs.n_rows, circuit.square.n_rows) == rows
    assert circuit.r1cs.public == ("A", "com", "com_new", "root_rho", "fee")
    assert smallest_domain(circuit.square.n_rows).size == domain
    for system in (circuit.r1cs, circuit.square):
        assert system.n_wires - 1 - system.n_rows == free


# Equal to the oracle ---------------------------------------------------------------------------------------------------------


def matches(shape: str, w: Inputs) -> None:
    witness = run(RECEIVE[shape].tape, flat(shape, w))
    assert {name: witness.public()[name] for name in ("com", "com_new", "root_rho")} == received(shape, w)
    assert refusals(RECEIVE[shape], witness) == [set()] * 3


@both_shapes
@settings(max_examples=6)
@given(
    st.fixed_dictionaries(dict.fromkeys(("A", "v", "sen", "s", "s_new", "t"), elements)),
    st.integers(0, AMOUNT - 1),
    st.integers(0, 1000),
    st.integers(0, POSITIONS - 1),
    st.integers(),
)
def test_receive_computes_the_outputs_of_the_oracle(
    shape: str, free: dict[str, int], balance: int, fee: int, pid: int, seed: int
) -> None:
    matches(shape, secrets(shape, seed, **free, b=(balance - free["v"] + fee) % R, fee=fee, pid=pid))


@pytest.mark.parametrize(("shape", "pid"), [(shape, pid) for shape in SHAPES for pid in edge_positions(shape)])
def test_positions_with_extreme_digits(shape: str, pid: int) -> None:
    matches(shape, secrets(shape, pid, pid=pid))


@pytest.mark.parametrize(
    "change",
    [
        {"b": 10, "v": 0},  # the new balance is 0
        {"b": 0, "v": 10},
        {"b": AMOUNT - 1, "v": 10},  # the new balance is the largest
        {"b": 0, "v": AMOUNT - 1, "fee": 0},
        {"fee": 0},
        {"fee": R - 1},  # minus one: the fee is public, and the ledger sets it; the relation does not bound it
        {"v": R - 1},  # minus one: no receipt of the ledger carries it, for sending ranges v
        {"sen": "A"},
        {"s_new": "s"},
        {"A": R - 1, "sen": R - 1, "s": R - 1, "s_new": R - 1, "t": R - 1},
        {"A": 0, "sen": 0, "s": 0, "s_new": 0, "t": 0},
    ],
)
def test_edges_of_the_relation_are_accepted(change: dict[str, Any]) -> None:
    w = HONEST["wide"] | {name: HONEST["wide"][x] if isinstance(x, str) else x for name, x in change.items()}
    matches("wide", w)


@both_shapes
@pytest.mark.parametrize("sibling", [0, R - 1])
def test_siblings_may_be_anything(shape: str, sibling: int) -> None:
    """Equal children, and leaves that are empty or full but for one flag."""
    w = HONEST[shape]
    paths = {name: [[sibling] * len(level) for level in w[name]] for name in ("receipt_path", "nullifier_path")}
    full = 2**128 - 1 - (1 << w["pid"] % 128) if BITMAP_BITS[shape] and sibling else 0
    matches(shape, w | paths | {"nullifier_leaf": full})


@both_shapes
def test_an_r1cs_assignment_gives_the_square_assignment(shape: str) -> None:
    w = run(RECEIVE[shape].tape, flat(shape, HONEST[shape]))
    np.testing.assert_array_equal(run_from_r1cs(RECEIVE[shape].tape, w.r1cs()).square(), w.square())


# Amounts and positions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"b": AMOUNT - 1, "v": 11},  # b + v - fee = 2^64
        {"b": 0, "v": AMOUNT, "fee": 0},  # 65 bits
        {"b": AMOUNT, "v": 10},
        {"b": AMOUNT - 1, "v": AMOUNT - 1},
        {"b": 5, "v": 4},  # b + v - fee = -1
        {"b": 0, "v": 0},  # fee > b + v
        {"b": 0, "v": R - 1},
        {"b": R - 1, "v": 0},
        {"fee": 1501},
        {"fee": R - AMOUNT},
        {"v": pow(2, -1, R)},
    ],
)
def test_balances_out_of_range_are_rejected(change: dict[str, int]) -> None:
    trace, r1cs, square = refusals(RECEIVE["wide"], run(RECEIVE["wide"].tape, flat("wide", HONEST["wide"] | change)))
    assert trace == {"b + v - fee is below 2^64"}
    assert r1cs
    assert square


@both_shapes
@pytest.mark.parametrize("turns", [1, 2**10])
def test_a_position_beyond_the_tree_is_rejected(shape: str, turns: int) -> None:
    """pid + 2^40.  The systems have no wire for pid but its 40 booleans: what they speak of is the position inside."""
    circuit, inside = RECEIVE[shape], flat(shape, HONEST[shape])
    w = run(circuit.tape, inside | {"pid": inside["pid"] + turns * POSITIONS})
    assert refusals(circuit, w) == [{"pid is below 2^40"}, set(), set()]
    assert [row.label for row in circuit.failures(w)] == ["pid is below 2^40"]
    assert "pid" not in circuit.r1cs.wire_names + circuit.square.wire_names
    np.testing.assert_array_equal(w.r1cs(), run(circuit.tape, inside).r1cs())


@pytest.mark.parametrize(
    ("shape", "i"), [*(("wide", i) for i in range(0, 40, 3)), *(("classic", i) for i in (0, 16, 39))]
)
def test_bits_of_2_and_minus_1_and_a_half_are_rejected(shape: str, i: int) -> None:
    """One bit of pid, everything else following from it: digit, selector and one-hot form are no longer what they are taken for."""
    w = cheated(RECEIVE[shape], flat(shape, HONEST[shape]), {f"recv/bits[40]/bit_{i}": NO_BITS[i // 3 % 3]})
    for labels in refusals(RECEIVE[shape], w):
        assert f"bit {i} is 0 or 1" in labels


@pytest.mark.parametrize("i", range(0, 64, 5))
def test_bits_of_the_balance_that_are_none_are_rejected(i: int) -> None:
    """Two bits that keep the sum, one of them 2, -1 or 1/2: nothing but their rows notices."""
    circuit, w = RECEIVE["wide"], HONEST["wide"]
    balance, other = w["b"] + w["v"] - w["fee"], (i + 1) % 64
    bits = {i: NO_BITS[i % len(NO_BITS)]}
    bits[other] = (sum((balance >> j & 1) << j for j in (i, other)) - (bits[i] << i)) * pow(2, -other, R) % R
    witness = cheated(circuit, flat("wide", w), {f"recv/bits[64]/bit_{j}": bit for j, bit in bits.items()})
    assert refusals(circuit, witness) == [{f"bit {j} is 0 or 1" for j, bit in bits.items() if bit > 1}] * 3


# Once ------------------------------------------------------------------------------------------------------------------------


def claim_of(account: Account, pid: int, receipt: Inputs, before: Inputs) -> Inputs:
    """The claim of a receipt by the account whose commitment opens to b and s of `before`."""
    return (
        {"A": 7, "fee": 1, "b": before["b"], "s": before["s"], "s_new": before["s"] + 1} | receipt | account.claim(pid)
    )


@both_shapes
def test_the_same_receipt_is_claimed_once(shape: str) -> None:
    """Three receipts, two of them neighbours, claimed one after the other; then each once more, against the newest commitment."""
    pids = (130, 131, POSITIONS - 1)
    carried = {pid: {"v": 100 + i, "sen": 50 + i, "t": 60 + i} for i, pid in enumerate(pids)}
    receipts = {pid: com_rec(r["v"], r["sen"], 7, r["t"]) for pid, r in carried.items()}
    account = Account(shape, receipts)
    state = {"b": 1000, "s": 5}
    com = com_acct(1000, account.nullifiers().root, 5)
    for pid in pids:
        w = claim_of(account, pid, carried[pid], state)
        public = {"com": com, "root_rho": account.receipt_tree.root}
        assert received(shape, w).items() >= public.items()
        assert accepts(shape, w | public)
        stale, com = w, received(shape, w)["com_new"]
        account.taken.add(pid)
        state = {"b": w["b"] + w["v"] - 1, "s": w["s_new"]}
        assert com == com_acct(state["b"], account.nullifiers().root, state["s"])
    for pid in pids:
        again = claim_of(account, pid, carried[pid], state) | {"com": com, "root_rho": account.receipt_tree.root}
        assert not accepts(shape, again)
        denied = again | {"nullifier_leaf": again["nullifier_leaf"] & ~(1 << pid % 128)}
        assert not accepts(shape, denied)
    # The paths of before, when the position was free, lead to the root of before.
    assert not accepts(shape, stale | state | {"com": com})


@both_shapes
def test_claims_of_neighbours_change_nothing_else(shape: str) -> None:
    """Positions of one leaf, of one node, and far apart, in the order of a random walk: the root is that of the set."""
    rng, account = random.Random(7), Account(shape, {})
    root = account.nullifiers().root
    for _ in range(5):
        pid = rng.choice([rng.randrange(8), 128 + rng.randrange(128), rng.randrange(POSITIONS)])
        if pid in account.taken:
            continue
        w = secrets(shape, 1, **account.claim(pid)) | {"receipt_path": HONEST[shape]["receipt_path"]}
        public = run(RECEIVE[shape].tape, flat(shape, w)).public()
        assert public["com"] == com_acct(w["b"], root, w["s"])
        account.taken.add(pid)
        root = account.nullifiers().root
        assert public["com_new"] == com_acct(w["b"] + w["v"] - w["fee"], root, w["s_new"])
        assert accepts(shape, w | public)


@pytest.mark.parametrize("flag", range(0, 128, 27))
def test_a_position_that_is_taken_is_rejected(flag: int) -> None:
    """Wide: the flag of the position is set, alone, with others, with all others; denied, the word differs, or else the root."""
    w = secrets("wide", 1, pid=HONEST["wide"]["pid"] // 128 * 128 + flag)
    circuit, label = RECEIVE["wide"], f"flag {flag % 8} of the word is 0 or 1, and 0 if it is to be taken"
    for leaf in (1 << flag, 2**128 - 1, w["nullifier_leaf"] | 1 << flag):
        inputs = flat("wide", w | {"nullifier_leaf": leaf})
        assert refusals(circuit, run(circuit.tape, inputs)) == [{label}] * 3
        scope = "recv/nullifier_tree/bitmap"
        for pinned, labels in (
            ({f"{scope}/selected_word/selected_flag_{flag % 8}": 0}, {"the selected value"}),
            ({f"{scope}/flags/flag_{flag}": 0}, {TAKEN}),
        ):
            com = run(circuit.tape, inputs).public()["com"]
            trace, r1cs, square = refusals(circuit, cheated(circuit, inputs | {"com": com}, pinned))
            assert (
                trace - {"the leaf is below 2^128"} == labels
            )  # a flag denied is not the leaf's either, but the systems have no leaf
            assert r1cs
            assert square


@pytest.mark.parametrize("pid", [0, 1, 5, POSITIONS - 1])
def test_a_leaf_that_is_taken_is_rejected(pid: int) -> None:
    """Classic: the free leaf is the constant 0, so an account in which the leaf is 1 has another root."""
    account = Account("classic", {}, {pid, 77})
    w = secrets("classic", 1, **account.claim(pid))
    com = com_acct(w["b"], account.nullifiers().root, w["s"])
    trace, r1cs, square = refusals(RECEIVE["classic"], run(RECEIVE["classic"].tape, flat("classic", w | {"com": com})))
    assert trace == {TAKEN}
    assert r1cs
    assert square


# Both trees, both roots ------------------------------------------------------------------------------------------------------


def nullifier_levels(shape: str) -> list[tuple[int, int, int]]:
    """(level, arity, digit of the honest position), the lowest, the highest and some between."""
    digits = digits_of(HONEST[shape]["pid"] >> BITMAP_BITS[shape], nullifier_widths(shape))
    levels = [(i, 2**k, d) for i, (k, d) in enumerate(zip(nullifier_widths(shape), digits, strict=True))]
    return [levels[i] for i in sorted({0, 1, len(levels) // 2, len(levels) - 1})]


@both_shapes
def test_siblings_that_differ_between_the_old_and_the_new_root_are_rejected(shape: str) -> None:
    circuit, inputs = RECEIVE[shape], flat(shape, HONEST[shape])
    for level, arity, digit in nullifier_levels(shape):
        for j in set(range(arity)) - {digit}:
            w = cheated(circuit, inputs, {f"recv/nullifier_tree/level_{level}/change_of_child_{j}": 1})
            assert all(refusals(circuit, w))


@both_shapes
def test_a_key_that_differs_between_the_old_and_the_new_root_is_rejected(shape: str) -> None:
    """The position is free, and another one is taken: the change moves to another child, all else following from it."""
    circuit, inputs = RECEIVE[shape], flat(shape, HONEST[shape])
    honest = run(circuit.tape, inputs)
    for level, arity, digit in nullifier_levels(shape):
        scope = f"recv/nullifier_tree/level_{level}/change_of_child_"
        register = circuit.traced.wire_names.index(f"{scope}{digit}")
        (change,) = values(honest, np.array([register], np.int32))
        for j in set(range(arity)) - {digit}:
            w = cheated(circuit, inputs, {f"{scope}{i}": change * (i == j) for i in range(arity)})
            assert all(refusals(circuit, w))


@both_shapes
def test_a_receipt_of_another_position_is_rejected(shape: str) -> None:
    """It stands at `there`; what is taken is a free position next to it, or one that differs in a single digit."""
    there = 0x5A_0F_C3_96_A5
    account = Account(shape, {there: com_rec(500, 8, 7, 9), there ^ 1: 4})
    w = secrets(shape, 1, A=7, sen=8, t=9) | account.claim(there) | {"root_rho": account.receipt_tree.root}
    assert accepts(shape, w)
    for place in (0, 1, 5, 7, 20, 39):
        here = there ^ 1 << place
        moved = w | account.claim(here)
        assert not accepts(shape, moved)
        assert not accepts(shape, moved | {"receipt_path": w["receipt_path"]})


@both_shapes
def test_an_inner_node_is_no_receipt(shape: str) -> None:
    """A node of the tree in the place of the leaf: the receipt's last row is the one that refuses."""
    circuit, w = RECEIVE[shape], HONEST[shape]
    receipt = com_rec(w["v"], w["sen"], w["A"], w["t"])
    inner = node([receipt, *w["receipt_path"][0]])
    name = "recv/receipt/poseidon[4]/round_63/x^5_+_y^5"
    (term,) = values(run(circuit.tape, flat(shape, w)), np.array([circuit.traced.wire_names.index(name)], np.int32))
    cheat = cheated(circuit, flat(shape, w), {name: (term + inner - receipt) % R})
    tree = SparseTree(WIDTHS[shape], {w["pid"]: inner})
    assert refusals(circuit, cheat) == [{"x^5 + y^5"}] * 3
    as_leaf = Account(shape, {w["pid"]: inner}).claim(w["pid"])
    assert not accepts(shape, w | as_leaf | {"root_rho": tree.root})


@both_shapes
def test_a_node_over_the_fields_of_a_receipt_is_none(shape: str) -> None:
    """Four children v, sen, A, t under a tree's tag, or an account's opening: other functions, other leaves."""
    w = HONEST[shape]
    fields = [w["v"], w["sen"], w["A"], w["t"]]
    for leaf in (node(fields), com_acct(*fields[:2], fields[3])):
        account = Account(shape, {w["pid"]: leaf})
        assert not accepts(shape, w | account.claim(w["pid"]) | {"root_rho": account.receipt_tree.root})
    account = Account(shape, {w["pid"]: com_rec(*fields)})
    assert accepts(shape, w | account.claim(w["pid"]) | {"root_rho": account.receipt_tree.root})


@both_shapes
def test_trees_of_other_heights_are_rejected(shape: str) -> None:
    """The root of a tree one level lower or higher, its path filled up or cut at either end to the height of this one."""
    w, widths = HONEST[shape], list(WIDTHS[shape])
    receipt = com_rec(w["v"], w["sen"], w["A"], w["t"])
    for heights in (widths[:-1], [*widths, widths[-1]]):
        lower = w["pid"] % 2 ** sum(heights)
        tree = SparseTree(heights, {lower: receipt})
        path = tree.path(lower)
        filler = [0] * len(w["receipt_path"][-1])
        for attempt in ([*path, filler][: len(widths)], [filler, *path][-len(widths) :], path[-len(widths) :]):
            if len(attempt) == len(widths) and all(
                len(level) == 2**width - 1 for level, width in zip(attempt, widths, strict=True)
            ):
                assert not accepts(shape, w | {"receipt_path": attempt, "root_rho": tree.root})


@both_shapes
@pytest.mark.parametrize("name", ["receipt_path", "nullifier_path"])
def test_paths_of_other_lengths_are_input_errors(shape: str, name: str) -> None:
    """None, one level less, one level more; one sibling less, one more: the error names the first value that is too few or too many."""
    path = HONEST[shape][name]
    last, width = len(path) - 1, len(path[-1])
    missing, unknown = "this input is missing", "there is no such input"
    for wrong, level, at, what in (
        ([], 0, 0, missing),
        (path[:-1], last, 0, missing),
        ([*path, path[-1]], last + 1, 0, unknown),
        ([*path[:-1], path[-1][:-1]], last, width - 1, missing),
        ([*path[:-1], [*path[-1], 1]], last, width, unknown),
    ):
        expected = rf"^{name}\[{level}(\.\.\d+)?\]\[{at}(\.\.\d+)?\]: {what}"  # an array, as ranges
        with pytest.raises(InputError, match=expected):
            run(RECEIVE[shape].tape, flat(shape, HONEST[shape] | {name: wrong}))


def test_the_leaf_belongs_to_the_wide_shape() -> None:
    wide = {name: x for name, x in flat("wide", HONEST["wide"]).items() if name != "nullifier_leaf"}
    with pytest.raises(InputError, match="nullifier_leaf: this input is missing"):
        run(RECEIVE["wide"].tape, wide)
    with pytest.raises(InputError, match="nullifier_leaf: there is no such input"):
        run(RECEIVE["classic"].tape, flat("classic", HONEST["classic"]) | {"nullifier_leaf": 0})


# Whose receipt ---------------------------------------------------------------------------------------------------------------


@both_shapes
def test_a_receipt_to_nobody_or_to_another_is_rejected(shape: str) -> None:
    """A dummy receipt is made out to 0: whoever is not 0 cannot claim it, and the ledger gives nobody this identifier."""
    w = HONEST[shape] | {"A": 7, "v": 500, "sen": 8, "t": 9}
    for receiver, value in ((0, 0), (0, 500), (6, 500), (8, 500)):
        account = Account(shape, {w["pid"]: com_rec(value, 8, receiver, 9)})
        claim = w | {"v": value} | account.claim(w["pid"]) | {"root_rho": account.receipt_tree.root}
        assert not accepts(shape, claim)
        assert accepts(shape, claim | {"A": receiver})


@both_shapes
def test_another_value_sender_or_blinding_is_rejected(shape: str) -> None:
    w = HONEST[shape] | {"A": 7, "v": 500, "sen": 8, "t": 9}
    account = Account(shape, {w["pid"]: com_rec(500, 8, 7, 9)})
    w |= account.claim(w["pid"]) | {"root_rho": account.receipt_tree.root}
    assert accepts(shape, w)
    for change in ({"v": 501}, {"v": 499}, {"v": 0}, {"sen": 7}, {"t": 10}, {"sen": 9, "t": 8}, {"A": 8, "sen": 7}):
        assert not accepts(shape, w | change)


@both_shapes
def test_an_input_that_the_outputs_were_not_made_with_is_rejected(shape: str) -> None:
    """Each input alone; siblings of some levels; digits of the position; of the leaf another flag."""
    honest = HONEST[shape] | received(shape, HONEST[shape])
    circuit, inputs = RECEIVE[shape], flat(shape, honest)
    assert refusals(circuit, run(circuit.tape, inputs)) == [set()] * 3
    single = ["A", "com", "com_new", "root_rho", "fee", "b", "v", "sen", "s", "s_new", "t"]
    for name in ("receipt_path", "nullifier_path"):
        some = range(0, len(honest[name]), 3 if shape == "wide" else 13)
        single += [f"{name}[{i}][{i % len(honest[name][i])}]" for i in some]
    changes = [{name: (inputs[name] + 1) % R} for name in single]
    changes += [{"pid": inputs["pid"] ^ 1 << i} for i in (0, 2, 3, 5, 7, 11, 39)]
    if BITMAP_BITS[shape]:
        changes.append({"nullifier_leaf": inputs["nullifier_leaf"] ^ 1 << (inputs["pid"] + 1) % 128})
    for change in changes:
        assert not satisfied(circuit, inputs | change), change


@both_shapes
def test_swapped_commitments_are_rejected(shape: str) -> None:
    out = received(shape, HONEST[shape])
    assert not accepts(shape, HONEST[shape] | out | {"com": out["com_new"], "com_new": out["com"]})


# Wires -----------------------------------------------------------------------------------------------------------------------


def free_wire(name: str) -> bool:
    """What a prover chooses: bits, flags, b, private inputs and children behind their first S-box."""
    last = name.rpartition("/")[2].partition("#")[0]
    return name == "b" or last.startswith(("bit_", "flag_", "selected_flag_", "lifted_child_")) or last[:-1] == "s-box_"


@both_shapes
def test_every_private_wire_is_bound(shape: str) -> None:
    """No private wire of either system can be changed alone, to any value."""
    w = run(RECEIVE[shape].tape, flat(shape, HONEST[shape]))
    n_fixed = 1 + len(RECEIVE[shape].r1cs.public)
    assert loose_wires(RECEIVE[shape].r1cs, w.r1cs(), n_fixed) == []
    assert loose_wires(RECEIVE[shape].square, w.square(), n_fixed) == []


@both_shapes
def test_every_private_wire_follows_from_bits_and_free_wires(shape: str) -> None:
    """Given those, row by row, every other wire of either system has one value."""
    w = run(RECEIVE[shape].tape, flat(shape, HONEST[shape]))
    assert open_wires(RECEIVE[shape].r1cs, w.r1cs(), free_wire) == []
    assert open_wires(RECEIVE[shape].square, w.square(), free_wire) == []


@both_shapes
def test_pairs_of_wires_are_bound(shape: str) -> None:
    w, rng = run(RECEIVE[shape].tape, flat(shape, HONEST[shape])), random.Random(1)
    n_fixed = 1 + len(RECEIVE[shape].r1cs.public)
    assert passing_pairs(RECEIVE[shape].r1cs, w.r1cs(), n_fixed, 25, rng) == []
    assert passing_pairs(RECEIVE[shape].square, w.square(), n_fixed, 25, rng) == []


@pytest.mark.parametrize("excess", [1 << 128, 1 << 200])
def test_a_leaf_that_is_no_bitmap_is_refused(excess: int) -> None:
    inputs = flat("wide", secrets("wide"))
    inputs["nullifier_leaf"] += excess
    circuit = RECEIVE["wide"]
    assert "the leaf is below 2^128" in {row.label for row in circuit.failures(run(circuit.tape, inputs))}

"""The three relations over Pedersen, both tree shapes, against their oracle, and every line of the security list that applies to them.

The large circuits are built once for the whole file, when a test first asks for them.
"""

import random
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from bonsai_circuits.errors import InputError
from bonsai_circuits.keys.domain import smallest_domain
from bonsai_circuits.native.jubjub import ORDER
from bonsai_circuits.pipeline import Compiled
from bonsai_circuits.witness.inputs import flatten_inputs
from bonsai_circuits.witness.runner import run
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.reference import relations as reference
from tests.reference.relations import Pedersen
from tests.support import broken, cheated, loose_wires
from tests.support import circuit as built

AMOUNT = 2**64
SHAPES = ("classic", "wide")
SEND = {"A": 7, "fee": 10, "b": 1000, "v": 100, "root": 2**200 + 1, "rec": 9, "s": 11, "s_new": 12, "t": 13}
OUTPUTS = {
    "send": ("com", "com_new", "rho"),
    "recv": ("com", "com_new", "root_rho"),
    "op": ("com", "com_new", "rho", "root_rho"),
}
trees = pytest.mark.parametrize("shape", SHAPES)
tree_relations = pytest.mark.parametrize(("relation", "shape"), [(r, s) for r in ("recv", "op") for s in SHAPES])

Inputs = dict[str, Any]


def circuit(relation: str, shape: str = "none") -> Compiled:
    return built(relation, "pedersen", shape)


def path(widths: tuple[int, ...], rng: random.Random, bits: int = 255) -> list[list[int]]:
    return [[rng.randrange(min(R, 2**bits)) for _ in range(2**width - 1)] for width in widths]


def secrets(relation: str, shape: str, seed: int = 1, receive: int = 1) -> Inputs:
    """The inputs of a receive, or of an operation of either kind; root_rho is that of the opened receipt where it matters."""
    rng = random.Random(f"{relation} {shape} {seed}")
    element, blinding = (lambda: rng.randrange(R)), (lambda: rng.randrange(ORDER))
    pid, flags = rng.getrandbits(40), 2 ** Pedersen.flag_bits[shape]
    widths = tuple(Pedersen.nullifier_widths[shape])
    nullifier_path = path(widths, rng)
    if shape == "wide":
        nullifier_path[0] = [rng.getrandbits(128)]
    w: Inputs = {
        "A": element(),
        "fee": 10,
        "b": 1000,
        "v": 500,
        "pid": pid,
        "sen": element(),
        "s": blinding(),
        "s_new": blinding(),
        "nullifier_leaf": rng.getrandbits(flags) & ~(1 << pid % flags),
        "receipt_path": path((1,) * 40, rng),
        "nullifier_path": nullifier_path,
    }
    if relation == "recv":
        return w | {"t": blinding()}
    return w | {"receive": receive, "rec": 0 if receive else element(), "t": blinding(), "t_in": blinding()}


def outputs(relation: str, shape: str, w: Mapping[str, Any]) -> dict[str, int] | None:
    """The public inputs that the oracle computes."""
    if relation == "send":
        found: tuple[int | None, ...] | None = reference.send_outputs(w, Pedersen)
    elif relation == "recv":
        found = reference.receive_outputs(shape, w, Pedersen)
    else:
        found = reference.operation_outputs(shape, w, Pedersen)
    if found is None:
        return None
    return {name: x for name, x in zip(OUTPUTS[relation], found, strict=True) if x is not None}


def honest(relation: str, shape: str, w: Mapping[str, Any]) -> Inputs:
    """The inputs with the oracle's public ones; any root_rho where none is asked for."""
    made = outputs(relation, shape, w)
    assert made is not None
    return {"root_rho": 12345} | dict(w) | made if relation != "send" else dict(w) | made


def satisfied(relation: str, shape: str, inputs: Mapping[str, Any]) -> bool:
    """The verdict of both systems; an eliminated input is one that only the trace has."""
    c = circuit(relation, shape)
    traced, r1cs, square = broken(c, run(c.tape, flatten_inputs(inputs)))
    assert bool(r1cs) == bool(square), "the systems disagree"
    assert traced or not r1cs
    return not traced


@cache
def example(relation: str, shape: str, receive: int = 1) -> Inputs:
    return honest(relation, shape, SEND if relation == "send" else secrets(relation, shape, 1, receive))


# Counts ------------------------------------------------------------------------------------------------------------------------

COUNTS = {
    ("send", "none"): ((4628, 5278), (4800, 5500)),
    ("recv", "classic"): ((141348, 163282), (149500, 173000)),
    ("recv", "wide"): ((125391, 144601), (135000, 156000)),
    ("op", "classic"): ((143248, 165494), (151500, 175500)),
    ("op", "wide"): ((127285, 146807), (137000, 158500)),
}


@pytest.mark.parametrize(("relation", "shape"), COUNTS)
def test_relation_is_at_its_counts(relation: str, shape: str) -> None:
    """The numbers are those of the compiled system and change only on purpose; the ceilings are what was promised."""
    counts, ceilings = COUNTS[relation, shape]
    c = circuit(relation, shape)
    assert (c.r1cs.n_rows, c.square.n_rows) == counts
    assert all(count <= ceiling for count, ceiling in zip(counts, ceilings, strict=True))
    assert c.square.n_rows <= 1.34 * c.r1cs.n_rows
    if shape == "wide":
        assert smallest_domain(c.square.n_rows).size == 19 * 2**13


def test_public_inputs_stand_in_their_order() -> None:
    assert circuit("send").r1cs.public == ("A", "com", "com_new", "rho", "fee")
    for shape in SHAPES:
        assert circuit("recv", shape).r1cs.public == ("A", "com", "com_new", "root_rho", "fee")
        assert circuit("op", shape).r1cs.public == ("A", "com", "com_new", "rho", "root_rho", "fee")


# Equality with the oracle -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"v": 0, "b": 10},
        {"v": 0, "b": AMOUNT - 1},
        {"v": AMOUNT - 1 - 10, "b": AMOUNT - 1},
        {"fee": 0, "b": 100},
        {"b": 110},
        {"root": 0, "s": 0, "s_new": 0, "t": 0, "rec": 0, "A": 0},
        {"root": R - 1, "s": ORDER - 1, "s_new": ORDER - 1, "t": ORDER - 1, "rec": R - 1, "A": R - 1},
        {"root": 1, "s": 1, "s_new": 2, "t": ORDER - 2, "rec": 7},
        {"fee": R - 1},  # minus one: the fee is public, and the ledger sets it; the relation does not bound it
        *(
            {name: random.Random(f"{name} {i}").randrange(ORDER) for name in ("A", "root", "rec", "s", "t")}
            for i in range(6)
        ),
    ],
)
def test_send_computes_the_outputs_of_the_oracle(change: Inputs) -> None:
    c, inputs = circuit("send"), SEND | change
    w = run(c.tape, inputs)
    assert {name: w.public()[name] for name in OUTPUTS["send"]} == outputs("send", "none", inputs)
    assert not any(broken(c, w))


EDGES: tuple[Inputs, ...] = (
    {"pid": 0},
    {"pid": 2**40 - 1},
    {"nullifier_leaf": "all"},
    {"v": 0, "fee": 0},
    {"b": 0, "v": AMOUNT - 1},
    {"A": 0, "sen": 0, "s": 0, "s_new": 0},
    {"A": R - 1, "sen": R - 1, "s": ORDER - 1, "s_new": ORDER - 1},
)


@tree_relations
@pytest.mark.parametrize("i", range(len(EDGES) + 2))
def test_relation_computes_the_outputs_of_the_oracle(relation: str, shape: str, i: int) -> None:
    c = circuit(relation, shape)
    for receive in (0, 1) if relation == "op" and i % 2 else (1,):
        w = secrets(relation, shape, i, receive) | (EDGES[i] if i < len(EDGES) else {})
        if receive == 0:
            w |= {"b": AMOUNT - 1, "v": min(w["v"], AMOUNT - 11)}
        flags = 2 ** Pedersen.flag_bits[shape]
        bit = 1 << w["pid"] % flags
        w["nullifier_leaf"] = (2**flags - 1 if w["nullifier_leaf"] == "all" else w["nullifier_leaf"]) & ~bit
        inputs = honest(relation, shape, w)
        result = run(
            c.tape,
            flatten_inputs(
                {k: v for k, v in inputs.items() if k not in OUTPUTS[relation]}
                | ({"root_rho": inputs["root_rho"]} if relation == "op" else {})
            ),
        )
        assert {name: result.public()[name] for name in OUTPUTS[relation]} == {
            name: inputs[name] for name in OUTPUTS[relation]
        }
        assert not any(broken(c, result))


# What must never pass ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"v": AMOUNT},  # a 65-bit value
        {"v": AMOUNT, "b": AMOUNT + 1000},
        {"v": R - 1},  # minus one: the account would gain
        {"v": R - 100, "b": 0},
        {"v": 991},  # b - v - fee = -1
        {"fee": 901},
        {"fee": 1001, "v": 0},  # fee > b
        {"b": AMOUNT + 110},  # the change has 65 bits
        {"b": AMOUNT, "v": 100},  # the balance has 65 bits, the change 64
        {"b": 0},
        {"v": pow(2, -1, R)},
    ],
)
def test_send_rejects_amounts_out_of_range(change: Inputs) -> None:
    assert not satisfied("send", "none", SEND | change)


AMOUNTS: tuple[Inputs, ...] = (
    {"v": AMOUNT},
    {"v": R - 1},
    {"b": AMOUNT},
    {"b": R - 1, "fee": 0},
    {"v": AMOUNT - 1},  # b + v - fee has 65 bits
    {"fee": 1501},  # b + v - fee = -1
    {"v": pow(2, -1, R)},
)


@tree_relations
def test_amounts_out_of_range_are_rejected(relation: str, shape: str) -> None:
    w = secrets(relation, shape) | {"root_rho": example(relation, shape)["root_rho"]}
    for change in AMOUNTS:
        assert not satisfied(relation, shape, w | change), change


@pytest.mark.parametrize(
    ("relation", "shape", "receive"),
    [
        ("send", "none", 0),
        *((r, s, k) for r in ("recv", "op") for s in SHAPES for k in ((0, 1) if r == "op" else (1,))),
    ],
)
def test_an_input_that_the_outputs_were_not_made_with_is_rejected(relation: str, shape: str, receive: int) -> None:
    """Any input changed alone, a sibling on each kind of level as well; what a send does not look at may be anything."""
    inputs = flatten_inputs(example(relation, shape, receive))
    c = circuit(relation, shape)
    assert satisfied(relation, shape, inputs)
    names = [name for name in inputs if "[" not in name]
    names += [
        name for name in ("nullifier_path[0][0]", "nullifier_path[5][0]", "nullifier_path[16][0]") if name in inputs
    ]
    names += [name for name in ("receipt_path[0][0]", "receipt_path[20][0]", "receipt_path[39][0]") if name in inputs]
    free = {"root_rho", "sen", "t_in"} if relation == "op" and not receive else set()
    for name in names:
        if name == "nullifier_leaf":
            flags = 2 ** Pedersen.flag_bits[shape]
            changed = inputs[name] ^ 1 << ((inputs["pid"] + 1) % flags)
        elif name == "pid":  # a send may name any free position of the same leaf
            changed = inputs[name] ^ 1 << 39
        else:
            changed = inputs[name] ^ 1 if name in ("receive", "nullifier_path[0][0]") else (inputs[name] + 1) % R
        ignored = name in free or (name.startswith("receipt_path") and bool(free))
        w = run(c.tape, inputs | {name: changed})
        assert bool(broken(c, w)[0]) != ignored, name


@tree_relations
def test_a_position_is_forty_bits_and_free(relation: str, shape: str) -> None:
    inputs = example(relation, shape)
    flags = 2 ** Pedersen.flag_bits[shape]
    for change in (
        {"pid": inputs["pid"] + 2**40},
        {"pid": R - 1},
        {"pid": inputs["pid"] ^ 2**39},
        {"nullifier_leaf": inputs["nullifier_leaf"] | 1 << inputs["pid"] % flags},  # claimed before
        {"nullifier_leaf": 2**flags},
    ):
        made = dict(inputs) | change
        assert not satisfied(relation, shape, made), change
        recomputed = {
            k: v for k, v in made.items() if k not in OUTPUTS[relation] or (relation == "op" and k == "root_rho")
        }
        if "nullifier_leaf" in change and change["nullifier_leaf"] < 2**flags:
            assert not satisfied(relation, shape, recomputed), "a receipt is claimed twice"


@tree_relations
def test_paths_of_another_length_are_refused(relation: str, shape: str) -> None:
    c, inputs = circuit(relation, shape), example(relation, shape)
    for name in ("receipt_path", "nullifier_path"):
        for levels in (inputs[name][:-1], [*inputs[name], [1]], []):
            with pytest.raises(InputError, match=name):
                run(c.tape, flatten_inputs(dict(inputs) | {name: levels}))


@tree_relations
def test_wires_of_the_position_that_are_no_bits_are_rejected(relation: str, shape: str) -> None:
    c, inputs = circuit(relation, shape), flatten_inputs(example(relation, shape))
    for wire in (0, 2, 7, 8, 20, 39):
        for value in (2, R - 1, pow(2, -1, R)):
            w = cheated(c, inputs, {f"{relation}/bits[40]/bit_{wire}": value})
            assert broken(c, w)[0]


@trees
def test_a_branch_bit_that_is_no_bit_is_rejected(shape: str) -> None:
    c, inputs = circuit("op", shape), flatten_inputs(example("op", shape))
    (wire,) = [name for name in c.traced.wire_names if name.startswith("op/bits[1]/")]
    for value in (2, R - 1, pow(2, -1, R)):
        w = cheated(c, inputs | {"receive": value}, {wire: value})
        assert all(broken(c, w))


@trees
def test_exactly_one_of_the_two_relations_is_enforced(shape: str) -> None:
    """The outputs of a send with the secrets of a receive, and the other way round."""
    received, sent = example("op", shape, 1), example("op", shape, 0)
    assert satisfied("op", shape, received)
    assert satisfied("op", shape, sent)
    assert not satisfied("op", shape, dict(received) | {"receive": 0})
    assert not satisfied("op", shape, dict(sent) | {"receive": 1})
    assert not satisfied("op", shape, dict(received) | {"rec": 5})  # a receive pays nobody
    without = {k: v for k, v in received.items() if k not in ("com", "com_new", "rho")}
    assert not satisfied("op", shape, without | {"rec": 5})


@trees
def test_nobody_claims_a_dummy(shape: str) -> None:
    """A dummy is Com_rec(0, A, 0; t): to claim it, an account needs identifier 0, and a value of its own does not help."""
    w = secrets("recv", shape) | {"v": 0}
    dummy = Pedersen.com_rec(0, w["sen"], 0, w["t"])
    root = reference.receipt_root(shape, w["pid"], dummy, w["receipt_path"], Pedersen)
    assert not satisfied("recv", shape, w | {"root_rho": root})
    assert not satisfied("recv", shape, w | {"root_rho": root, "v": 1})


@trees
def test_a_receipt_is_no_inner_node_and_no_other_receipt(shape: str) -> None:
    """root_rho with the receipt one level up, and with another value or receiver."""
    w = secrets("recv", shape)
    receipt = Pedersen.com_rec(w["v"], w["sen"], w["A"], w["t"])
    raised = reference.receipt_root(shape, w["pid"] >> 1, receipt, [*w["receipt_path"][1:], [0]], Pedersen)
    other = Pedersen.com_rec(w["v"] + 1, w["sen"], w["A"], w["t"])
    foreign = Pedersen.com_rec(w["v"], w["sen"], w["A"] ^ 1, w["t"])
    for leaf in (other, foreign):
        root = reference.receipt_root(shape, w["pid"], leaf, w["receipt_path"], Pedersen)
        assert not satisfied("recv", shape, w | {"root_rho": root})
    assert not satisfied("recv", shape, w | {"root_rho": raised})


@trees
def test_the_two_nullifier_roots_have_the_same_siblings(shape: str) -> None:
    """One bit of a sibling changed on its way: both roots change, so com is not opened any more."""
    c, inputs = circuit("recv", shape), flatten_inputs(example("recv", shape))
    level = 7
    pid, flags = inputs["pid"], Pedersen.flag_bits[shape]
    digit = reference.digits_of(pid >> flags, Pedersen.nullifier_widths[shape])[level]
    sibling = 0 if digit else 1
    name = f"recv/nullifier_tree/level_{level}/child_{sibling}/bit_3"
    honest_value = run(c.tape, inputs).registers[c.traced.wire_names.index(name)].any()
    w = cheated(c, inputs, {name: 0 if honest_value else 1})
    assert {row.label for row in broken(c, w)[0]} == {
        "com opens to (b, root; s)",
        "com_new opens to (b + v - fee, root_new; s_new)",
    }


@pytest.mark.parametrize(("relation", "shape"), COUNTS)
def test_every_private_wire_is_bound(relation: str, shape: str) -> None:
    """No private wire of either system can be changed alone, in a send and in a receive."""
    c = circuit(relation, shape)
    for receive in (0, 1) if relation == "op" else (1,):
        w = run(c.tape, flatten_inputs(example(relation, shape, receive)))
        n_fixed = 1 + len(c.r1cs.public)
        assert loose_wires(c.r1cs, w.r1cs(), n_fixed) == []
        assert loose_wires(c.square, w.square(), n_fixed) == []


def test_blindings_are_below_the_order() -> None:
    """As in the clear: the circuit binds digits, and those of s + r_J stand for the same multiple of R, so inputs are refused."""
    honest_send = example("send", "none")
    for s in (honest_send["s"] + ORDER, ORDER, R - 1):
        with pytest.raises(InputError, match=r"^s: is not below"):
            satisfied("send", "none", honest_send | {"s": s})
    assert not satisfied("send", "none", honest_send | {"s": honest_send["s"] + 1})

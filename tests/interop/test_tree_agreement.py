"""Receive and operation over both hashes and both tree shapes: our circuit, the circom program and the oracle give the same verdict."""

import random
import re
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bonsai_circuits.errors import InputError, ToolFailed
from bonsai_circuits.interop.circom import calculate_witness, calculate_witnesses
from bonsai_circuits.interop.circom_templates import circom_inputs, render
from bonsai_circuits.interop.r1cs_file import read_r1cs
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.reference import pedersen as plain_pedersen
from tests.reference import poseidon as plain
from tests.reference import relations

from .twins import AMOUNT, BLINDINGS, HALF, POSITIONS, ROWS, Case, Inputs, Twins, check_with_snarkjs, undetermined

OVER_TREES = [circuit for circuit in ROWS if not circuit.startswith("send")]
WIDE = [circuit for circuit in OVER_TREES if circuit.endswith("wide")]
N_CASES, N_PLACES, N_HONEST = 200, 4, 30
FILLED = {"poseidon": ("receipt_path", 1), "pedersen": ("nullifier_path", 0)}  # a level that is narrower than others


@pytest.fixture(scope="module", autouse=True)
def remembered_hashes() -> Iterator[None]:
    """The oracle hashes slowly, and inputs that differ in one number share most of their nodes."""
    poseidon = cache(lambda inputs, tag: plain.poseidon(list(inputs), tag))
    quaternary = cache(plain_pedersen.quaternary_crh)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relations, "poseidon", lambda inputs, tag: poseidon(tuple(inputs), tag))
        patch.setattr(plain_pedersen, "merkle_crh", cache(plain_pedersen.merkle_crh))
        patch.setattr(plain_pedersen, "quaternary_crh", lambda tag, children: quaternary(tag, tuple(children)))
        patch.setattr(relations.Pedersen, "com_acct", cache(plain_pedersen.com_acct))
        patch.setattr(relations.Pedersen, "com_rec", cache(plain_pedersen.com_rec))
        yield


@pytest.fixture(scope="module", params=OVER_TREES)
def twins(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Twins:
    return Twins.of(request.param, tmp_path_factory.mktemp(request.param))


def base(twins: Twins, **changes: Any) -> Inputs:
    """One honest input of plain numbers, changed, with the outputs that belong to it."""
    inputs: Inputs = {
        "A": 11,
        "fee": 3,
        "b": 1000,
        "v": 70,
        "pid": 0xA5_1234_5678,
        "sen": 12,
        "s": 13,
        "s_new": 14,
        "t": 15,
        "nullifier_leaf": 0b1011 if twins.flags else 0,
        **twins.paths(lambda name, level, j: 100 * level + j + (7000 if name == "nullifier_path" else 0)),
    }
    if twins.relation == "op":
        inputs |= {"receive": 1, "rec": 0, "t_in": 16, "root_rho": 17}
    return twins.completed(inputs, **changes)


def edges(twins: Twins) -> Iterator[Case]:
    """What both relations have in common; the account receives."""

    def case(label: str, accepted: bool, inputs: Inputs, **forged: int) -> Case:
        return Case(label, inputs | forged, accepted)

    honest = base(twins)
    yield case("honest", True, honest)
    zero: Inputs = dict.fromkeys(("A", "b", "v", "fee", "pid", "sen", "s", "s_new", "t", "nullifier_leaf"), 0)
    yield case("all zero", True, base(twins, **zero))
    largest = {name: twins.below(name) - 1 for name in ("A", "sen", "s", "s_new", "t")}
    yield case("all as large as can be", True, base(twins, **largest))
    yield case("the last position", True, base(twins, pid=POSITIONS - 1))
    yield case("the new balance is 0", True, base(twins, b=0, v=3))
    yield case("the new balance is 2^64 - 1", True, base(twins, b=AMOUNT - 1, v=3))
    yield case("the new balance is -1", False, base(twins, b=0, v=2))
    yield case("the new balance is 2^64", False, base(twins, b=AMOUNT - 1, v=4))
    yield case("the new balance is r - 1 - 2^64", False, base(twins, b=R - AMOUNT - 68))
    yield case("fee above b + v", False, base(twins, fee=1071))
    yield case(
        "a fee of minus one", True, base(twins, fee=R - 1)
    )  # public, and set by the ledger: no relation bounds it
    yield case("pid = 2^40", False, base(twins, pid=POSITIONS))
    yield case("pid + 2^40", False, base(twins, pid=honest["pid"] + POSITIONS))
    yield case("pid = r - 1", False, base(twins, pid=R - 1))
    for name in twins.ours.r1cs.public:
        for value in (honest[name] + 1, 0, R - 1):
            yield case(f"{name} = {value}", False, honest, **{name: value})
    yield case("swapped commitments", False, honest, com=honest["com_new"], com_new=honest["com"])
    before, after = twins.nullifier_roots(honest)
    b, s, s_new = honest["b"], honest["s"], honest["s_new"]
    balance = b + honest["v"] - honest["fee"]
    yield case("the position is not taken", False, honest, com_new=twins.suite.com_acct(balance, before, s_new))
    yield case("the position was taken before", False, honest, com=twins.suite.com_acct(b, after, s))
    yield case("the fee is not paid", False, honest, com_new=twins.suite.com_acct(balance + 3, after, s_new))
    blinding = honest["t_in" if twins.relation == "op" else "t"]
    roots = {
        "a dummy receipt": twins.receipt_root(honest, twins.suite.com_rec(0, honest["sen"], 0, blinding)),
        "another's receipt": twins.receipt_root(honest, twins.suite.com_rec(70, honest["sen"], 18, blinding)),
        "a receipt of less": twins.receipt_root(honest, twins.suite.com_rec(69, honest["sen"], honest["A"], blinding)),
        "an inner node as the receipt": root_without_leaves(
            twins, honest, twins.suite.com_rec(70, honest["sen"], honest["A"], blinding)
        ),
        "the receipt elsewhere": base(twins, pid=honest["pid"] ^ 1)["root_rho"],
    }
    for label, root in roots.items():
        yield case(label, False, honest, root_rho=root)
    if flags := twins.flags:
        place, all_taken = 1 << honest["pid"] % flags, 2**flags - 1
        yield case("claimed twice", False, base(twins, nullifier_leaf=0b1011 | place))
        yield case("claimed twice, all taken", False, base(twins, nullifier_leaf=all_taken))
        yield case("all others taken", True, base(twins, nullifier_leaf=all_taken ^ place))
        yield case("a flag too many", False, honest, nullifier_leaf=honest["nullifier_leaf"] + 2**flags)
        for pid in (pid for pid in (0, 1, 7, 8, 15, 31, 32, 64, 127) if pid < flags):
            yield case(f"place {pid} is free", True, base(twins, pid=pid, nullifier_leaf=all_taken ^ (1 << pid)))
            yield case(f"place {pid} is taken", False, base(twins, pid=pid, nullifier_leaf=1 << pid))
    if twins.hash == "pedersen":
        for name in (name for name in BLINDINGS if name in honest):
            yield case(f"{name} is too large", False, honest, **{name: R - 1})


def root_without_leaves(twins: Twins, inputs: Inputs, node: int) -> int:
    """The root of a receipt tree whose lowest level is missing: `node` stands where the receipt's parent would."""
    digits = relations.digits_of(inputs["pid"], twins.suite.receipt_widths[twins.shape])
    for level, (digit, siblings) in enumerate(zip(digits[1:], inputs["receipt_path"][1:], strict=True), start=1):
        node = twins.suite.receipt_node(twins.shape, level, [*siblings[:digit], node, *siblings[digit:]])
    return node


def edges_of_receive(twins: Twins) -> Iterator[Case]:
    """A Poseidon receipt holds what its maker put in; a Pedersen one has 64 bits for it, and an account for its balance."""
    free = twins.hash == "poseidon"
    yield Case("v = r - 5", base(twins, v=R - 5), free)
    yield Case("v = 2^64", base(twins, v=AMOUNT, fee=AMOUNT - 5), free)
    yield Case("b = 2^64", base(twins, b=AMOUNT, fee=100), free)
    yield Case("b = r - 1", base(twins, b=R - 1), free)


def edges_of_operation(twins: Twins) -> Iterator[Case]:
    """The two branches, and what belongs to the other one."""
    received, sent = base(twins), base(twins, receive=0, rec=19)
    for kind, honest in (("receives", received), ("sends", sent)):
        free = twins.hash == "poseidon"  # b is as far out of range
        yield Case(f"{kind}, v = 2^64 - 1", base_of(twins, honest, v=AMOUNT - 1), free)
        yield Case(f"{kind}, v = 2^64", base_of(twins, honest, v=AMOUNT), False)
        yield Case(f"{kind}, v = r - 1", base_of(twins, honest, v=R - 1), False)
        for bit in (2, R - 1, HALF):
            yield Case(f"{kind}, receive = {bit}", twins.completed(honest, receive=bit), False)
            yield Case(f"{kind}, receive = {bit}, outputs left", honest | {"receive": bit}, False)
        yield Case(f"{kind}, the other bit, outputs left", honest | {"receive": 1 - honest["receive"]}, False)
    yield Case("sends", sent, True)
    yield Case("sends to nobody", twins.completed(sent, rec=0), True)
    yield Case("sends 2^64 - 4", twins.completed(sent, v=AMOUNT - 4, b=AMOUNT - 1), True)
    yield Case("receives 2^64 - 1", twins.completed(received, v=AMOUNT - 1, b=0), True)
    yield Case("sends all", twins.completed(sent, b=73), True)
    yield Case("sends more than all", twins.completed(sent, b=72), False)
    for root in (0, R - 1, received["root_rho"]):
        yield Case(f"sends, and any root_rho will do: {root}", sent | {"root_rho": root}, True)
    yield Case("receives, and the dummy has a receiver", twins.completed(received, rec=19), False)
    v, a, t = received["v"], received["A"], received["t"]
    before, after = twins.nullifier_roots(sent)
    b, s_new = sent["b"], sent["s_new"]
    for label, honest, forged in (
        ("receives, and rho carries v", received, {"rho": twins.suite.com_rec(v, a, 0, t)}),
        ("receives, and rho carries v to itself", received, {"rho": twins.suite.com_rec(v, a, a, t)}),
        ("sends, and rho carries nothing", sent, {"rho": twins.suite.com_rec(0, a, 19, t)}),
        ("sends, and rho goes to nobody", sent, {"rho": twins.suite.com_rec(v, a, 0, t)}),
        ("sends and gains", sent, {"com_new": twins.suite.com_acct(b + v - 3, before, s_new)}),
        ("sends and keeps v", sent, {"com_new": twins.suite.com_acct(b - 3, before, s_new)}),
        ("sends and takes a position", sent, {"com_new": twins.suite.com_acct(b - v - 3, after, s_new)}),
        ("receives and loses", received, {"com_new": twins.suite.com_acct(b - v - 3, after, s_new)}),
    ):
        yield Case(label, honest | forged, False)
    for bit in (2, R - 1, HALF):  # a mixture of both that satisfies every equation but bit^2 = bit
        mixed = {
            "receive": bit,
            "com_new": twins.suite.com_acct(
                (b - v - 3 + 2 * bit * v) % R, (before + bit * (after - before)) % R, s_new
            ),
            "rho": twins.suite.com_rec((v - bit * v) % R, a, 0, t),
        }
        yield Case(f"receive = {bit} in every formula", received | mixed, False)
    if twins.flags:
        place = 1 << sent["pid"] % twins.flags
        yield Case("sends, pid is not free", twins.completed(sent, nullifier_leaf=0b1011 | place), False)


def base_of(twins: Twins, honest: Inputs, v: int) -> Inputs:
    """The same operation with another v and the same new balance."""
    by = v - honest["v"]
    return twins.completed(honest, v=v, b=(honest["b"] - by if honest["receive"] else honest["b"] + by) % R)


def edge_cases(twins: Twins) -> list[Case]:
    return [*edges(twins), *(edges_of_operation(twins) if twins.relation == "op" else edges_of_receive(twins))]


def random_cases(twins: Twins, n: int) -> list[Case]:
    """A few places, and many operations at each."""
    rng = random.Random(f"{twins.circuit} 20261130")
    places = [twins.place(rng) for _ in range(N_PLACES)]
    honest = [twins.honest(rng, rng.choice(places)) for _ in range(N_HONEST)]
    return [
        *(Case(f"honest {i}", inputs, True) for i, inputs in enumerate(honest)),
        *(twins.changed(rng, rng.choice(honest)) for _ in range(n - N_HONEST)),
    ]


def test_ours_circom_and_the_oracle_agree(twins: Twins) -> None:
    from_circom: list[Future[list[bool]]] = []
    from_ours: list[Future[bool]] = []

    def ask(pool: Executor, cases: list[Case]) -> list[Case]:
        inputs, half = [case.inputs for case in cases], len(cases) // 2
        from_circom.extend(pool.submit(twins.verdicts_of_circom, some) for some in (inputs[:half], inputs[half:]))
        from_ours.extend(pool.submit(twins.verdict_of_ours, one) for one in inputs)
        return cases

    with ThreadPoolExecutor(4) as pool:  # two programs of circom and two of ours, while more cases are made
        batch = ask(pool, edge_cases(twins))
        batch += ask(pool, random_cases(twins, N_CASES - len(batch)))
        oracle = [twins.verdict_of_oracle(case.inputs) for case in batch]
    ours = [verdict.result() for verdict in from_ours]
    circom = [verdict for verdicts in from_circom for verdict in verdicts.result()]
    disagreements = [
        (case.label, *verdicts)
        for case, *verdicts in zip(batch, oracle, ours, circom, strict=True)
        if len(set(verdicts)) > 1 or case.accepted not in (None, verdicts[0])
    ]
    assert disagreements == []
    assert len(batch) >= N_CASES
    assert min(oracle.count(True), oracle.count(False)) > len(batch) // 5


def test_program_has_our_public_inputs_and_the_counted_rows(twins: Twins) -> None:
    system = read_r1cs(twins.program.r1cs, twins.program.sym)
    assert system.public == twins.ours.r1cs.public
    assert system.n_rows == ROWS[twins.circuit]


def test_no_wire_of_the_program_is_left_open_and_snarkjs_agrees(twins: Twins, tmp_path: Path) -> None:
    wtns, inputs = tmp_path / "witness.wtns", base(twins)
    values = calculate_witness(twins.program.wasm, circom_inputs(twins.circuit, twins.flat(inputs)), wtns)
    assert undetermined(twins.program, values, inputs) == []
    check_with_snarkjs(twins.program, wtns, len(twins.ours.r1cs.public))


@pytest.mark.parametrize("twins", ["recv-pedersen-wide"], indirect=True)
def test_a_neighbour_of_a_bitmap_is_a_bitmap(twins: Twins) -> None:
    """The oracle hashes what it is given; a circuit has 128 bits for it."""
    path = base(twins)["nullifier_path"]
    for sibling, accepted in ((2**128 - 1, True), (2**128, False), (R - 1, False)):
        inputs = base(twins, nullifier_path=[[sibling], *path[1:]])
        assert twins.verdict_of_oracle(inputs)
        assert [twins.verdict_of_ours(inputs), *twins.verdicts_of_circom([inputs])] == [accepted, accepted]


def test_nodes_over_eight_flags_are_those_of_the_oracle() -> None:
    table = re.search(r"node\[256\] = \[(.*?)\]", render("recv-pedersen-classic")["node.circom"], re.DOTALL)
    assert table is not None
    nodes = [0, 1]
    for level in range(3):
        nodes = [plain_pedersen.merkle_crh(level, left, right) for right in nodes for left in nodes]
    assert [int(x) for x in table[1].split(",")] == nodes


@pytest.mark.parametrize("twins", WIDE, indirect=True)
def test_what_fills_up_a_level_is_zero(twins: Twins) -> None:
    path, level = FILLED[twins.hash]
    honest: Inputs = circom_inputs(twins.circuit, twins.flat(base(twins)))
    assert {len(siblings) for siblings in honest[path]} == {len(honest[path][0])}
    filled = deepcopy(honest)
    filled[path][level][-1] = 1
    good, bad = calculate_witnesses(twins.program.wasm, [honest, filled], n_wires=1)
    assert not isinstance(good, ToolFailed)
    assert isinstance(bad, ToolFailed)
    assert "Path" in str(bad)


def test_elements_of_a_path_are_taken_exactly() -> None:
    wide = {
        f"receipt_path[{i}][{j}]": 1 for i, width in enumerate(relations.WIDTHS["wide"]) for j in range(2**width - 1)
    }
    wide |= {f"nullifier_path[{i}][{j}]": 2 for i in range(11) for j in range(7)}
    inputs: Inputs = circom_inputs("recv-poseidon-wide", {**wide, "fee": 3})
    assert inputs["receipt_path"] == [[1] * 7, *[[1] * 3 + [0] * 4] * 2, *[[1] * 7] * 11]
    assert inputs["nullifier_path"] == [[2] * 7] * 11
    assert inputs["fee"] == 3
    assert circom_inputs("send-poseidon", {"fee": 3}) == {"fee": 3}
    with pytest.raises(InputError, match=r"receipt_path\[1\]\[3\]"):
        circom_inputs("recv-poseidon-wide", {**wide, "receipt_path[1][3]": 1})
    with pytest.raises(InputError, match=r"nullifier_path\[4\]\[6\]"):
        circom_inputs("recv-poseidon-wide", {k: x for k, x in wide.items() if k != "nullifier_path[4][6]"})
    with pytest.raises(InputError, match=r"receipt_path\[14\]\[0\]"):
        circom_inputs("op-poseidon-classic", wide)
    narrow = {f"receipt_path[{i}][0]": 1 for i in range(40)} | {"nullifier_path[0][0]": 2}
    narrow |= {f"nullifier_path[{i}][{j}]": 2 for i in range(1, 17) for j in range(3)}
    made: Inputs = circom_inputs("op-pedersen-wide", narrow)
    assert made["nullifier_path"] == [[2, 0, 0], *[[2] * 3] * 16]
    with pytest.raises(InputError, match=r"nullifier_path\[0\]\[1\]"):
        circom_inputs("op-pedersen-wide", {**narrow, "nullifier_path[0][1]": 0})

"""Receive and operation over both tree shapes: our circuit, the circom program and the oracle give the same verdict."""

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from bonsai_circuits import Compiled, built_in
from bonsai_circuits.errors import InputError, ToolFailed, ToolMissing
from bonsai_circuits.interop import circom
from bonsai_circuits.interop.circom_templates import circom_inputs, render, simplification
from bonsai_circuits.interop.r1cs_file import read_r1cs
from bonsai_circuits.witness.inputs import flatten_inputs
from bonsai_verifier.field import ints_from_limbs
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.reference import poseidon as plain
from tests.reference import relations
from tests.support import poseidon_circuit

AMOUNT, POSITIONS, HALF = 2**64, 2**40, pow(2, -1, R)
OUTPUTS = {"recv": ("com", "com_new", "root_rho"), "op": ("com", "com_new", "rho", "root_rho")}
OFTEN = ("b", "v", "fee", "pid", "receive", "rec", "nullifier_leaf")  # what ranges, digits and branches read
ROWS = {"recv-wide": 43_344, "recv-classic": 63_107, "op-wide": 44_120, "op-classic": 63_883}  # circom 2.2.3
WIDE = ("recv-wide", "op-wide")

Inputs = dict[str, Any]  # as in an input file: numbers, and paths as lists of lists


@dataclass(frozen=True)
class Case:
    """Inputs and what is expected of them, if that is known beforehand."""

    label: str
    inputs: Inputs
    accepted: bool | None = None


def element(rng: random.Random) -> int:
    return rng.choice([0, 1, R - 1, *[rng.randrange(R)] * 5])


@dataclass(frozen=True)
class Twins:
    """One relation over one tree shape, described twice."""

    relation: str
    shape: str
    ours: Compiled
    program: circom.CompiledCircom

    @property
    def circuit(self) -> str:
        return f"{self.relation}-poseidon-{self.shape}"

    def flat(self, inputs: Inputs) -> dict[str, int]:
        """Only the wide shape has a leaf to give; the oracle takes 0 for it in the other one."""
        return flatten_inputs({k: x for k, x in inputs.items() if (k, self.shape) != ("nullifier_leaf", "classic")})

    def completed(self, inputs: Inputs, **changes: Any) -> Inputs:
        """The inputs, changed, with the public outputs that our circuit computes from them, whether or not they satisfy it."""
        inputs = {k: x for k, x in (inputs | changes).items() if k not in OUTPUTS[self.relation] or k == "root_rho"}
        if self.relation == "recv":
            inputs.pop("root_rho", None)
        elif inputs["receive"]:
            receipt = relations.com_rec(inputs["v"], inputs["sen"], inputs["A"], inputs["t_in"])
            inputs["root_rho"] = self.receipt_root(inputs, receipt)
        return inputs | self.ours.witness(self.flat(inputs)).public()

    def receipt_root(self, inputs: Inputs, receipt: int) -> int:
        return relations.receipt_root(self.shape, inputs["pid"], receipt, inputs["receipt_path"])

    def nullifier_roots(self, inputs: Inputs) -> tuple[int, int]:
        found = relations.nullifier_roots(
            self.shape, inputs["pid"], inputs["nullifier_leaf"], inputs["nullifier_path"], True
        )
        assert found is not None
        return found

    def place(self, rng: random.Random) -> Inputs:
        """A position with its two paths and, in the wide shape, a bitmap in which it is free."""
        pid = rng.choice([0, POSITIONS - 1, *[rng.randrange(POSITIONS)] * 4])
        widths, bitmap = relations.WIDTHS[self.shape], relations.BITMAP_BITS[self.shape]
        return {
            "pid": pid,
            "nullifier_leaf": rng.choice([0, 2**128 - 1, rng.getrandbits(128)]) & ~(1 << pid % 128) if bitmap else 0,
            "receipt_path": [[element(rng) for _ in range(2**width - 1)] for width in widths],
            "nullifier_path": [[element(rng) for _ in range(2**width - 1)] for width in widths[3 if bitmap else 0 :]],
        }

    def honest(self, rng: random.Random, place: Inputs) -> Inputs:
        balance, v, fee = (rng.choice([0, 1, AMOUNT - 1, rng.randrange(AMOUNT)]) for _ in range(3))
        receive = rng.getrandbits(1) if self.relation == "op" else 1
        inputs = place | {name: element(rng) for name in ("A", "sen", "s", "s_new", "t")}
        if self.relation == "op":
            inputs |= {"receive": receive, "rec": 0 if receive else element(rng)}
            inputs |= {"t_in": element(rng), "root_rho": element(rng)}
        b = (balance + fee - v if receive else balance + fee + v) % R
        return self.completed(inputs, b=b, v=v, fee=fee)

    def changed(self, rng: random.Random, honest: Inputs) -> Case:
        """Honest inputs with one number changed, the public outputs computed again or not."""
        inputs = deepcopy(honest)
        names = [name for name in inputs if (name, self.shape) != ("nullifier_leaf", "classic")]
        name = rng.choice([*names, *(name for name in OFTEN if name in names), *OUTPUTS[self.relation]])
        at: Any = inputs
        key: Any = name
        while isinstance(at[key], list):
            at, key = at[key], rng.randrange(len(at[key]))
        x = at[key]
        if name == "nullifier_leaf":
            at[key] = rng.choice([x ^ 1 << rng.randrange(128), x | 1 << inputs["pid"] % 128])
        elif name == "receive":
            at[key] = rng.choice([1 - x, 2, R - 1, HALF])
        else:
            steps = (x + 1, x - 1, x + POSITIONS, x + AMOUNT, x - AMOUNT, -1 - x, rng.randrange(R))
            at[key] = rng.choice(steps) % R
        again = name in OFTEN and rng.random() < 0.6
        label = f"{name}: {x} -> {at[key]}, outputs {'made again' if again else 'left'}"
        return Case(label, self.completed(inputs) if again else inputs)

    def verdict_of_oracle(self, inputs: Inputs) -> bool:
        """Where an output is None any value will do."""
        outputs: Callable[..., tuple[int | None, ...] | None] = {
            "recv": relations.receive_outputs,
            "op": relations.operation_outputs,
        }[self.relation]
        expected = outputs(self.shape, inputs)
        if expected is None:
            return False
        return all(x in (None, inputs[name]) for name, x in zip(OUTPUTS[self.relation], expected, strict=True))

    def verdict_of_ours(self, inputs: Inputs) -> bool:
        return not self.ours.failures(self.ours.witness(self.flat(inputs)), limit=1)

    def verdicts_of_circom(self, batch: list[Inputs]) -> list[bool]:
        """All in one process.  A refusal is a broken constraint, and an accepted input stands in the witness as our public inputs do."""
        converted = [circom_inputs(self.circuit, self.flat(inputs)) for inputs in batch]
        names, verdicts = self.ours.r1cs.public, []
        for inputs, result in zip(batch, circom.calculate_witnesses(self.program.wasm, converted), strict=True):
            verdicts.append(not isinstance(result, ToolFailed))
            if isinstance(result, ToolFailed):
                assert "Assert Failed" in str(result)
            else:
                assert ints_from_limbs(result[1 : 1 + len(names)]) == [inputs[name] for name in names]
        return verdicts


@pytest.fixture(scope="module", autouse=True)
def remembered_hashes() -> Iterator[None]:
    """The oracle hashes slowly, and inputs that differ in one number share most of their nodes."""
    remembered = cache(lambda inputs, tag: plain.poseidon(list(inputs), tag))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relations, "poseidon", lambda inputs, tag: remembered(tuple(inputs), tag))
        yield


@pytest.fixture(scope="module", params=ROWS)
def twins(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Twins:
    relation, shape = request.param.split("-")
    circuit, folder = built_in(relation, "poseidon", shape), tmp_path_factory.mktemp(request.param)
    for name, text in render(circuit.name).items():
        (folder / name).write_text(text)
    source, level = folder / f"{circuit.name}.circom", simplification(circuit.name)
    with ThreadPoolExecutor(1) as pool:
        circom_is_running = pool.submit(circom.compile_circom, source, folder, level)
        ours = poseidon_circuit(relation, shape)
    try:
        return Twins(relation, shape, ours, circom_is_running.result())
    except ToolMissing as error:
        pytest.skip(str(error))


def base(twins: Twins, **changes: Any) -> Inputs:
    """One honest input of plain numbers, changed, with the outputs that belong to it."""
    widths, bitmap = relations.WIDTHS[twins.shape], relations.BITMAP_BITS[twins.shape]
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
    }
    inputs |= {
        "nullifier_leaf": 0b1011 if bitmap else 0,
        "receipt_path": [[100 * i + j for j in range(2**width - 1)] for i, width in enumerate(widths)],
        "nullifier_path": [
            [7000 + 100 * i + j for j in range(2**width - 1)] for i, width in enumerate(widths[3 if bitmap else 0 :])
        ],
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
    yield case("all r - 1", True, base(twins, **dict.fromkeys(("A", "sen", "s", "s_new", "t"), R - 1)))
    yield case("the last position", True, base(twins, pid=POSITIONS - 1))
    yield case("the new balance is 0", True, base(twins, b=0, v=3))
    yield case("the new balance is 2^64 - 1", True, base(twins, b=AMOUNT + 2, v=0))
    yield case("the new balance is -1", False, base(twins, b=0, v=2))
    yield case("the new balance is 2^64", False, base(twins, b=AMOUNT + 3, v=0))
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
    yield case("the position is not taken", False, honest, com_new=relations.com_acct(balance, before, s_new))
    yield case("the position was taken before", False, honest, com=relations.com_acct(b, after, s))
    yield case("the fee is not paid", False, honest, com_new=relations.com_acct(balance + 3, after, s_new))
    blinding = honest["t_in" if twins.relation == "op" else "t"]
    roots = {
        "a dummy receipt": twins.receipt_root(honest, relations.com_rec(0, honest["sen"], 0, blinding)),
        "another's receipt": twins.receipt_root(honest, relations.com_rec(70, honest["sen"], 18, blinding)),
        "a receipt of less": twins.receipt_root(honest, relations.com_rec(69, honest["sen"], honest["A"], blinding)),
        "an inner node as the receipt": root_without_leaves(
            twins.shape, honest, relations.com_rec(70, honest["sen"], honest["A"], blinding)
        ),
        "the receipt elsewhere": base(twins, pid=honest["pid"] ^ 1)["root_rho"],
    }
    for label, root in roots.items():
        yield case(label, False, honest, root_rho=root)
    if twins.shape == "wide":
        place = 1 << honest["pid"] % 128
        yield case("claimed twice", False, base(twins, nullifier_leaf=0b1011 | place))
        yield case("claimed twice, all taken", False, base(twins, nullifier_leaf=2**128 - 1))
        yield case("all others taken", True, base(twins, nullifier_leaf=(2**128 - 1) ^ place))
        for pid in (0, 1, 7, 8, 31, 32, 64, 127):
            yield case(f"place {pid} is free", True, base(twins, pid=pid, nullifier_leaf=(2**128 - 1) ^ (1 << pid)))
            yield case(f"place {pid} is taken", False, base(twins, pid=pid, nullifier_leaf=1 << pid))


def root_without_leaves(shape: str, inputs: Inputs, node: int) -> int:
    """The root of a receipt tree whose lowest level is missing: `node` stands where the receipt's parent would."""
    digits = relations.digits_of(inputs["pid"], relations.WIDTHS[shape])
    for digit, siblings in zip(digits[1:], inputs["receipt_path"][1:], strict=True):
        children = [*siblings[:digit], node, *siblings[digit:]]
        node = plain.poseidon(children, 2 ** len(children) - 1)
    return node


def edges_of_receive(twins: Twins) -> Iterator[Case]:
    yield Case("v = r - 5: a receipt's maker bounds v", base(twins, v=R - 5), True)


def edges_of_operation(twins: Twins) -> Iterator[Case]:
    """The two branches, and what belongs to the other one."""
    received, sent = base(twins), base(twins, receive=0, rec=19)
    for kind, honest in (("receives", received), ("sends", sent)):
        yield Case(f"{kind}, v = 2^64 - 1", base_of(twins, honest, v=AMOUNT - 1), True)
        yield Case(f"{kind}, v = 2^64", base_of(twins, honest, v=AMOUNT), False)
        yield Case(f"{kind}, v = r - 1", base_of(twins, honest, v=R - 1), False)
        for bit in (2, R - 1, HALF):
            yield Case(f"{kind}, receive = {bit}", twins.completed(honest, receive=bit), False)
            yield Case(f"{kind}, receive = {bit}, outputs left", honest | {"receive": bit}, False)
        yield Case(f"{kind}, the other bit, outputs left", honest | {"receive": 1 - honest["receive"]}, False)
    yield Case("sends", sent, True)
    yield Case("sends to nobody", twins.completed(sent, rec=0), True)
    yield Case("sends all", twins.completed(sent, b=73), True)
    yield Case("sends more than all", twins.completed(sent, b=72), False)
    for root in (0, R - 1, received["root_rho"]):
        yield Case(f"sends, and any root_rho will do: {root}", sent | {"root_rho": root}, True)
    yield Case("receives, and the dummy has a receiver", twins.completed(received, rec=19), False)
    v, a, t = received["v"], received["A"], received["t"]
    before, after = twins.nullifier_roots(sent)
    b, s_new = sent["b"], sent["s_new"]
    for label, honest, forged in (
        ("receives, and rho carries v", received, {"rho": relations.com_rec(v, a, 0, t)}),
        ("receives, and rho carries v to itself", received, {"rho": relations.com_rec(v, a, a, t)}),
        ("sends, and rho carries nothing", sent, {"rho": relations.com_rec(0, a, 19, t)}),
        ("sends, and rho goes to nobody", sent, {"rho": relations.com_rec(v, a, 0, t)}),
        ("sends and gains", sent, {"com_new": relations.com_acct(b + v - 3, before, s_new)}),
        ("sends and keeps v", sent, {"com_new": relations.com_acct(b - 3, before, s_new)}),
        ("sends and takes a position", sent, {"com_new": relations.com_acct(b - v - 3, after, s_new)}),
        ("receives and loses", received, {"com_new": relations.com_acct(b - v - 3, after, s_new)}),
    ):
        yield Case(label, honest | forged, False)
    for bit in (2, R - 1, HALF):  # a mixture of both that satisfies every equation but bit^2 = bit
        mixed = {
            "receive": bit,
            "com_new": relations.com_acct((b - v - 3 + 2 * bit * v) % R, (before + bit * (after - before)) % R, s_new),
            "rho": relations.com_rec((v - bit * v) % R, a, 0, t),
        }
        yield Case(f"receive = {bit} in every formula", received | mixed, False)
    if twins.shape == "wide":
        place = 1 << sent["pid"] % 128
        yield Case("sends, pid is not free", twins.completed(sent, nullifier_leaf=0b1011 | place), False)


def base_of(twins: Twins, honest: Inputs, v: int) -> Inputs:
    """The same operation with another v and the same new balance."""
    by = v - honest["v"]
    return twins.completed(honest, v=v, b=(honest["b"] - by if honest["receive"] else honest["b"] + by) % R)


def cases(twins: Twins) -> list[Case]:
    """Edges first, then random ones: a few places, and many operations at each."""
    rng = random.Random(f"{twins.circuit} 20261130")
    n_places, n_honest, n_changed = (10, 50, 95) if twins.shape == "wide" else (3, 6, 12)
    places = [twins.place(rng) for _ in range(n_places)]
    honest = [twins.honest(rng, rng.choice(places)) for _ in range(n_honest)]
    return [
        *edges(twins),
        *(edges_of_operation(twins) if twins.relation == "op" else edges_of_receive(twins)),
        *(Case(f"honest {i}", inputs, True) for i, inputs in enumerate(honest)),
        *(twins.changed(rng, rng.choice(honest)) for _ in range(n_changed)),
    ]


def test_ours_circom_and_the_oracle_agree(twins: Twins) -> None:
    batch = cases(twins)
    with ThreadPoolExecutor(1) as pool:
        circom_is_running = pool.submit(twins.verdicts_of_circom, [case.inputs for case in batch])
        ours = [twins.verdict_of_ours(case.inputs) for case in batch]
        oracle = [twins.verdict_of_oracle(case.inputs) for case in batch]
    disagreements = [
        (case.label, *verdicts)
        for case, *verdicts in zip(batch, oracle, ours, circom_is_running.result(), strict=True)
        if len(set(verdicts)) > 1 or case.accepted not in (None, verdicts[0])
    ]
    assert disagreements == []
    assert len(batch) >= (200 if twins.shape == "wide" else 40)
    assert min(oracle.count(True), oracle.count(False)) > len(batch) // 5


def test_program_has_our_public_inputs_and_the_counted_rows(twins: Twins) -> None:
    system = read_r1cs(twins.program.r1cs, twins.program.sym)
    assert system.public == twins.ours.r1cs.public
    assert system.n_rows == ROWS[f"{twins.relation}-{twins.shape}"]


@pytest.mark.parametrize("twins", WIDE, indirect=True)
def test_what_fills_up_a_level_is_zero(twins: Twins) -> None:
    honest: Inputs = circom_inputs(twins.circuit, twins.flat(base(twins)))
    assert [len(level) for level in honest["receipt_path"]] == [7] * 14
    filled = deepcopy(honest)
    filled["receipt_path"][1][3] = 1
    good, bad = circom.calculate_witnesses(twins.program.wasm, [honest, filled])
    assert not isinstance(good, ToolFailed)
    assert isinstance(bad, ToolFailed)
    assert "Path" in str(bad)


@pytest.mark.parametrize("twins", WIDE, indirect=True)
def test_a_bitmap_of_129_flags_is_refused(twins: Twins) -> None:
    inputs = base(twins) | {"nullifier_leaf": base(twins)["nullifier_leaf"] + 2**128}
    assert not twins.verdict_of_oracle(inputs)
    assert twins.verdicts_of_circom([inputs]) == [False]


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

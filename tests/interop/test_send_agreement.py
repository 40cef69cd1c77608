"""Send over both hashes: ours, the circom program and the oracle say the same; snarkjs accepts our files and refuses forged ones."""

import random
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from bonsai_circuits import Compiled
from bonsai_circuits.errors import ToolFailed, ToolMissing
from bonsai_circuits.interop import circom, snarkjs
from bonsai_circuits.interop.r1cs_file import read_r1cs, write_r1cs
from bonsai_circuits.interop.wtns_file import write_wtns
from bonsai_circuits.witness.runner import run
from bonsai_verifier.field import fr_to_canonical, ints_from_limbs
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.reference import relations
from tests.support import circuit as built

from .twins import AMOUNT, ROWS, accepts, below, check_with_snarkjs, compile_twin, undetermined

OUTPUTS = ("com", "com_new", "rho")
ELEMENTS = ("A", "root", "rec", "s", "s_new", "t")

Inputs = dict[str, int]


@dataclass(frozen=True)
class Twins:
    hash: str
    ours: Compiled
    program: circom.CompiledCircom

    @property
    def outputs(self) -> "partial[tuple[int, int, int] | None]":
        return partial(relations.send_outputs, suite=relations.SUITES[self.hash])

    def below(self, name: str) -> int:
        return below(self.hash, name)

    def completed(self, inputs: Inputs, **changes: int) -> Inputs:
        """Changed, with the outputs that belong to the secrets; if there are none, with those that our circuit computes."""
        inputs = {name: x for name, x in (inputs | changes).items() if name not in OUTPUTS}
        outputs = self.outputs(inputs)
        if outputs is None:
            return inputs | run(self.ours.tape, inputs).public()
        return inputs | dict(zip(OUTPUTS, outputs, strict=True))

    def oracle(self, inputs: Inputs) -> bool:
        return relations.send(inputs, relations.SUITES[self.hash])


@pytest.fixture(scope="module", params=["poseidon", "pedersen"])
def twins(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Twins:
    circuit = f"send-{request.param}"
    program = compile_twin(circuit, tmp_path_factory.mktemp(circuit))
    return Twins(request.param, built("send", request.param, "none"), program)


def honest(twins: Twins, rng: random.Random) -> Inputs:
    """Amounts that fit, the balance too where it is hashed by its bits."""
    change, v, fee = (rng.choice([0, 1, AMOUNT - 1, rng.randrange(AMOUNT)]) for _ in range(3))
    if twins.hash == "pedersen" and change + v + fee >= AMOUNT:
        return honest(twins, rng)
    free = {name: rng.choice([0, 1, twins.below(name) - 1, rng.randrange(twins.below(name))]) for name in ELEMENTS}
    return twins.completed({**free, "b": change + v + fee, "v": v, "fee": fee})


def wrong(twins: Twins, rng: random.Random) -> Inputs:
    """Honest inputs with one number changed, the outputs computed again or not."""
    inputs = honest(twins, rng)
    name = rng.choice(["v", "b", "fee", *OUTPUTS, *ELEMENTS])
    steps = ((inputs[name] + 1), (inputs[name] + AMOUNT), -1 - inputs[name], rng.randrange(R))
    inputs[name] = rng.choice(steps) % twins.below(name)
    return twins.completed(inputs) if name in ("v", "b", "fee") and rng.random() < 0.7 else inputs


def edges(twins: Twins) -> list[Inputs]:
    """At the ends of the ranges, and beyond."""
    base = twins.completed(dict.fromkeys(ELEMENTS, 7) | {"b": 1000, "v": 70, "fee": 3})
    amounts = [
        *((0, 0, 0), (AMOUNT - 1, AMOUNT - 1, 0), (AMOUNT - 1, 0, 0), (73, 70, 3), (1000, 0, R - 1)),
        *((72, 70, 3), (AMOUNT, 0, 0), (AMOUNT, 1, 0), (AMOUNT + 10, AMOUNT, 3), (5, AMOUNT, R - AMOUNT)),
        *((1000, R - 1, 3), (R - 1, 0, 0), (0, 0, 1), (1000, pow(2, -1, R), 3)),
    ]
    return [
        *(twins.completed(base, b=b, v=v, fee=fee) for b, v, fee in amounts),
        *(twins.completed(base, **{name: x}) for name in ELEMENTS for x in (0, twins.below(name) - 1)),
        *({**base, name: x} for name in (*ELEMENTS, *OUTPUTS) for x in (0, R - 1)),
        {**base, "com": base["com_new"], "com_new": base["com"]},
        {**base, "s": 8, "s_new": 6},
    ]


def test_ours_circom_and_the_oracle_agree_on_outputs_and_on_rejections(twins: Twins) -> None:
    rng = random.Random(20261130)
    good, names = [honest(twins, rng) for _ in range(60)], twins.ours.r1cs.public
    batch = [*good, *edges(twins), *(wrong(twins, rng) for _ in range(140))]
    results = circom.calculate_witnesses(twins.program.wasm, batch, n_wires=1 + len(names))
    verdicts = [not isinstance(result, ToolFailed) for result in results]
    assert verdicts == [accepts(twins.ours, inputs) for inputs in batch]
    assert verdicts == [twins.oracle(inputs) for inputs in batch]
    assert verdicts[:60] == [True] * 60
    assert verdicts.count(False) > 100
    for inputs, result in zip(batch, results, strict=True):
        if isinstance(result, ToolFailed):
            assert "Assert Failed" in str(result)
        else:
            public = run(twins.ours.tape, inputs).public()
            assert ints_from_limbs(result) == [1, *(public[name] for name in names)] == [1, *(inputs[n] for n in names)]


def test_program_has_our_public_inputs_and_the_counted_rows(twins: Twins) -> None:
    system = read_r1cs(twins.program.r1cs, twins.program.sym)
    assert system.public == twins.ours.r1cs.public
    assert system.n_rows == ROWS[f"send-{twins.hash}"]


def test_snarkjs_accepts_our_files_and_refuses_a_forged_witness(twins: Twins, tmp_path: Path) -> None:
    r1cs, wtns = tmp_path / "circuit.r1cs", tmp_path / "witness.wtns"
    z = fr_to_canonical(run(twins.ours.tape, honest(twins, random.Random(1))).r1cs())
    write_r1cs(r1cs, twins.ours.r1cs)
    write_wtns(wtns, z)
    try:
        info = snarkjs.r1cs_info(r1cs)
    except ToolMissing as e:
        pytest.skip(str(e))  # it names the tool that is not installed
    system = twins.ours.r1cs
    assert (info.n_rows, info.n_wires, info.n_public_inputs) == (system.n_rows, system.n_wires, 5)
    assert snarkjs.wtns_check(r1cs, wtns)
    z[500, 0] ^= 1
    write_wtns(wtns, z)
    assert not snarkjs.wtns_check(r1cs, wtns)


def test_no_wire_of_the_program_is_left_open_and_snarkjs_agrees(twins: Twins, tmp_path: Path) -> None:
    """Simplified as programs over trees are: each row still defines a wire by those before it."""
    program = compile_twin(f"send-{twins.hash}", tmp_path, simplify=1)
    wtns, inputs = tmp_path / "witness.wtns", honest(twins, random.Random(2))
    values = circom.calculate_witness(program.wasm, inputs, wtns)
    assert undetermined(program, values, inputs) == []
    check_with_snarkjs(program, wtns, n_public=5)

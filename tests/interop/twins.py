"""A relation over trees as our circuit and as a circom program, the oracle's word on it, and inputs to ask all three about."""

import random
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bonsai_circuits import Compiled
from bonsai_circuits.errors import InputError, ToolFailed, ToolMissing
from bonsai_circuits.interop import circom, snarkjs
from bonsai_circuits.interop.circom_templates import circom_inputs, render, simplification
from bonsai_circuits.interop.r1cs_file import read_r1cs
from bonsai_circuits.interop.wtns_file import read_wtns, write_wtns
from bonsai_circuits.native.jubjub import ORDER
from bonsai_circuits.r1cs.system import R1CS
from bonsai_circuits.witness.inputs import flatten_inputs
from bonsai_verifier.field import fr_from_canonical, ints_from_limbs
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.reference import relations
from tests.support import circuit as built
from tests.support import loose_wires, open_wires

AMOUNT, POSITIONS, HALF = 2**64, 2**40, pow(2, -1, R)
OUTPUTS = {"recv": ("com", "com_new", "root_rho"), "op": ("com", "com_new", "rho", "root_rho")}
ROWS = {  # of the circom programs; circom 2.2.3
    "send-poseidon": 935,
    "recv-poseidon-wide": 43_344,
    "recv-poseidon-classic": 63_107,
    "op-poseidon-wide": 44_120,
    "op-poseidon-classic": 63_883,
    "send-pedersen": 6_419,
    "recv-pedersen-wide": 154_498,
    "recv-pedersen-classic": 164_444,
    "op-pedersen-wide": 157_136,
    "op-pedersen-classic": 167_082,
}
OFTEN = ("b", "v", "fee", "pid", "receive", "rec", "nullifier_leaf")  # what ranges, digits and branches read
BLINDINGS = ("s", "s_new", "t", "t_in")

Inputs = dict[str, Any]  # as in an input file: numbers, and paths as lists of lists


@dataclass(frozen=True)
class Case:
    """Inputs and what is expected of them, if that is known beforehand."""

    label: str
    inputs: Inputs
    accepted: bool | None = None


def element(rng: random.Random, below: int = R) -> int:
    return rng.choice([0, 1, below - 1, *[rng.randrange(below)] * 5])


def accepts(ours: Compiled, inputs: Mapping[str, int]) -> bool:
    """Whether the inputs may be given, and every row holds."""
    try:
        witness = ours.witness(inputs)
    except InputError:  # a blinding that is not below the order of its group
        return False
    return not ours.failures(witness, limit=1)


def below(hash_name: str, name: str) -> int:
    """How many values a secret has that is neither an amount nor a position; a Pedersen blinding is a scalar of Jubjub."""
    return ORDER if hash_name == "pedersen" and name in BLINDINGS else R


def compile_twin(circuit: str, folder: Path, simplify: int | None = None) -> circom.CompiledCircom:
    """Simplified as by `bonsai compile` unless told otherwise; without the compiler the test is skipped."""
    for name, text in render(circuit).items():
        (folder / name).write_text(text)
    try:
        level = simplification(circuit) if simplify is None else simplify
        return circom.compile_circom(folder / f"{circuit}.circom", folder, level)
    except ToolMissing as error:
        pytest.skip(str(error))  # it names the tool that is not installed


def boolean_wires(system: R1CS) -> set[int]:
    """Wires x with a row k (x - 1) x = 0, as circom writes it."""
    n_a, n_b, n_c = (np.diff(rows.start) for rows in (system.a, system.b, system.c))
    found = set()
    for i in np.nonzero((n_a == 2) & (n_b == 1) & (n_c == 0))[0].tolist():
        factor, ((wire, _),) = dict(system.a.row(i)), system.b.row(i)
        if set(factor) == {0, wire} and (factor[0] + factor[wire]) % R == 0:
            found.add(wire)
    return found


def undetermined(program: circom.CompiledCircom, values: NDArray[np.uint64], inputs: Iterable[str]) -> list[str]:
    """Private wires of a program that can be changed alone, and those that the inputs and the booleans leave open.

    In: values that satisfy it, canonical; names of the inputs, as of arrays too.
    """
    system, z = read_r1cs(program.r1cs, program.sym), fr_from_canonical(values)
    given, names = set(inputs), system.wire_names
    free = {name for name in names if name.partition("[")[0] in given} | {names[i] for i in boolean_wires(system)}
    return loose_wires(system, z, 1 + len(system.public)) + open_wires(system, z, lambda name: name in free)


def check_with_snarkjs(program: circom.CompiledCircom, wtns: Path, n_public: int) -> None:
    """In: wtns, a file of values that satisfy the program; afterwards some of them are wrong."""
    info, system = snarkjs.r1cs_info(program.r1cs), read_r1cs(program.r1cs, program.sym)
    assert (info.curve, info.n_rows, info.n_wires) == ("bls12-381", system.n_rows, system.n_wires)
    assert (info.n_outputs, info.n_public_inputs) == (0, n_public)
    assert snarkjs.wtns_check(program.r1cs, wtns)
    forged = read_wtns(wtns)
    forged[system.n_wires // 2, 0] ^= np.uint64(1)
    write_wtns(wtns, forged)
    assert not snarkjs.wtns_check(program.r1cs, wtns)


@dataclass(frozen=True)
class Twins:
    """One relation over one hash and one tree shape, described twice."""

    relation: str
    hash: str
    shape: str
    ours: Compiled
    program: circom.CompiledCircom

    @classmethod
    def of(cls, circuit: str, folder: Path) -> "Twins":
        relation, hash_name, shape = circuit.split("-")
        with ThreadPoolExecutor(1) as pool:
            circom_is_running = pool.submit(compile_twin, circuit, folder)
            ours = built(relation, hash_name, shape)
        return cls(relation, hash_name, shape, ours, circom_is_running.result())

    @property
    def circuit(self) -> str:
        return f"{self.relation}-{self.hash}-{self.shape}"

    @property
    def suite(self) -> relations.Suite:
        return relations.SUITES[self.hash]

    @property
    def flags(self) -> int:
        """Of a nullifier leaf; 0 if it has none."""
        bits = self.suite.flag_bits[self.shape]
        return 2**bits if bits else 0

    def below(self, name: str) -> int:
        return below(self.hash, name)

    def flat(self, inputs: Inputs) -> dict[str, int]:
        """The oracle takes 0 for a leaf that the circuit does not have."""
        return flatten_inputs({k: x for k, x in inputs.items() if k != "nullifier_leaf" or self.flags})

    def completed(self, inputs: Inputs, **changes: Any) -> Inputs:
        """The inputs, changed, with the public outputs that belong to them; if there are none, with those that our circuit computes."""
        inputs = {k: x for k, x in (inputs | changes).items() if k not in OUTPUTS[self.relation] or k == "root_rho"}
        outputs = self.outputs(inputs)
        if outputs is not None:
            return inputs | {name: x for name, x in outputs.items() if x is not None}
        if self.relation == "recv":
            inputs.pop("root_rho", None)
        elif inputs["receive"]:
            receipt = self.suite.com_rec(inputs["v"], inputs["sen"], inputs["A"], inputs["t_in"])
            inputs["root_rho"] = self.receipt_root(inputs, receipt)
        return inputs | self.ours.witness(self.flat(inputs)).public()

    def outputs(self, inputs: Inputs) -> dict[str, int | None] | None:
        """What the oracle computes; None for an output that may have any value."""
        found: Callable[..., tuple[int | None, ...] | None] = {
            "recv": relations.receive_outputs,
            "op": relations.operation_outputs,
        }[self.relation]
        outputs = found(self.shape, inputs, self.suite)
        return None if outputs is None else dict(zip(OUTPUTS[self.relation], outputs, strict=True))

    def receipt_root(self, inputs: Inputs, receipt: int) -> int:
        return relations.receipt_root(self.shape, inputs["pid"], receipt, inputs["receipt_path"], self.suite)

    def nullifier_roots(self, inputs: Inputs) -> tuple[int, int]:
        found = relations.nullifier_roots(
            self.shape, inputs["pid"], inputs["nullifier_leaf"], inputs["nullifier_path"], True, self.suite
        )
        assert found is not None
        return found

    def paths(self, sibling: Callable[[str, int, int], int]) -> dict[str, list[list[int]]]:
        """Both paths, sibling(path, level, j) in their places."""
        widths = {
            "receipt_path": self.suite.receipt_widths[self.shape],
            "nullifier_path": self.suite.nullifier_widths[self.shape],
        }
        return {
            name: [[sibling(name, level, j) for j in range(2**width - 1)] for level, width in enumerate(levels)]
            for name, levels in widths.items()
        }

    def place(self, rng: random.Random) -> Inputs:
        """A position with its two paths and, if there is one, a leaf in which it is free."""
        pid, flags = rng.choice([0, POSITIONS - 1, *[rng.randrange(POSITIONS)] * 4]), self.flags
        paths = self.paths(lambda *_: element(rng))
        if self.circuit.endswith("pedersen-wide"):
            paths["nullifier_path"][0] = [element(rng, 2**128)]  # a bitmap as well
        leaf = rng.choice([0, 2**flags - 1, rng.getrandbits(flags)]) & ~(1 << pid % flags) if flags else 0
        return {"pid": pid, "nullifier_leaf": leaf, **paths}

    def honest(self, rng: random.Random, place: Inputs) -> Inputs:
        receive = rng.getrandbits(1) if self.relation == "op" else 1
        secrets = ("A", "sen", "s", "s_new", "t", *(("t_in", "root_rho") if self.relation == "op" else ()))
        inputs = place | {name: element(rng, self.below(name)) for name in secrets}
        if self.relation == "op":
            inputs |= {"receive": receive, "rec": 0 if receive else element(rng)}
        return self.completed(inputs, **self.amounts(rng, bool(receive)))

    def amounts(self, rng: random.Random, receive: bool) -> dict[str, int]:
        """b, v and fee with a new balance in range; where b is hashed by its bits, with b in range too."""
        balance, v, fee = (rng.choice([0, 1, AMOUNT - 1, rng.randrange(AMOUNT)]) for _ in range(3))
        b = balance + fee - v if receive else balance + fee + v
        if self.hash == "pedersen" and not 0 <= b < AMOUNT:
            return self.amounts(rng, receive)
        return {"b": b % R, "v": v, "fee": fee}

    def changed(self, rng: random.Random, honest: Inputs) -> Case:
        """Honest inputs with one number changed, the public outputs computed again or not."""
        inputs = deepcopy(honest)
        names = [name for name in inputs if name != "nullifier_leaf" or self.flags]
        name = rng.choice([*names, *(name for name in OFTEN if name in names), *OUTPUTS[self.relation]])
        at: Any = inputs
        key: Any = name
        while isinstance(at[key], list):
            at, key = at[key], rng.randrange(len(at[key]))
        x = at[key]
        if name == "nullifier_leaf":
            at[key] = rng.choice([x ^ 1 << rng.randrange(self.flags), x | 1 << inputs["pid"] % self.flags])
        elif name == "receive":
            at[key] = rng.choice([1 - x, 2, R - 1, HALF])
        else:
            steps = (x + 1, x - 1, x + POSITIONS, x + AMOUNT, x - AMOUNT, -1 - x, rng.randrange(R))
            at[key] = rng.choice(steps) % self.below(name)
        again = name in OFTEN and rng.random() < 0.6
        label = f"{name}: {x} -> {at[key]}, outputs {'made again' if again else 'left'}"
        return Case(label, self.completed(inputs) if again else inputs)

    def verdict_of_oracle(self, inputs: Inputs) -> bool:
        """Where an output is None any value will do."""
        expected = self.outputs(inputs)
        return expected is not None and all(x in (None, inputs[name]) for name, x in expected.items())

    def verdict_of_ours(self, inputs: Inputs) -> bool:
        return accepts(self.ours, self.flat(inputs))

    def verdicts_of_circom(self, batch: list[Inputs]) -> list[bool]:
        """All in one process.  A refusal is a broken constraint, and an accepted input stands in the witness as our public inputs do."""
        names, verdicts = self.ours.r1cs.public, []
        converted = [circom_inputs(self.circuit, self.flat(inputs)) for inputs in batch]
        results = circom.calculate_witnesses(self.program.wasm, converted, n_wires=1 + len(names))
        for inputs, result in zip(batch, results, strict=True):
            verdicts.append(not isinstance(result, ToolFailed))
            if isinstance(result, ToolFailed):
                assert "Assert Failed" in str(result)
            else:
                assert ints_from_limbs(result) == [1, *(inputs[name] for name in names)]
        return verdicts

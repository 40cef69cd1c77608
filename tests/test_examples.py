"""The examples are what their script makes, and every payment satisfies the relation."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bonsai_circuits.witness.inputs import format_inputs, read_inputs
from tests.reference.relations import SUITES, operation_outputs, receive_outputs, send
from tests.support import poseidon_circuit

ROOT = Path(__file__).parents[1]
PAYMENTS = ROOT / "examples" / "payments"
OPERATIONS = ROOT / "examples" / "operations"
OUTPUTS = {"recv": ("com", "com_new", "root_rho"), "op": ("com", "com_new", "rho", "root_rho")}


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.json"))


def kind(path: Path) -> str:
    return "op" if "-op-" in path.name else "recv"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_payments_are_what_the_script_makes() -> None:
    made = {name: format_inputs(inputs) for name, inputs in script("make_payments").payments().items()}
    assert made == {path.relative_to(PAYMENTS).as_posix(): path.read_text() for path in files(PAYMENTS)}


@pytest.mark.parametrize("path", sorted(PAYMENTS.glob("*.json")), ids=lambda path: path.stem)
def test_every_payment_satisfies_send(path: Path) -> None:
    circuit = poseidon_circuit("send", "wide")
    assert circuit.failures(circuit.witness(read_inputs(path))) == []


@pytest.mark.parametrize("path", files(PAYMENTS), ids=lambda path: path.relative_to(PAYMENTS).as_posix())
def test_every_payment_is_one_of_the_oracle(path: Path) -> None:
    inputs, suite = read_inputs(path), SUITES["poseidon" if path.parent == PAYMENTS else path.parent.name]
    assert send(inputs, suite)
    assert not send(inputs | {"v": inputs["v"] + 1}, suite)


def test_the_operations_are_what_the_script_makes() -> None:
    module = script("make_operations")
    made = {
        name: {key: module.as_text(value) for key, value in inputs.items()}
        for name, inputs in module.operations().items()
    }
    assert made == {path.relative_to(OPERATIONS).as_posix(): json.loads(path.read_text()) for path in files(OPERATIONS)}


@pytest.mark.parametrize("path", sorted(OPERATIONS.glob("*.json")), ids=lambda path: path.stem)
def test_every_operation_satisfies_its_circuit(path: Path) -> None:
    circuit = poseidon_circuit(kind(path), "wide")
    inputs = read_inputs(path)
    assert circuit.failures(circuit.witness(inputs)) == []
    assert circuit.failures(circuit.witness(inputs | {"v": inputs["v"] + 1})) != []


@pytest.mark.parametrize("path", files(OPERATIONS), ids=lambda path: path.relative_to(OPERATIONS).as_posix())
def test_every_operation_is_one_of_the_oracle(path: Path) -> None:
    at = path.parent.relative_to(OPERATIONS).as_posix()
    hash_name, shape = ("poseidon", "wide") if at == "." else at.split("-")
    w = {"nullifier_leaf": 0} | {name: as_integers(value) for name, value in json.loads(path.read_text()).items()}
    outputs = {"op": operation_outputs, "recv": receive_outputs}[kind(path)](shape, w, SUITES[hash_name])
    assert outputs is not None
    for name, value in zip(OUTPUTS[kind(path)], outputs, strict=True):
        assert value == w[name] or (value is None and name == "root_rho")


def as_integers(value: Any) -> Any:
    return [as_integers(x) for x in value] if isinstance(value, list) else int(value)


@pytest.mark.parametrize("folder", [PAYMENTS, PAYMENTS / "pedersen"], ids=lambda folder: folder.name)
def test_accounts_move_from_commitment_to_commitment(folder: Path) -> None:
    last: dict[int, int] = {}
    for path in sorted(folder.glob("*.json")):
        inputs = read_inputs(path)
        assert last.get(inputs["A"], inputs["com"]) == inputs["com"]
        last[inputs["A"]] = inputs["com_new"]
    assert len(last) == 3

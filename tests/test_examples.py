"""The examples are what their script makes, and every payment satisfies the relation."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from bonsai_circuits.witness.inputs import format_inputs, read_inputs
from tests.support import poseidon_circuit

ROOT = Path(__file__).parents[1]
PAYMENTS = sorted((ROOT / "examples" / "payments").glob("*.json"))


OPERATIONS = sorted((ROOT / "examples" / "operations").glob("*.json"))


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_payments_are_what_the_script_makes() -> None:
    made = {name: format_inputs(inputs) for name, inputs in script("make_payments").payments().items()}
    assert made == {path.name: path.read_text() for path in PAYMENTS}


@pytest.mark.parametrize("path", PAYMENTS, ids=lambda path: path.stem)
def test_every_payment_satisfies_send(path: Path) -> None:
    send = poseidon_circuit("send", "wide")
    assert send.failures(send.witness(read_inputs(path))) == []


def test_the_operations_are_what_the_script_makes() -> None:
    module = script("make_operations")
    made = {
        name: {key: module.as_text(value) for key, value in inputs.items()}
        for name, inputs in module.operations().items()
    }
    assert made == {path.name: json.loads(path.read_text()) for path in OPERATIONS}


@pytest.mark.parametrize("path", OPERATIONS, ids=lambda path: path.stem)
def test_every_operation_satisfies_its_circuit(path: Path) -> None:
    circuit = poseidon_circuit("op" if "-op-" in path.name else "recv", "wide")
    inputs = read_inputs(path)
    assert circuit.failures(circuit.witness(inputs)) == []
    assert circuit.failures(circuit.witness(inputs | {"v": inputs["v"] + 1})) != []


def test_accounts_move_from_commitment_to_commitment() -> None:
    last: dict[int, int] = {}
    for path in PAYMENTS:
        inputs = read_inputs(path)
        assert last.get(inputs["A"], inputs["com"]) == inputs["com"]
        last[inputs["A"]] = inputs["com_new"]

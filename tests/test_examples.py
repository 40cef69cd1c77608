"""The examples are what their script makes, and every payment satisfies the relation."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from bonsai_circuits.witness.inputs import format_inputs, read_inputs
from tests.support import poseidon_circuit

ROOT = Path(__file__).parents[1]
PAYMENTS = sorted((ROOT / "examples" / "payments").glob("*.json"))


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_payments", ROOT / "examples" / "make_payments.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_payments_are_what_the_script_makes() -> None:
    made = {name: format_inputs(inputs) for name, inputs in script().payments().items()}
    assert made == {path.name: path.read_text() for path in PAYMENTS}


@pytest.mark.parametrize("path", PAYMENTS, ids=lambda path: path.stem)
def test_every_payment_satisfies_send(path: Path) -> None:
    send = poseidon_circuit("send", "wide")
    assert send.failures(send.witness(read_inputs(path))) == []


def test_accounts_move_from_commitment_to_commitment() -> None:
    last: dict[int, int] = {}
    for path in PAYMENTS:
        inputs = read_inputs(path)
        assert last.get(inputs["A"], inputs["com"]) == inputs["com"]
        last[inputs["A"]] = inputs["com_new"]

"""Every built-in circuit from keys to a verdict, by the commands."""

import json
from pathlib import Path

import pytest

from bonsai_circuits.pipeline import write
from bonsai_circuits.relations.builtin import BUILT_IN, NO_TREE, BuiltIn
from tests.cli.test_cli import Run
from tests.support import circuit

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(one: BuiltIn) -> Path:
    """An input file of the circuit."""
    if one.tree == NO_TREE:
        folder = EXAMPLES / "payments" / ("" if one.hash == "poseidon" else one.hash)
    else:
        folder = EXAMPLES / "operations" / ("" if one.name.endswith("poseidon-wide") else f"{one.hash}-{one.tree}")
    return min(folder.glob(f"*-{one.relation}-*.json"))


@pytest.mark.parametrize("one", BUILT_IN, ids=lambda one: one.name)
def test_a_built_in_circuit_is_proved_and_verified(
    one: BuiltIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "compiled" / one.name, circuit(one.relation, one.hash, one.tree))
    proof = tmp_path / "proof.bin"
    public = tmp_path / "proof.bin.public.json"

    def bonsai(command: str, *words: object) -> Run:
        return Run(capsys, command, one.name, "--compiled", tmp_path / "compiled", *words)

    assert bonsai("setup").code == 0
    assert bonsai("check", "--input", example(one)).code == 0
    assert bonsai("prove", "--input", example(one), "--out", proof).code == 0
    assert proof.stat().st_size == 128
    assert bonsai("verify", proof, "--allow-development").code == 0
    assert bonsai("batch-verify", proof, "--allow-development").code == 0
    honest = json.loads(public.read_text())
    assert tuple(honest) == circuit(one.relation, one.hash, one.tree).about.public
    for name, value in honest.items():
        public.write_text(json.dumps(honest | {name: str(int(value) ^ 1)}))
        done = bonsai("verify", proof, "--allow-development")
        assert (done.code, "NOT VALID" in done.out) == (1, True), name

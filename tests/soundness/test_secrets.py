"""Planted secrets are found nowhere but where they belong; what is published hides them."""

import json
import pickle
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bonsai_circuits.cli.main import run as bonsai
from bonsai_circuits.errors import KeyRefused, Unsatisfied
from bonsai_circuits.native.suite import PoseidonSuite
from bonsai_circuits.pipeline import Circuit
from bonsai_circuits.prover import pari
from bonsai_circuits.witness.inputs import format_inputs
from bonsai_verifier import decode_verifying_key, encode_verifying_key, verify
from bonsai_verifier.parameters import FR_MODULUS as R

VALUE = 1_311_768_467_294_899_695
SECRETS = {
    "b": VALUE + 2_594_073_385,
    "v": VALUE,
    "root": pow(3, 1001, R),
    "rec": pow(3, 1002, R),
    "s": pow(3, 1003, R),
    "s_new": pow(3, 1004, R),
    "t": pow(3, 1005, R),
}
INPUTS = {"A": 7, "fee": 10, **SECRETS}


def forms(x: int) -> Iterator[bytes]:
    """How a number could show: decimal, hexadecimal, bytes either way round, canonical and Montgomery."""
    for y in (x, x * 2**256 % R):
        yield str(y).encode()
        yield f"{y:x}".encode()
        yield y.to_bytes(32, "little").rstrip(b"\0")
        yield y.to_bytes(32, "big").lstrip(b"\0")


def assert_hidden(data: bytes, where: str) -> None:
    for name, secret in SECRETS.items():
        for form in forms(secret):
            assert form not in data, f"{name} is in {where}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("secrets")
    for words in (["compile", "send", "--no-circom"], ["setup", "send"]):
        assert bonsai([*words, "--compiled", str(folder / "compiled")]) == 0
    return folder


def test_planted_secrets_are_in_no_output_and_no_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "in.json").write_text(format_inputs(INPUTS))
    (folder / "wrong.json").write_text(format_inputs(INPUTS | {"com": 5}))
    common = ["send", "--compiled", str(folder / "compiled")]
    for json_flag in ([], ["--json"]):
        for words, code in (
            (["prove", *common, "--input", str(folder / "in.json"), "--out", str(folder / "p.bin"), "--timings"], 0),
            (["check", *common, "--input", str(folder / "in.json")], 0),
            (["check", *common, "--input", str(folder / "wrong.json")], 1),
            (["prove", *common, "--input", str(folder / "wrong.json"), "--out", str(folder / "q.bin")], 1),
            (["verify", *common, str(folder / "p.bin"), "--allow-development"], 0),
        ):
            assert bonsai([*words, *json_flag]) == code
            assert_hidden("".join(capsys.readouterr()).encode(), " ".join(words[:1]))
    for file in folder.rglob("*"):
        if file.is_file() and file.name not in ("in.json", "wrong.json"):
            assert_hidden(file.read_bytes(), file.name)


def test_planted_secrets_are_in_no_repr_pickle_or_traceback(folder: Path) -> None:
    circuit = Circuit.open(folder / "compiled" / "send-poseidon")
    key, w = circuit.proving_key(), circuit.witness(INPUTS | {"com": 5})
    assert_hidden(repr((w, key, circuit, circuit.failures(w))).encode(), "repr")
    assert_hidden(pickle.dumps(key.verifying_key), "pickle")
    try:
        circuit.prove(key, w)
    except Exception as e:
        assert_hidden("".join(traceback.format_exception(e)).encode(), "traceback")
    else:
        pytest.fail("a wrong witness was proved")


@pytest.mark.parametrize("wrong", ["witness", "key"])
def test_no_frame_of_the_prover_shows_the_witness(folder: Path, wrong: str) -> None:
    """A traceback that captures locals: neither the assignment nor its polynomials are in it, as limbs or as numbers."""
    circuit = Circuit.open(folder / "compiled" / "send-poseidon")
    key, square = circuit.proving_key(), circuit.square
    if wrong == "key":
        points = key.t_points.copy()
        points[100] = key.u_points[0]
        key = replace(key, t_points=points)

    def assignment() -> NDArray[np.uint64]:
        return circuit.witness(INPUTS | ({"com": 5} if wrong == "witness" else {})).square()

    try:
        pari.prove(key, square, assignment())
    except (Unsatisfied, KeyRefused) as e:
        shown = "".join(traceback.TracebackException.from_exception(e, capture_locals=True).format())
    else:
        pytest.fail("a wrong proof was made")
    assert "pari.py" in shown
    secret = assignment()[6:]
    for limb in {int(x) for x in secret.ravel() if x > 2**32}:
        assert str(limb) not in shown
    assert_hidden(shown.encode(), "traceback with locals")


def test_no_frame_of_a_check_that_ends_early_shows_the_witness(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = Circuit.open(folder / "compiled" / "send-poseidon")
    witness = circuit.witness(INPUTS | {"com": 5})

    def ends(matrix: object, z: NDArray[np.uint64]) -> None:
        raise MemoryError

    monkeypatch.setattr("bonsai_circuits.r1cs.diagnose.product", ends)
    with pytest.raises(MemoryError) as caught:
        circuit.failures(witness)
    trace = caught.value.__traceback__
    assert trace is not None
    shown = traceback.TracebackException(MemoryError, caught.value, trace.tb_next, capture_locals=True).format()
    assert_hidden("".join(shown).encode(), "traceback with locals")
    assert [frame.name for frame in traceback.extract_tb(trace)[1:]] == ["failures"]


def test_witness_file_is_private(folder: Path) -> None:
    (folder / "in.json").write_text(format_inputs(INPUTS))
    words = ["witness", "send", "--compiled", str(folder / "compiled"), "--input", str(folder / "in.json")]
    assert bonsai([*words, "--out", str(folder / "w.wtns")]) == 0
    assert (folder / "w.wtns").stat().st_mode & 0o077 == 0
    (folder / "w.wtns").unlink()


def test_values_cannot_be_tried_against_what_is_published(folder: Path) -> None:
    """Whoever knows all but the blindings tries every value: a blinding that is left out, constant or public would answer."""
    circuit, suite = Circuit.open(folder / "compiled" / "send-poseidon"), PoseidonSuite()
    inputs = INPUTS | {"v": 500, "b": 2000}
    public = circuit.witness(inputs).public()
    assert suite.receipt(500, 7, inputs["rec"], inputs["t"]) == public["rho"]
    for v in range(1001):
        for guess in (0, public["A"], public["com"]):
            assert suite.receipt(v, 7, inputs["rec"], guess) != public["rho"]
            assert suite.account(2000 - v - 10, inputs["root"], guess) != public["com_new"]


def test_a_proof_does_not_confirm_a_guessed_witness(folder: Path) -> None:
    """Proofs of one witness share no part, whichever of them is looked at: the masks are fresh, for T, for U and for v."""
    circuit = Circuit.open(folder / "compiled" / "send-poseidon")
    key, w = circuit.proving_key(), circuit.witness(INPUTS)
    proofs = [circuit.prove(key, w) for _ in range(4)]
    vk = decode_verifying_key(encode_verifying_key(key.verifying_key), allow_development=True)
    assert all(verify(vk, list(w.public().values()), proof) for proof in proofs)
    for part in (slice(48), slice(48, 96), slice(96, 128)):
        assert len({proof[part] for proof in proofs}) == len(proofs)


def test_public_file_has_the_public_inputs_and_nothing_else(folder: Path) -> None:
    (folder / "in.json").write_text(format_inputs(INPUTS))
    words = ["prove", "send", "--compiled", str(folder / "compiled"), "--input", str(folder / "in.json")]
    assert bonsai([*words, "--out", str(folder / "p.bin")]) == 0
    assert list(json.loads((folder / "p.bin.public.json").read_text())) == ["A", "com", "com_new", "rho", "fee"]

"""The command line as a user meets it: real files, exit codes, JSON on stdout alone."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bonsai_circuits.artifacts.sections import open_sections
from bonsai_circuits.cli.main import run
from bonsai_circuits.errors import FileDamaged
from bonsai_circuits.interop.circom import CompiledCircom
from bonsai_circuits.keys.proving_key import write_proving_key
from bonsai_circuits.pipeline import FILES, Circuit
from bonsai_circuits.relations.builtin import BUILT_IN
from bonsai_circuits.witness.inputs import read_inputs
from bonsai_verifier.__main__ import main as verify_records

PAYMENTS = Path(__file__).parents[2] / "examples" / "payments"
FIRST = PAYMENTS / "01-send-alice-to-bob.json"
CIRCUIT = ("send", "--hash", "poseidon")


class Run:
    """One command: its exit code, stdout and stderr."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *words: object) -> None:
        capsys.readouterr()
        self.code = run([str(word) for word in words])
        self.out, self.err = capsys.readouterr()

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """compiled/ with the send circuit and its keys."""
    compiled = tmp_path_factory.mktemp("work") / "compiled"
    for words in (["compile", *CIRCUIT, "--no-circom"], ["setup", *CIRCUIT]):
        assert run([*words, "--compiled", str(compiled)]) == 0
    return compiled


@pytest.fixture
def compiled(made: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    shutil.copytree(made, tmp_path / "compiled")
    return tmp_path / "compiled"


@pytest.fixture
def bonsai(capsys: pytest.CaptureFixture[str], compiled: Path) -> Any:
    def in_folder(command: str, *words: object) -> Run:
        return Run(capsys, command, *CIRCUIT, "--compiled", compiled, *words)

    return in_folder


@pytest.fixture
def proof(bonsai: Any, tmp_path: Path) -> Path:
    path = tmp_path / "proof.bin"
    assert bonsai("prove", "--input", FIRST, "--out", path).code == 0
    return path


def changed(tmp_path: Path, **changes: object) -> Path:
    path = tmp_path / "changed.json"
    path.write_text(json.dumps({**json.loads(FIRST.read_text()), **changes}))
    return path


def test_a_proof_is_128_bytes_and_verifies(bonsai: Any, proof: Path) -> None:
    assert proof.stat().st_size == 128
    done = bonsai("verify", proof, "--allow-development", "--json")
    assert (done.code, done.json["valid"]) == (0, True)


def test_one_witness_proved_twice_gives_two_proofs(bonsai: Any, proof: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.bin"
    assert bonsai("prove", "--input", FIRST, "--out", again).code == 0
    first, second = proof.read_bytes(), again.read_bytes()
    assert all(first[part] != second[part] for part in (slice(48), slice(48, 96), slice(96, 128)))


def test_a_development_key_must_be_allowed_by_name(bonsai: Any, proof: Path) -> None:
    done = bonsai("verify", proof)
    assert done.code == 2
    assert "--allow-development" in done.err


@pytest.mark.parametrize("position", [0, 47, 48, 95, 96, 127])
def test_a_changed_byte_never_verifies(bonsai: Any, proof: Path, position: int) -> None:
    data = bytearray(proof.read_bytes())
    data[position] ^= 1
    proof.write_bytes(data)
    assert bonsai("verify", proof, "--allow-development").code in (1, 2)


def test_another_public_input_is_a_verdict(bonsai: Any, proof: Path) -> None:
    public = proof.with_name(proof.name + ".public.json")
    public.write_text(json.dumps({**json.loads(public.read_text()), "fee": "11"}))
    done = bonsai("verify", proof, "--allow-development")
    assert (done.code, "NOT VALID" in done.out) == (1, True)


def test_of_two_missing_files_the_proof_is_named_first(bonsai: Any, proof: Path) -> None:
    public = proof.with_name(proof.name + ".public.json")
    public.unlink()
    done = bonsai("verify", proof, "--allow-development")
    assert (done.code, f"{public}: there is no such file; `bonsai prove` writes it" in done.err) == (2, True)
    proof.unlink()
    done = bonsai("verify", proof, "--allow-development")
    assert (done.code, f"{proof}: cannot be read" in done.err) == (2, True)


@pytest.mark.parametrize("size", [0, 127, 129, 10_000])
def test_a_file_of_another_size_is_malformed(bonsai: Any, proof: Path, size: int) -> None:
    proof.write_bytes(bytes(size))
    assert bonsai("verify", proof, "--allow-development").code == 2


def test_a_context_is_64_digits_and_nothing_else(bonsai: Any, proof: Path) -> None:
    for context in ("11 " * 32, "1" * 63, "xy" * 32):
        done = bonsai("verify", proof, "--allow-development", "--context", context)
        assert (done.code, "64 hexadecimal digits" in done.err) == (2, True)


def test_another_context_is_a_verdict(bonsai: Any, tmp_path: Path) -> None:
    path, context = tmp_path / "bound.bin", "07" * 32
    assert bonsai("prove", "--input", FIRST, "--out", path, "--context", context).code == 0
    assert bonsai("verify", path, "--allow-development", "--context", context).code == 0
    assert bonsai("verify", path, "--allow-development").code == 1
    assert bonsai("verify", path, "--allow-development", "--context", "07").code == 2


def test_batch_names_the_bad_proofs(bonsai: Any, proof: Path, tmp_path: Path) -> None:
    proofs = []
    for i, payment in enumerate(sorted(PAYMENTS.glob("*send*.json"))[:3]):
        path = tmp_path / f"{i}.bin"
        assert bonsai("prove", "--input", payment, "--out", path).code == 0
        proofs.append(path)
    done = bonsai("batch-verify", *proofs, "--allow-development", "--json")
    assert (done.code, done.json["valid"], done.json["n"]) == (0, True, 3)
    proofs[1].write_bytes(proofs[0].read_bytes())
    proofs[2].write_bytes(bytes(128))
    done = bonsai("batch-verify", *proofs, "--allow-development", "--json")
    assert done.code == 1
    assert [bad["index"] for bad in done.json["bad"]] == [1, 2]
    assert "proof.T" in done.json["bad"][1]["reason"]
    assert bonsai("batch-verify", *proofs, "--allow-development", "--json", "--threads", 0).json == done.json
    refused = bonsai("batch-verify", *proofs, "--allow-development", "--threads", -1)
    assert (refused.code, "threads: expected" in refused.err) == (2, True)


def test_one_unreadable_file_keeps_no_other_from_its_verdict(bonsai: Any, proof: Path, tmp_path: Path) -> None:
    lone, broken = tmp_path / "lone.bin", tmp_path / "broken.bin"
    lone.write_bytes(proof.read_bytes())
    broken.write_bytes(proof.read_bytes())
    broken.with_name("broken.bin.public.json").write_text("{")
    done = bonsai("batch-verify", lone, proof, broken, tmp_path / "missing.bin", "--allow-development", "--json")
    assert done.code == 1
    assert [bad["index"] for bad in done.json["bad"]] == [0, 2, 3]
    assert "lone.bin.public.json" in done.json["bad"][0]["reason"]


def test_proofs_with_one_stem_keep_their_own_public_inputs(bonsai: Any, tmp_path: Path) -> None:
    payments = sorted(PAYMENTS.glob("*send*.json"))[:2]
    for i, payment in enumerate(payments):
        assert bonsai("prove", "--input", payment, "--out", tmp_path / f"pay.{i}").code == 0
    assert bonsai("batch-verify", tmp_path / "pay.0", tmp_path / "pay.1", "--allow-development").code == 0


@pytest.mark.parametrize("command", ["prove", "witness"])
def test_a_folder_that_is_not_there_is_the_users_to_make(bonsai: Any, tmp_path: Path, command: str) -> None:
    done = bonsai(command, "--input", FIRST, "--out", tmp_path / "nowhere" / "out.bin")
    assert done.code == 2
    assert "nowhere" in done.err


def test_exported_records_are_what_the_verifier_alone_reads(
    bonsai: Any, compiled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proofs = []
    for i, payment in enumerate(sorted(PAYMENTS.glob("*send*.json"))[:3]):
        proofs.append(tmp_path / f"{i}.bin")
        assert bonsai("prove", "--input", payment, "--out", proofs[-1]).code == 0
    records = tmp_path / "send.records"
    done = bonsai("export-records", *proofs, "--out", records, "--json")
    names = ["A", "com", "com_new", "rho", "fee"]
    assert done.json == {
        "out": str(records),
        "n": 3,
        "record_bytes": 288,
        "public": names,
        "circuit": "send-poseidon",
    }
    expected = b""
    for proof in proofs:
        public = json.loads(proof.with_name(proof.name + ".public.json").read_text())
        expected += b"".join(int(public[name]).to_bytes(32, "little") for name in names) + proof.read_bytes()
    assert records.read_bytes() == expected
    key = str(compiled / "send-poseidon" / "verifying.key")
    assert verify_records([key, str(records), "--allow-development"]) == 0
    assert "3 of 3 valid" in capsys.readouterr().out
    fee_of_the_second = 288 + 4 * 32
    changed_fee = bytes([expected[fee_of_the_second] ^ 1])
    records.write_bytes(expected[:fee_of_the_second] + changed_fee + expected[fee_of_the_second + 1 :])
    assert verify_records([key, str(records), "--allow-development"]) == 1
    assert f"{records}[1]: " in capsys.readouterr().out


def test_records_are_made_of_proofs_and_over_none_of_them(bonsai: Any, proof: Path, tmp_path: Path) -> None:
    out = tmp_path / "records"
    assert bonsai("export-records", proof, "--out", proof).code == 2
    assert bonsai("export-records", proof, "--out", proof.with_name(proof.name + ".public.json")).code == 2
    assert bonsai("export-records", proof, proof, "--out", out).code == 0  # the same one twice is two records
    assert out.stat().st_size == 2 * 288
    for data in (proof.read_bytes()[:-1], proof.read_bytes() + b"x", b""):
        short = tmp_path / "short.bin"
        short.write_bytes(data)
        shutil.copy(proof.with_name(proof.name + ".public.json"), tmp_path / "short.bin.public.json")
        done = bonsai("export-records", short, "--out", tmp_path / "none")
        assert (done.code, "expected the 128 bytes of a proof" in done.err) == (2, True)
        assert not (tmp_path / "none").exists()


def test_a_key_from_elsewhere_can_be_checked_first(bonsai: Any, compiled: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.bin"
    assert bonsai("prove", "--input", FIRST, "--out", path, "--check-key").code == 0
    circuit = Circuit.open(compiled / "send-poseidon")
    key = circuit.proving_key()
    points = key.t_points.copy()
    points[700] = key.u_points[1]
    write_proving_key(circuit.folder / "proving.key", replace(key, t_points=points))
    done = bonsai("prove", "--input", FIRST, "--out", path, "--check-key")
    assert done.code == 2
    assert "do not prove with it" in done.err


def test_a_key_of_another_setup_is_refused_before_proving(bonsai: Any, compiled: Path, tmp_path: Path) -> None:
    key = compiled / "send-poseidon" / "proving.key"
    before = key.read_bytes()
    assert bonsai("setup", "--force").code == 0
    key.write_bytes(before)
    done = bonsai("prove", "--input", FIRST, "--out", tmp_path / "p.bin")
    assert done.code == 2
    assert "two setups" in done.err
    assert not (tmp_path / "p.bin").exists()


def test_a_wrong_witness_names_its_row_with_file_line_and_both_sides(bonsai: Any, tmp_path: Path) -> None:
    done = bonsai("check", "--input", changed(tmp_path, com="5"))
    assert done.code == 1
    assert "com opens to (b, root; s)" in done.err
    assert "bonsai_circuits/relations/send.py:" in done.err
    assert "left side" in done.err
    assert "right side" in done.err
    assert "(hidden)" in done.err


def test_values_are_shown_only_if_asked_for(bonsai: Any, tmp_path: Path) -> None:
    path = changed(tmp_path, v="123456789123456789")
    hidden, shown = (bonsai("check", "--input", path, "--json", *flag) for flag in ((), ("--show-values",)))
    assert hidden.json["failed"][0]["values"] is None
    assert "123456789123456789" not in hidden.out + hidden.err
    assert any(isinstance(row["values"], list) for row in shown.json["failed"])


def test_an_unsatisfied_witness_is_not_proved(bonsai: Any, tmp_path: Path) -> None:
    out = tmp_path / "no.bin"
    done = bonsai("prove", "--input", changed(tmp_path, v=str(2**64)), "--out", out)
    assert done.code == 1
    assert "v is below 2^64" in done.err
    assert "bonsai_circuits/relations/send.py:" in done.err
    assert "values are hidden because they may be secret; `bonsai check --show-values` prints them" in done.err
    assert not out.exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"surplus": "1"}, "there is no such input"),
        ({"fee": "x"}, "fee: expected one non-negative integer"),
        ({"fee": 1.5}, "exact integer"),
        ({"fee": [1]}, "fee: this is one number, not a list"),
        ({"fee": {}}, "fee: expected one non-negative integer"),
        ({"fee": "-1"}, "fee: expected"),
        ({"fee": str(2**255)}, "fee: is not in [0, r)"),
        ({"fee": True}, "fee: expected"),
        ({"fee": None}, "fee: expected"),
    ],
)
def test_malformed_inputs_are_named(bonsai: Any, tmp_path: Path, changes: dict[str, object], message: str) -> None:
    done = bonsai("check", "--input", changed(tmp_path, **changes))
    assert done.code == 2
    assert message in done.err


def test_large_json_integers_are_exact(bonsai: Any, tmp_path: Path) -> None:
    values = {name: int(value) for name, value in json.loads(FIRST.read_text()).items()}
    path = tmp_path / "integers.json"
    path.write_text(json.dumps(values))
    assert bonsai("check", "--input", path).code == 0


def test_a_missing_input_shows_the_expected_names(bonsai: Any, tmp_path: Path) -> None:
    path = tmp_path / "few.json"
    path.write_text('{"fee": "1"}')
    done = bonsai("check", "--input", path)
    assert done.code == 2
    assert "expected {A, fee, b, v, root, s, s_new, rec, t}" in done.err


def test_computed_public_inputs_may_be_left_out(bonsai: Any, tmp_path: Path) -> None:
    full = json.loads(FIRST.read_text())
    path, out = tmp_path / "short.json", tmp_path / "w.wtns"
    path.write_text(json.dumps({k: v for k, v in full.items() if k not in ("com", "com_new", "rho")}))
    done = bonsai("witness", "--input", path, "--out", out, "--json")
    assert done.code == 0
    assert done.json["public"] == {name: full[name] for name in ("A", "com", "com_new", "rho", "fee")}


def test_a_witness_file_can_be_checked_and_proved(bonsai: Any, tmp_path: Path) -> None:
    wtns, proof = tmp_path / "w.wtns", tmp_path / "p.bin"
    assert bonsai("witness", "--input", FIRST, "--out", wtns).code == 0
    assert bonsai("check", "--witness", wtns).code == 0
    assert bonsai("prove", "--witness", wtns, "--out", proof).code == 0
    assert bonsai("verify", proof, "--allow-development").code == 0
    data = bytearray(wtns.read_bytes())
    data[-32] ^= 1
    wtns.write_bytes(data)
    done = bonsai("check", "--witness", wtns)
    assert done.code == 1
    assert "written at" in done.err
    assert bonsai("prove", "--witness", wtns, "--out", proof).code == 1


def test_a_circuit_can_be_named_by_its_folder(capsys: pytest.CaptureFixture[str], compiled: Path) -> None:
    done = Run(capsys, "check", compiled / "send-poseidon", "--input", FIRST, "--json")
    assert (done.code, done.json) == (0, {"ok": True, "failed": []})


def test_a_folder_needs_a_separator_only_where_its_name_is_built_in(
    capsys: pytest.CaptureFixture[str], compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mine", "send"):
        shutil.copytree(compiled / "send-poseidon", tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert Run(capsys, "check", "mine", "--input", FIRST).code == 0
    (tmp_path / "send" / FILES["tape"]).unlink()
    assert Run(capsys, "check", "send", "--input", FIRST).code == 0
    assert Run(capsys, "check", "./send", "--input", FIRST).code == 2


def test_what_is_not_compiled_names_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    done = Run(capsys, "check", *CIRCUIT, "--compiled", tmp_path / "nowhere", "--input", FIRST)
    assert done.code == 2
    assert f"run `bonsai compile send --hash poseidon --compiled {tmp_path / 'nowhere'}`" in done.err


def test_an_unknown_circuit_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    done = Run(capsys, "check", "sned", "--input", FIRST)
    assert done.code == 2
    assert "send-poseidon" in done.err


def test_count_prints_the_compiled_system(capsys: pytest.CaptureFixture[str], compiled: Path) -> None:
    done = Run(capsys, "count", "--compiled", compiled, "--json")
    (count,) = done.json
    assert count == {
        "relation": "send",
        "hash": "poseidon",
        "tree": "none",
        "r1cs": 911,
        "sr1cs": 1174,
        "public": 5,
        "witness": 913,
        "domain": 1216,
        "published": {"r1cs": 1647, "sr1cs": 3303},
    }
    table = Run(capsys, "count", "--compiled", compiled)
    assert "1,647" in table.out
    assert "3,303" in table.out


def test_compiling_again_changes_nothing(capsys: pytest.CaptureFixture[str], compiled: Path) -> None:
    before = {file.name: file.read_bytes() for file in (compiled / "send-poseidon").iterdir()}
    done = Run(capsys, "compile", *CIRCUIT, "--compiled", compiled, "--no-circom")
    assert "up to date" in done.out
    forced = Run(capsys, "compile", *CIRCUIT, "--compiled", compiled, "--no-circom", "--force")
    assert forced.code == 0
    assert {file.name: file.read_bytes() for file in (compiled / "send-poseidon").iterdir()} == before


def test_a_twin_that_is_not_whole_is_compiled_again(compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, made = compiled / "send-poseidon" / "circom", []
    twin = CompiledCircom.of("send-poseidon", out)

    def compiler(source: Path, out_dir: Path, level: int) -> None:
        made.append(source.name)
        twin.wasm.parent.mkdir(exist_ok=True)
        for file in twin.files():
            file.touch()

    monkeypatch.setattr("bonsai_circuits.cli.circuits.compile_circom", compiler)
    words = ["compile", *CIRCUIT, "--compiled", str(compiled)]
    assert run(words) == run(words) == 0
    assert len(made) == 1
    for n, file in enumerate(twin.files(), start=2):
        file.unlink()
        assert run(words) == 0
        assert len(made) == n


def test_compiling_several_says_into_a_pipe_how_far_it_is(
    capsys: pytest.CaptureFixture[str], compiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bonsai_circuits.cli.circuits.BUILT_IN", [one for one in BUILT_IN if one.relation == "send"])
    done = Run(capsys, "compile", "--compiled", compiled, "--no-circom", "--json")
    steps = ["[1/2] send-poseidon: up to date", "[2/2] send-pedersen: rows, lowering, tape"]
    assert done.err.splitlines() == steps
    assert [entry["compiled"] for entry in done.json] == [False, True]
    assert Run(capsys, "compile", *CIRCUIT, "--compiled", compiled, "--no-circom").err == ""


def test_a_circuit_that_differs_from_the_lock_is_refused(capsys: pytest.CaptureFixture[str], compiled: Path) -> None:
    words = ("compile", *CIRCUIT, "--compiled", compiled, "--no-circom")
    assert Run(capsys, *words, "--update-lock").code == 0
    assert Run(capsys, *words).code == 0
    lock = compiled / "LOCK.json"
    lock.write_text(lock.read_text().replace("911", "910"))
    done = Run(capsys, *words)
    assert done.code == 2
    assert "r1cs is 911, locked 910" in done.err
    lock.write_text("{")
    assert "is not a lock" in Run(capsys, *words).err


def test_setup_keeps_keys_unless_forced(bonsai: Any, compiled: Path) -> None:
    key = compiled / "send-poseidon" / "verifying.key"
    before = key.read_bytes()
    assert bonsai("setup", "--json").json["made"] is False
    assert key.read_bytes() == before
    assert bonsai("setup", "--force", "--json").json["made"] is True
    assert key.read_bytes() != before


def test_damaged_multiples_are_found_before_they_are_used(bonsai: Any, compiled: Path, tmp_path: Path) -> None:
    path = compiled / "send-poseidon" / "proving.key"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    proof = ("prove", "--input", FIRST, "--out", tmp_path / "p.bin")
    assert bonsai(*proof).code == 0
    for words in ((*proof, "--check-key"), ("setup",)):
        done = bonsai(*words)
        assert (done.code, "section u multiples" in done.err) == (2, True)
    circuit = Circuit.open(compiled / "send-poseidon")
    key = circuit.proving_key()
    with pytest.raises(FileDamaged, match="u multiples"):
        circuit.prove(key, circuit.witness(read_inputs(FIRST)))


def test_setup_tells_what_a_key_takes(bonsai: Any, compiled: Path) -> None:
    key = compiled / "send-poseidon" / "proving.key"
    found = bonsai("setup", "--json").json
    assert found["proving_key_bytes"] == key.stat().st_size
    assert found["memory"] > 4 * 2**20
    small = bonsai("setup", "--force", "--memory", "2", "--json").json
    assert small["memory"] <= 2 * 2**20
    assert small["proving_key_bytes"] == key.stat().st_size < found["proving_key_bytes"] / 4
    kept = bonsai("setup", "--memory", "2")
    assert (kept.code, "--memory is for keys that are made" in kept.err) == (0, True)
    assert bonsai("setup", "--force", "--memory", "-1").code == 2


def test_timings_name_the_steps_and_the_peak(bonsai: Any, tmp_path: Path) -> None:
    done = bonsai("prove", "--input", FIRST, "--out", tmp_path / "p.bin", "--timings", "--threads", "2", "--json").json
    steps = ["load", "witness", "key", "rows", "transforms", "T", "challenge", "U", "verify"]
    assert sorted(done["timings"]) == sorted(steps)
    assert all(seconds >= 0 for seconds in done["timings"].values())
    assert 50 < done["peak_mib"] < 4096
    assert bonsai("prove", "--input", FIRST, "--out", tmp_path / "p.bin", "--threads", "-1").code == 2


@pytest.mark.parametrize("file", ["square.sections", "tape.sections", "traced.sections", "proving.key", "circuit.json"])
def test_a_damaged_file_is_named(bonsai: Any, compiled: Path, tmp_path: Path, file: str) -> None:
    path = compiled / "send-poseidon" / file
    data = bytearray(path.read_bytes())
    at = len(data) // 2
    if file == "proving.key":  # of which one proof does not read the multiples
        at = open_sections(path, "proving key").table["u points"].offset + 1000
    data[at] ^= 0x55
    path.write_bytes(data)
    done = bonsai("prove", "--input", FIRST, "--out", tmp_path / "p.bin")
    assert done.code == 2
    assert file in done.err


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (RuntimeError("boom"), 3, "internal error"),
        (MemoryError(), 3, "internal"),
    ],
)
def test_interruptions_and_defects_have_their_own_codes(
    bonsai: Any, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, message: str
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr("bonsai_circuits.pipeline.Circuit.witness", fails)
    done = bonsai("check", "--input", FIRST, "--json")
    assert done.code == code
    assert message in done.json["error"]["message"]


@pytest.mark.parametrize(
    ("changes", "message"), [({"surplus": "1"}, "surplus: is no public"), ({"fee": None}, "fee: ")]
)
def test_public_files_have_exactly_the_public_inputs(
    bonsai: Any, proof: Path, changes: dict[str, object], message: str
) -> None:
    public = proof.with_name(proof.name + ".public.json")
    values = {**json.loads(public.read_text()), **changes}
    public.write_text(json.dumps({name: value for name, value in values.items() if value is not None}))
    done = bonsai("verify", proof, "--allow-development")
    assert done.code == 2
    assert message in done.err


def test_errors_are_json_too(bonsai: Any, tmp_path: Path) -> None:
    done = bonsai("check", "--input", tmp_path / "missing.json", "--json")
    assert done.code == 2
    assert done.json["error"]["type"] == "InputError"


def test_piped_output_is_silent_on_success(compiled: Path) -> None:
    words = [sys.executable, "-m", "bonsai_circuits.cli.main", "check", *CIRCUIT, "--compiled", str(compiled)]
    done = subprocess.run([*words, "--input", str(FIRST), "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"ok": True, "failed": []}
    assert done.stderr == ""


def command_line(proof: Path, compiled: Path, *words: str) -> list[str]:
    started = [sys.executable, "-m", "bonsai_circuits.cli.main", "verify", *CIRCUIT, "--compiled", str(compiled)]
    return [*started, str(proof), *words]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("redirected", [">/dev/full", ">&-", "--json >/dev/full"])
def test_a_verdict_that_cannot_be_written_is_an_error(compiled: Path, proof: Path, redirected: str) -> None:
    """Exit code 1 would say that the proof is not valid, 0 that somebody was told."""
    line = ["sh", "-c", f'"$@" --allow-development {redirected}', "sh", *command_line(proof, compiled)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("error: stdout: ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_nobody_can_be_told_what_is_wrong(compiled: Path, proof: Path) -> None:
    for redirected, code in (("--json >/dev/full", 2), (">/dev/full 2>/dev/full", 2), ("2>&-", 2)):
        line = ["sh", "-c", f'"$@" {redirected}', "sh", *command_line(proof, compiled)]  # a development key is refused
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        assert done.returncode == code
        assert "Traceback" not in done.stderr
    for words in (["--help"], ["--nothing"]):
        line = ["sh", "-c", '"$@" >/dev/full 2>/dev/full', "sh", *command_line(proof, compiled, *words)]
        assert subprocess.run(line, check=False).returncode == 2


@pytest.mark.parametrize("words", [["--allow-development"], ["--allow-development", "--json"], ["--help"]])
def test_a_reader_who_is_gone_is_an_error(compiled: Path, proof: Path, words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    line = command_line(proof, compiled, *words)
    done = subprocess.run(line, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    both = subprocess.run(line, stdout=writer, stderr=writer, check=False)
    os.close(writer)
    assert (done.returncode, both.returncode) == (2, 2)
    assert "Traceback" not in done.stderr

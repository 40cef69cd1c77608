"""The arrows and the folder: nothing of another circuit, of other sources, of a damaged file is used."""

import gc
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bonsai_circuits import (
    Circuit,
    CircuitError,
    CircuitMismatch,
    FileDamaged,
    InputError,
    KeyRefused,
    build,
    relation,
    write,
)
from bonsai_circuits.errors import Unsatisfied
from bonsai_circuits.keys.consistency import check_proving_key
from bonsai_circuits.keys.proving_key import write_proving_key
from bonsai_circuits.pipeline import FILES, PROVING_KEY, is_current
from bonsai_verifier import KeyRefused as VerifierKeyRefused
from bonsai_verifier import verify


@relation(public=("x",))
def cube(c, p, w):
    p.x.must_equal(w.a * w.a * w.a)


@relation(public=("x",))
def cube_and_one(c, p, w):
    p.x.must_equal(w.a * w.a * w.a + 1)


CUBE, OTHER = build(cube.trace("cube")), build(cube_and_one.trace("other"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "cube", CUBE)
    write(tmp_path / "other", OTHER)
    return tmp_path


def test_a_circuit_works_in_memory_and_in_its_folder(folder: Path) -> None:
    for circuit in (CUBE, Circuit.open(folder / "cube")):
        key = circuit.setup_for_development()
        w = circuit.witness({"a": 3})
        assert w.public() == {"x": 27}
        assert circuit.failures(w) == []
        assert verify(key.verifying_key, [27], circuit.prove(key, w))


@pytest.mark.parametrize("enabled", [True, False])
def test_building_leaves_the_collector_as_it_was(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    try:
        build(cube.trace("cube"))
        assert gc.isenabled() == enabled
        with pytest.raises(CircuitError):
            build(replace(cube.trace("cube"), rows=(), equations=()))
        assert gc.isenabled() == enabled
    finally:
        gc.enable()


def test_what_the_relation_says_of_its_inputs_is_kept(tmp_path: Path) -> None:
    said = replace(cube, meanings={"x": "the cube"})
    write(tmp_path, build(said.trace("cube")))
    assert Circuit.open(tmp_path).about.meanings == {"x": "the cube"}
    assert build(said.trace("cube")).about.digest == CUBE.about.digest


def test_a_key_of_another_circuit_is_refused() -> None:
    with pytest.raises(CircuitMismatch, match="proving key"):
        CUBE.prove(OTHER.setup_for_development(), CUBE.witness({"a": 3}))


def test_a_witness_of_another_circuit_is_refused() -> None:
    with pytest.raises(CircuitMismatch, match="witness"):
        CUBE.failures(OTHER.witness({"a": 3}))


@pytest.mark.parametrize("part", ["traced", "r1cs", "square", "tape", "circuit"])
def test_a_part_of_another_circuit_is_refused(folder: Path, part: str) -> None:
    shutil.copy(folder / "other" / FILES[part], folder / "cube" / FILES[part])

    def read_all() -> None:
        circuit = Circuit.open(folder / "cube")
        _ = circuit.traced, circuit.r1cs, circuit.square, circuit.tape

    with pytest.raises((FileDamaged, CircuitMismatch)):
        read_all()


def test_a_folder_is_current_until_its_sources_change(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_current(folder / "cube")
    assert not is_current(folder / "nowhere")
    monkeypatch.setattr("bonsai_circuits.pipeline.source_digest", lambda: "other sources")
    assert not is_current(folder / "cube")


def test_keys_are_kept_with_the_circuit(folder: Path) -> None:
    circuit = Circuit.open(folder / "cube")
    assert not circuit.has_keys()
    circuit.make_development_keys()
    assert circuit.has_keys()
    with pytest.raises(VerifierKeyRefused):
        circuit.verifying_key()
    assert circuit.verifying_key(allow_development=True).circuit_digest == CUBE.about.digest
    (circuit.folder / PROVING_KEY).write_bytes(b"damaged")
    with pytest.raises(FileDamaged):
        circuit.has_keys()


def test_a_key_of_another_circuit_in_the_folder_is_refused(folder: Path) -> None:
    other = Circuit.open(folder / "other")
    other.make_development_keys()
    for file in ("proving.key", "verifying.key"):
        shutil.copy(folder / "other" / file, folder / "cube" / file)
    circuit = Circuit.open(folder / "cube")
    with pytest.raises(CircuitMismatch):
        circuit.proving_key()
    with pytest.raises(CircuitMismatch):
        circuit.verifying_key(allow_development=True)


@pytest.mark.parametrize("part", ["commit", "quotient", "mask", "open_alpha", "open_tau"])
def test_a_key_with_one_wrong_element_is_refused(folder: Path, part: str) -> None:
    """The whole key is checked: a wrong element, with digests that are right, would unmask the witness."""
    circuit = Circuit.open(folder / "cube")
    key = circuit.make_development_keys()
    check_proving_key(key, circuit.square)
    arrays = {"t_points": key.t_points.copy(), "u_points": key.u_points.copy()}
    forged = replace(key, **arrays)
    getattr(forged, part)[-1] = key.open_tau[2]
    with pytest.raises(KeyRefused):
        check_proving_key(forged, circuit.square)
    write_proving_key(circuit.folder / PROVING_KEY, forged)
    with pytest.raises(KeyRefused):
        circuit.proving_key(check=True)


def test_forged_wires_are_named() -> None:
    w = CUBE.witness({"a": 3})
    assert CUBE.failures(CUBE.forged(w, "cube/product", 10))
    with pytest.raises(InputError, match="no wire"):
        CUBE.forged(w, "nothing", 1)


def test_assignments_of_another_form_are_refused() -> None:
    z = CUBE.witness({"a": 3}).r1cs()
    for wrong in (z[:-1], z.astype(np.int64), np.full_like(z, 2**64 - 1)):
        with pytest.raises(InputError):
            CUBE.witness_from_r1cs(wrong)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_witness_that_fails_is_reported_and_gives_no_proof_with_any_number_of_threads(threads: int) -> None:
    key, good = CUBE.setup_for_development(), CUBE.witness({"a": 3})
    assert verify(key.verifying_key, [27], CUBE.prove(key, good, threads=threads))
    for wire in CUBE.traced.wire_names[1:]:
        with pytest.raises(Unsatisfied, match="does not satisfy the circuit"):
            CUBE.prove(key, CUBE.forged(good, wire, 5), threads=threads)
    with pytest.raises(CircuitMismatch, match="witness"):
        CUBE.prove(key, OTHER.witness({"a": 3}), threads=threads)
    with pytest.raises(InputError, match="threads"):
        CUBE.prove(key, good, threads=-threads)

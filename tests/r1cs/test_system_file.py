from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bonsai_circuits.artifacts.sections import open_sections, write_sections
from bonsai_circuits.errors import FileDamaged
from bonsai_circuits.r1cs.system import R1CS, SquareR1CS
from bonsai_circuits.r1cs.system_file import circuit_digest, open_r1cs, open_square, write_r1cs, write_square
from tests.support import compiled


def describe(c, p, w):
    p.x.must_equal(c.square(w.a, "a^2") * w.b)


CIRCUIT = compiled(describe, "x")


def same(x: R1CS | SquareR1CS, y: R1CS | SquareR1CS) -> bool:
    matrices = ("a", "b", "c") if isinstance(x, R1CS) else ("a", "b")
    arrays = [(getattr(getattr(s, m), part)) for m in matrices for part in ("start", "wire", "coeff") for s in (x, y)]
    names = (x.public, x.n_wires, x.wire_names, x.origins.strings) == (
        y.public,
        y.n_wires,
        y.wire_names,
        y.origins.strings,
    )
    return names and all(np.array_equal(u, v) for u, v in zip(arrays[::2], arrays[1::2], strict=True))


def test_systems_survive_their_files(tmp_path: Path) -> None:
    write_r1cs(tmp_path / "r1cs", CIRCUIT.r1cs)
    write_square(tmp_path / "square", CIRCUIT.square)
    assert same(open_r1cs(tmp_path / "r1cs"), CIRCUIT.r1cs)
    assert same(open_square(tmp_path / "square"), CIRCUIT.square)


def test_one_kind_is_not_read_as_another(tmp_path: Path) -> None:
    write_r1cs(tmp_path / "file", CIRCUIT.r1cs)
    with pytest.raises(FileDamaged, match="kind"):
        open_square(tmp_path / "file")


def test_the_digest_names_matrices_and_public_names_but_not_source_lines() -> None:
    square = CIRCUIT.square
    digest = circuit_digest(square)
    moved = replace(square.origins, line=square.origins.line + np.int32(1))
    assert circuit_digest(replace(square, origins=moved)) == digest
    assert circuit_digest(replace(square, public=("y",))) != digest
    assert circuit_digest(replace(square, n_wires=square.n_wires + 1)) != digest
    for name in ("a", "b"):
        matrix = getattr(square, name)
        coeff = matrix.coeff.copy()
        coeff[-1, 0] += np.uint64(1)
        assert circuit_digest(replace(square, **{name: replace(matrix, coeff=coeff)})) != digest


@pytest.mark.parametrize(
    ("section", "index", "value"),
    [
        ("a wire", 0, -1),
        ("a wire", 0, 10**6),
        ("b start", 0, 1),
        ("b start", 1, 10**6),
        ("b start", -1, 0),
        ("origin scope", 0, 10**6),
        ("origin file", 0, -1),
    ],
)
def test_indices_that_point_outside_are_refused(tmp_path: Path, section: str, index: int, value: int) -> None:
    """Digests right, indices wrong: kernels check no bounds, so opening must."""
    write_square(tmp_path / "good", CIRCUIT.square)
    sections = open_sections(tmp_path / "good", "square r1cs")
    contents: dict[str, object] = {}
    for name, entry in sections.table.items():
        match entry.type:
            case "json":
                contents[name] = sections.json(name)
            case "text":
                contents[name] = sections.text(name)
            case _:
                contents[name] = sections.array(name).copy()
    contents[section][index] = value  # type: ignore[index]
    write_sections(tmp_path / "forged", "square r1cs", contents)  # type: ignore[arg-type]
    with pytest.raises(FileDamaged, match="outside"):
        open_square(tmp_path / "forged")

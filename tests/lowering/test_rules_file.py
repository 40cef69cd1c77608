"""The rule of each square row, kept beside the systems."""

from pathlib import Path

import numpy as np
import pytest

from bonsai_circuits.artifacts.sections import open_sections, write_sections
from bonsai_circuits.errors import FileDamaged
from bonsai_circuits.lowering.rules_file import KIND, RowRules, open_rules, write_rules
from bonsai_circuits.pipeline import Circuit, write
from bonsai_circuits.r1cs.system_file import circuit_digest
from tests.support import compiled


def describe(c, p, w):
    bit = c.boolean(w.a, 0, "bit")
    p.x.must_equal(c.square(w.a, "a^2") * w.b + bit)


CIRCUIT = compiled(describe, "x")


def test_rules_are_counted_by_rows_before_and_after() -> None:
    assert RowRules.of(CIRCUIT.lowered).counts() == {
        "outline": (0, 2),
        "boolean": (1, 1),
        "square": (1, 1),
        "general product": (1, 2),
    }


def test_rules_survive_their_file_and_leave_the_digest_alone(tmp_path: Path) -> None:
    write(tmp_path, CIRCUIT)
    circuit = Circuit.open(tmp_path)
    assert circuit.rules.counts() == CIRCUIT.rules.counts()
    assert np.array_equal(circuit.rules.rule, CIRCUIT.lowered.rule)
    assert np.array_equal(circuit.rules.source, CIRCUIT.lowered.source)
    assert circuit_digest(circuit.square) == circuit.about.digest == CIRCUIT.about.digest


def test_rules_of_another_system_or_out_of_range_are_refused(tmp_path: Path) -> None:
    path, n_rows = tmp_path / "rules", CIRCUIT.square.n_rows
    write_rules(path, CIRCUIT.rules)
    with pytest.raises(FileDamaged, match="shape"):
        open_rules(path, n_rows + 1)
    sections = open_sections(path, KIND)
    contents = {"names": sections.text("names"), "rule": sections.array("rule"), "source": sections.array("source")}
    for name, value in (("rule", 99), ("rule", -1), ("source", -2)):
        changed = contents[name].copy()
        changed[0] = value
        write_sections(path, KIND, {**contents, name: changed})
        with pytest.raises(FileDamaged, match="compile the circuit again"):
            open_rules(path, n_rows)

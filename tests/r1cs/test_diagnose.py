import numpy as np
import pytest

from bonsai_circuits.errors import InputError
from bonsai_circuits.r1cs.diagnose import failed_rows
from bonsai_circuits.witness.runner import run
from bonsai_verifier.field import fr_from_ints
from tests.support import compiled


def describe(c, p, w):
    with c.scope("outer"):
        p.out.must_equal(c.product(w.a + 1, w.b - 2 * w.a, "the product") + 7, "out is the product and seven")


CIRCUIT = compiled(describe, "out")
INPUTS = {"a": 3, "b": 50, "out": 4 * 44 + 7}


def test_a_satisfied_witness_has_no_failed_row() -> None:
    w = run(CIRCUIT.tape, INPUTS)
    assert failed_rows(CIRCUIT.r1cs, w.r1cs()) == []
    assert failed_rows(CIRCUIT.square, w.square()) == []


def test_a_failed_row_names_label_scope_source_and_both_sides() -> None:
    w = run(CIRCUIT.tape, INPUTS | {"out": 1})
    (row,) = failed_rows(CIRCUIT.traced, w.registers[: CIRCUIT.traced.n_wires])
    assert (row.label, row.scope) == ("out is the product and seven", "test/outer")
    assert row.where == row.user_where == f"tests/r1cs/test_diagnose.py:{describe.__code__.co_firstlineno + 2}"
    assert (row.left, row.right) == ("out", "7 + test/outer/the_product")
    assert row.values == (1, 183)
    assert row.inputs == ("out",)


def test_values_are_in_the_report_only_if_asked_for() -> None:
    w = run(CIRCUIT.tape, INPUTS | {"out": 1})
    (row,) = failed_rows(CIRCUIT.traced, w.registers[: CIRCUIT.traced.n_wires])
    assert "183" not in row.report()
    assert "183" not in repr(row)
    assert "183" in row.report(show_values=True)


def test_products_are_shown_as_products() -> None:
    z = run(CIRCUIT.tape, INPUTS).r1cs().copy()
    z[CIRCUIT.r1cs.wire_names.index("b")] = fr_from_ints([51])[0]
    (row,) = failed_rows(CIRCUIT.r1cs, z)
    assert (row.left, row.right) == ("(1 + a) * (-2 a + b)", "-7 + out")
    assert row.values == (180, 176)
    assert row.inputs == ("out", "a", "b")


def test_an_assignment_of_another_length_is_refused() -> None:
    with pytest.raises(InputError, match="one row a wire"):
        failed_rows(CIRCUIT.r1cs, np.zeros((3, 4), np.uint64))


def test_the_number_of_rows_shown_is_limited() -> None:
    z = np.zeros((CIRCUIT.square.n_wires, 4), np.uint64)
    z[:] = fr_from_ints(range(1, CIRCUIT.square.n_wires + 1))
    assert len(failed_rows(CIRCUIT.square, z)) > 1
    assert len(failed_rows(CIRCUIT.square, z, limit=1)) == 1

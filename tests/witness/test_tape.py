import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonsai_circuits.artifacts.sections import open_sections, write_sections
from bonsai_circuits.dsl.trace import Op
from bonsai_circuits.errors import FileDamaged, InputError
from bonsai_circuits.kernels import tape as kernel
from bonsai_circuits.witness.runner import run, run_from_r1cs
from bonsai_circuits.witness.tape import KIND, open_tape, write_tape
from bonsai_verifier.field import fr_to_ints
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.support import compiled, satisfied


def all_operations(c, p, w):
    """One circuit that uses every operation of the tape."""
    bit = c.boolean(w.a, 200, "bit")
    inverse = c.hint_inverse(w.b, "inverse")
    c.must_be_product(w.b, inverse, c.num(1), "b has an inverse")
    copy = c.hint_value(3 * w.a + 1, "copy")
    (copy - 1).must_equal(w.a * 3)
    chosen = c.hint_select(bit, w.a, w.b, "chosen")
    c.must_be_product(bit, w.a - w.b, chosen - w.b, "bit ? a : b")
    fifth = c.hint_fifth(w.a, w.b, "a^5 + b")
    (fifth - w.b).must_equal(c.fifth_power(w.a, "a^5"))
    quotient = c.hint_quotient(w.a, w.b, "a / b")
    c.must_be_product(quotient, w.b, w.a, "a / b")
    lifted = c.fifth_power(w.free + 2, "lift")
    p.out.must_equal(w.a * w.b + bit + inverse + copy + chosen + fifth + quotient + lifted * lifted)


CIRCUIT = compiled(all_operations, "out")
elements = st.integers(0, R - 1)


def test_operation_numbers_of_trace_and_kernel_agree() -> None:
    assert {op.name: int(op) for op in Op} == {name: getattr(kernel, name) for name in Op.__members__}


def test_every_operation_is_used_here() -> None:
    assert set(CIRCUIT.tape.code[:, 0].tolist()) == {int(op) for op in Op}


@given(elements, elements, elements)
def test_operations_compute_what_their_names_say(a: int, b: int, free: int) -> None:
    inverse = pow(b, -1, R) if b else 0
    chosen = a if a >> 200 & 1 else b
    expected = a * b + (a >> 200 & 1) + inverse + 3 * a + 1 + chosen + pow(a, 5, R) + b + a * inverse
    expected = (expected + pow(free + 2, 10, R)) % R
    w = run(CIRCUIT.tape, {"a": a, "b": b, "free": free})
    assert w.public() == {"out": expected}


def test_zero_has_no_inverse() -> None:
    inputs = {"a": 1, "free": 1}
    assert satisfied(CIRCUIT, inputs | {"b": 5})
    assert not satisfied(CIRCUIT, inputs | {"b": 0})


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"a": 1, "b": 2}, "free: this input is missing; expected {a, b, free} and, if you like, {out}"),
        ({"a": 1, "b": 2, "free": 3, "c": 4}, "c: there is no such input"),
        ({"a": R, "b": 2, "free": 3}, "a: expected an integer in [0, r)"),
        ({"a": -1, "b": 2, "free": 3}, "a: expected an integer"),
        ({"a": True, "b": 2, "free": 3}, "a: expected an integer"),
        ({"a": 1.0, "b": 2, "free": 3}, "a: expected an integer"),
    ],
)
def test_inputs_are_checked_by_name(inputs: dict[str, int], message: str) -> None:
    with pytest.raises(InputError) as e:
        run(CIRCUIT.tape, inputs)
    assert message in str(e.value)


def test_a_witness_is_not_printed_and_not_pickled() -> None:
    w = run(CIRCUIT.tape, {"a": 123456789123456789, "b": 2, "free": 3})
    assert "123456789" not in repr(w)
    with pytest.raises(TypeError, match="secret"):
        pickle.dumps(w)
    with pytest.raises(TypeError, match="secret"):
        copy.copy(w)


def test_an_r1cs_assignment_gives_the_square_assignment() -> None:
    w = run(CIRCUIT.tape, {"a": 1, "b": 2, "free": 3})
    again = run_from_r1cs(CIRCUIT.tape, w.r1cs())
    np.testing.assert_array_equal(again.square(), w.square())


def test_an_assignment_of_another_circuit_is_refused() -> None:
    w = run(CIRCUIT.tape, {"a": 1, "b": 2, "free": 3})
    with pytest.raises(InputError, match="one row a wire"):
        run_from_r1cs(CIRCUIT.tape, w.r1cs()[:-1])
    wrong = w.r1cs().copy()
    wrong[0] = wrong[1]
    with pytest.raises(InputError, match="wire 0"):
        run_from_r1cs(CIRCUIT.tape, wrong)


def test_a_tape_survives_its_file(tmp_path: Path) -> None:
    write_tape(tmp_path / "tape", CIRCUIT.tape)
    again = open_tape(tmp_path / "tape")
    inputs = {"a": 5, "b": 7, "free": 9}
    np.testing.assert_array_equal(run(again, inputs).registers, run(CIRCUIT.tape, inputs).registers)
    assert again.inputs == CIRCUIT.tape.inputs
    assert again.computed == CIRCUIT.tape.computed


@pytest.mark.parametrize(
    ("name", "place"),
    [
        *((name, (0,)) for name in ("register", "r1cs", "square")),
        *((code, (0, column)) for code in ("code", "extension") for column in (1, 2, 3, 4)),
    ],
)
@pytest.mark.parametrize("value", [-1, 2**31 - 1])
def test_an_index_outside_is_refused(tmp_path: Path, name: str, place: tuple[int, ...], value: int) -> None:
    """A file whose digests are right but whose indices are not: the kernel checks no bounds, so opening must."""
    write_tape(tmp_path / "tape", CIRCUIT.tape)
    sections = open_sections(tmp_path / "tape", KIND)
    contents = {key: sections.json(key) if key == "meta" else sections.array(key).copy() for key in sections.table}
    contents[name][place] = value  # type: ignore[index]
    write_sections(tmp_path / "forged", KIND, contents)  # type: ignore[arg-type]
    with pytest.raises(FileDamaged, match="outside"):
        open_tape(tmp_path / "forged")


def test_constant_register_holds_one() -> None:
    w = run(CIRCUIT.tape, {"a": 1, "b": 2, "free": 3})
    assert fr_to_ints(w.r1cs()[:1]) == fr_to_ints(w.square()[:1]) == [1]

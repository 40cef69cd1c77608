"""What is planted is found, each by the check that is meant for it; what is sound passes."""

from typing import Any

import pytest

from bonsai_circuits import build, built_in
from bonsai_circuits.dsl import elimination
from bonsai_circuits.dsl.builder import Builder
from bonsai_circuits.dsl.trace import System
from bonsai_circuits.errors import InputError, Unsatisfied
from bonsai_circuits.gadgets import poseidon_tree
from bonsai_circuits.pipeline import Compiled
from bonsai_circuits.relations.builtin import BUILT_IN
from bonsai_circuits.relations.reviewed import REVIEWED
from bonsai_circuits.report.lint import Check, Lint, lint, parse_allowances
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.relations.payments import SHAPES, flat, operated, operation_secrets, secrets
from tests.support import compiled, poseidon_circuit


def found(result: Lint) -> set[tuple[str, str, str]]:
    return {(finding.check, finding.system, finding.wire) for finding in result.faults}


def in_both(check: Check, *wires: str) -> set[tuple[str, str, str]]:
    return {(check, system, wire) for system in ("R1CS", "Square R1CS") for wire in wires}


def linted(circuit: Compiled, **inputs: int) -> Lint:
    return lint(circuit, circuit.witness(inputs))


def cube(c: Any, x: Any) -> Any:
    """x^3, which holds x: its square alone would let -x pass."""
    return c.product(c.square(x, "x^2"), x, "x^3")


# Each check ------------------------------------------------------------------------------------------------------------------


def test_the_other_root_of_a_square_is_found() -> None:
    circuit = compiled(lambda c, p, w: p.x.must_equal(c.square(w.a, "a^2")), "x")
    assert found(linted(circuit, a=5)) == in_both(Check.ALONE, "a")
    assert found(linted(circuit, a=0)) == set()


def test_a_bit_that_nothing_reads_may_have_one_other_value() -> None:
    def describe(c: Any, p: Any, w: Any) -> None:
        p.x.must_equal(cube(c, w.a))
        c.boolean(w.a, 0, "parity")

    result = linted(compiled(describe, "x"), a=5)
    assert found(result) == in_both(Check.ALONE, "test/parity")
    assert all("one other value" in finding.message for finding in result.faults)


def test_a_hint_whose_factor_is_zero_may_have_any_value() -> None:
    def describe(c: Any, p: Any, w: Any) -> None:
        c.must_be_product(w.a, c.hint_value(w.b, "b"), p.x, "a b = x")
        p.y.must_equal(cube(c, w.b) + w.a)

    circuit = compiled(describe, "x", "y")
    assert found(linted(circuit, x=15, a=3, b=5)) == in_both(Check.FREE, "test/b")
    result = linted(circuit, x=0, a=0, b=5)
    assert found(result) == in_both(Check.FREE, "test/b") | in_both(Check.ALONE, "test/b")


def test_hints_that_move_together_are_found_although_none_moves_alone() -> None:
    def describe(c: Any, p: Any, w: Any) -> None:
        first, second = c.hint_value(w.a, "first"), c.hint_value(w.b, "second")
        c.must_be_product(first, second, p.x, "first second = x")
        p.y.must_equal(cube(c, w.a) + cube(c, w.b))

    result = linted(compiled(describe, "x", "y"), x=15, a=3, b=5)
    assert found(result) == in_both(Check.FREE, "test/first", "test/second")
    finding = result.faults[0]
    assert finding.where.startswith("tests/report/test_lint.py:")


def test_bits_without_their_boolean_rows_are_found() -> None:
    def describe(c: Any, p: Any, w: Any) -> None:
        bits = [c.hint_bit(w.a, i, f"bit {i}") for i in range(3)]
        (bits[0] + 2 * bits[1] + 4 * bits[2]).must_equal(w.a)
        p.x.must_equal(c.product(bits[0], bits[1], "b0 b1") + cube(c, w.a))

    assert found(linted(compiled(describe, "x"), a=5)) == in_both(Check.FREE, "test/bit_0", "test/bit_1", "test/bit_2")


def test_a_split_that_is_not_unique_is_found() -> None:
    """n = 2 h + b with a boolean b: in a field every n has a half, so both b will do."""

    def describe(c: Any, p: Any, w: Any) -> None:
        b = c.boolean(w.n, 0, "b")
        h = c.hint_value((w.n - b) * pow(2, -1, R), "h")
        (2 * h + b).must_equal(w.n)
        p.x.must_equal(cube(c, w.n))
        p.odd.must_equal(b)

    result = linted(compiled(describe, "x", "odd"), n=7)
    assert found(result) == in_both(Check.PAIR, "odd")  # b is expressed by the public input


def test_a_flipped_input_with_its_output_is_another_statement_and_no_finding() -> None:
    def describe(c: Any, p: Any, w: Any) -> None:
        flag = c.boolean(w.flag, 0, "flag")
        flag.must_equal(w.flag)
        p.x.must_equal(cube(c, w.n) + flag)

    assert linted(compiled(describe, "x"), n=7, flag=1).findings == ()


def test_a_public_input_that_no_row_holds_is_unused(monkeypatch: pytest.MonkeyPatch) -> None:
    def describe(c: Any, p: Any, w: Any) -> None:
        p.x.must_equal(w.y)
        p.z.must_equal(cube(c, w.a))

    monkeypatch.setattr(elimination, "_refuse_unheld", lambda *_: None)  # the builder refuses it
    assert found(linted(compiled(describe, "x", "z"), y=4, a=3)) == {(Check.UNUSED, "", "x")}


def test_a_hint_in_no_row_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def describe(c: Any, p: Any, w: Any) -> None:
        p.x.must_equal(cube(c, w.a))
        c.hint_inverse(w.unread, "inverse")

    monkeypatch.setattr(Builder, "_refuse_loose_wires", lambda self: None)  # the builder refuses it
    result = linted(compiled(describe, "x"), a=3, unread=2)
    assert found(result) == {(Check.NO_ROW, "", "test/inverse"), (Check.UNUSED, "", "unread")}


def test_a_row_that_one_system_lacks_is_missed_there_alone() -> None:
    def describe(c: Any, p: Any, w: Any) -> None:
        a = c.hint_value(w.b, "a")
        p.x.must_equal(cube(c, a) + cube(c, w.b))
        with c.only(System.SQUARE):
            a.must_equal(w.b)

    assert found(linted(compiled(describe, "x"), b=3)) == {(Check.FREE, "R1CS", "test/a")}


def test_a_demand_of_one_system_alone_is_found_although_inputs_explain_it() -> None:
    def describe(c: Any, p: Any, w: Any) -> None:
        c.must_be_product(w.a, w.b, p.x, "a b = x")
        with c.only(System.R1CS):
            c.must_be_product(w.a, w.a, w.a, "a is 0 or 1")

    result = linted(compiled(describe, "x"), x=5, a=1, b=5)
    assert found(result) == {(Check.SYSTEMS, "", "test")}
    assert "a row of R1CS is missing in Square R1CS" in result.faults[0].message
    assert [(size.solutions, size.unexplained) for size in result.dimensions] == [(1, 0), (2, 0)]


def test_the_same_hint_held_by_its_rows_is_no_finding() -> None:
    def describe(c: Any, p: Any, w: Any) -> None:
        bits = [c.boolean(w.a, i, f"bit {i}") for i in range(3)]
        (bits[0] + 2 * bits[1] + 4 * bits[2]).must_equal(w.a)
        u = c.hint_inverse(w.a, "inverse")
        c.must_be_product(w.a, u, c.num(1), "a is not 0")
        p.x.must_equal(c.product(bits[0], bits[1], "b0 b1") + cube(c, w.a))

    result = linted(compiled(describe, "x"), a=5)
    assert result.findings == ()
    assert [(size.solutions, size.unexplained) for size in result.dimensions] == [(0, 0), (0, 0)]


# Allowances ------------------------------------------------------------------------------------------------------------------


def test_what_is_allowed_is_no_fault_and_what_is_not_needed_is_named() -> None:
    def describe(c: Any, p: Any, w: Any) -> None:
        p.x.must_equal(cube(c, w.a))
        c.boolean(w.a, 0, "parity")
        c.boolean(w.a, 1, "next")

    circuit = compiled(describe, "x")
    witness = circuit.witness({"a": 5})
    allowed = {"changes alone": {"test/par*": "nobody looks at it", "nothing": "never found"}}
    result = lint(circuit, witness, allowed)
    assert found(result) == in_both(Check.ALONE, "test/next")
    assert {f.allowed for f in result.findings} == {None, "nobody looks at it"}
    assert result.unneeded == (("changes alone", "nothing"),)
    assert found(lint(circuit, witness, {"changes alone": {"*": "."}})) == set()
    assert found(lint(circuit, witness, {"in no row": {"*": "another check"}})) == found(lint(circuit, witness))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"moves": {}}, "there is no check 'moves'"),
        ({"changes alone": ["x"]}, "reason"),
        ({"changes alone": {"x": ""}}, "reason"),
        ({"changes alone": {"x": 1}}, "reason"),
    ],
)
def test_allowances_of_another_shape_are_refused(content: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_allowances(content, "allow.json")


def test_reviewed_findings_name_built_in_relations_and_checks() -> None:
    assert REVIEWED.keys() <= {circuit.relation for circuit in BUILT_IN}
    for checks in REVIEWED.values():
        assert parse_allowances(checks, "reviewed") == checks


def test_the_reviewed_list_is_not_for_a_circuit_that_only_has_the_name() -> None:
    def describe(c: Any, p: Any, w: Any) -> None:
        c.must_be_product(w.a, w.b - p.root_rho, c.num(0), "a (b - root_rho) = 0")
        p.x.must_equal(cube(c, w.a) + cube(c, w.b))

    from bonsai_circuits.dsl.circuit import Relation

    circuit = build(Relation("op", ("x", "root_rho"), describe).trace("op"))
    assert (Check.ALONE, "R1CS", "root_rho") in found(linted(circuit, root_rho=4, a=0, b=5))


# Witnesses -------------------------------------------------------------------------------------------------------------------


def test_a_witness_that_fails_is_refused() -> None:
    circuit = compiled(lambda c, p, w: c.must_be_product(w.a, w.a, p.x, "a^2 = x"), "x")
    with pytest.raises(Unsatisfied, match=r"a\^2 = x"):
        linted(circuit, a=3, x=10)


def test_a_witness_without_inputs_is_refused() -> None:
    circuit = compiled(lambda c, p, w: c.must_be_product(w.a, w.a, p.x, "a^2 = x"), "x")
    z = circuit.witness({"a": 3, "x": 9}).r1cs()
    with pytest.raises(InputError, match="inputs"):
        lint(circuit, circuit.witness_from_r1cs(z))


# The built-in circuits -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hash_name", ["poseidon", "pedersen"])
def test_send_has_no_findings(hash_name: str) -> None:
    circuit = build(built_in("send", hash_name, "wide"))
    inputs = {"A": 7, "fee": 10, "b": 1000, "v": 100, "root": 2**200 + 1, "rec": 9, "s": 11, "s_new": 12, "t": 13}
    result = linted(circuit, **inputs)
    assert result.findings == ()
    assert [size.unexplained for size in result.dimensions] == [0, 0]
    assert len({size.solutions for size in result.dimensions}) == 1


@pytest.mark.parametrize("shape", SHAPES)
def test_receive_has_no_findings(shape: str) -> None:
    result = linted(poseidon_circuit("recv", shape), **flat(shape, secrets(shape)))
    assert result.findings == ()
    assert [size.unexplained for size in result.dimensions] == [0, 0]
    assert len({size.solutions for size in result.dimensions}) == 1


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("receive", [0, 1])
def test_an_operation_has_only_the_findings_that_were_reviewed(shape: str, receive: int) -> None:
    w = operation_secrets(shape, receive)
    result = linted(poseidon_circuit("op", shape), **flat(shape, w | operated(shape, w)))
    assert result.faults == []
    assert {(f.check, f.wire) for f in result.findings} == (set() if receive else {(Check.ALONE, "root_rho")})
    assert [size.unexplained for size in result.dimensions] == [0, 0]
    assert len({size.solutions for size in result.dimensions}) == 1


def test_a_selection_left_out_of_one_system_is_found_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it nothing ties the child on the path to the lifted one."""
    monkeypatch.setattr(poseidon_tree, "one_hot_inner_product", lambda *_: None)
    circuit = build(built_in("recv", "poseidon", "wide"))
    result = linted(circuit, **flat("wide", secrets("wide")))
    assert {(f.check, f.system) for f in result.faults} == {(Check.FREE, "Square R1CS")}
    assert {f.wire.rpartition("/")[2].partition("_")[0] for f in result.faults} == {"lifted"}
    assert [size.unexplained for size in result.dimensions] == [0, 14 + 11]

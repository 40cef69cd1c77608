import inspect
import re

import pytest

from bonsai_circuits.dsl.builder import Builder
from bonsai_circuits.dsl.circuit import Public, Secret
from bonsai_circuits.dsl.trace import Op
from bonsai_circuits.dsl.wires import linear
from bonsai_circuits.errors import CircuitError
from bonsai_circuits.gadgets import PedersenSuite, PoseidonSuite, bits, both, in_range, mux, poseidon
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.support import builder, compiled, satisfied


def test_sums_and_constant_factors_make_no_rows() -> None:
    c = builder("x")
    x = c.public("x")
    y = 3 * (x + 1) - x * 2 - 3 + linear(c, [1, -1], [x, x])
    assert y.terms == {1: 1}
    assert (x - x).terms == {}
    assert ((-x) + x).constant_value() == 0


def test_product_of_wires_makes_one_row_and_constants_none() -> None:
    c = builder("x")
    x = c.public("x")
    _ = x * x
    _ = c.num(7) * x
    _ = c.num(7) * c.num(8)
    assert len(c.finish().rows) == 1


def test_wires_have_no_truth_value_and_no_equality() -> None:
    x = builder("x").public("x")
    with pytest.raises(CircuitError, match="must_equal"):
        _ = x == x
    with pytest.raises(CircuitError, match="selection"):
        bool(x)


@pytest.mark.parametrize(
    ("operation", "advice"),
    [
        (lambda x: x**2, "c.square"),
        (lambda x: 2**x, "c.square"),
        (lambda x: x / 2, "pow(k, -1, FR_MODULUS)"),
        (lambda x: 1 / x, "c.hint_quotient"),
        (lambda x: x // 2, "gadgets.bits"),
        (lambda x: 7 % x, "gadgets.bits"),
        (lambda x: divmod(x, 2), "gadgets.bits"),
        (lambda x: x < 5, "gadgets.in_range"),
        (lambda x: x >= 5, "gadgets.in_range"),
        (lambda x: sorted([x, x]), "gadgets.in_range"),
        (lambda x: x & x, "gadgets.both"),
        (lambda x: ~x, "1 - a"),
        (lambda x: x << 3, "x * 2**n"),
        (lambda x: 1 >> x, "gadgets.bits"),
        (lambda x: x != 1, "must_equal"),
        (lambda x: not x, "gadgets.mux"),
        (int, "no value"),
        (lambda x: [0, 1][x], "no value"),
        (range, "no value"),
    ],
)
def test_an_operation_that_wires_do_not_have_names_the_one_to_use(operation, advice: str) -> None:
    with pytest.raises(CircuitError, match=re.escape(advice)):
        operation(builder("x").public("x"))


@pytest.mark.parametrize(
    "mix",
    [
        lambda c, x, y: x + y,
        lambda c, x, y: x * y,
        lambda c, x, y: x.must_equal(y),
        lambda c, x, y: linear(c, [1, 1], [x, y]),
        lambda c, x, y: c.square(y, "square"),
        lambda c, x, y: c.must_be_product(x, x, y, "product"),
        lambda c, x, y: c.must_be_square(x, y, "square"),
        lambda c, x, y: c.fifth_power(y, "fifth"),
        lambda c, x, y: c.hint_bit(y, 0, "bit"),
        lambda c, x, y: c.hint_value(y, "value"),
        lambda c, x, y: c.hint_product(x, y, "product"),
        lambda c, x, y: c.hint_select(x, x, y, "select"),
        lambda c, x, y: c.hint_fifth(x, y, "fifth"),
        lambda c, x, y: c.hint_inverse(y, "inverse"),
        lambda c, x, y: c.hint_quotient(x, y, "quotient"),
        lambda c, x, y: c.hint_quotient(y, x, "quotient"),
        lambda c, x, y: c.scratch(y),
        lambda c, x, y: c.read_below(y, 5),
        lambda c, x, y: c.num(y),
        lambda c, x, y: bits(c, y, 3),
    ],
)
def test_wires_of_two_circuits_do_not_mix(mix) -> None:
    c, d = builder("x"), builder("x")
    with pytest.raises(CircuitError, match="different circuits"):
        mix(c, c.public("x"), d.public("x"))


@pytest.mark.parametrize(
    "call",
    [
        lambda c, x: c.product(x, 3, "l"),
        lambda c, x: c.must_be_product(x, x, 0, "l"),
        lambda c, x: c.scratch(3),
        lambda c, x: bits(c, 5, 3),
        lambda c, x: in_range(c, 5, 3),
        lambda c, x: in_range(c, x, "3"),
        lambda c, x: both(c, c.boolean(x, 0, "bit"), 1),
        lambda c, x: mux(c, [1], [x, x], x),
        lambda c, x: poseidon(c, [1, 2], 0),
        lambda c, x: poseidon(c, [x, 2], 0),
        lambda c, x: PoseidonSuite().account(c, x, 3, x),
        lambda c, x: PedersenSuite().account(c, x, 3, x),
        lambda c, x: PedersenSuite().receipt(c, 3, x, x, x),
    ],
)
def test_plain_numbers_where_wires_are_needed_are_refused(call) -> None:
    c = builder("x")
    with pytest.raises(CircuitError, match=r"^operand: expected a wire"):
        call(c, c.public("x"))


@pytest.mark.parametrize("keep", [lambda x: {x}, lambda x: {x: 1}, hash])
def test_wires_are_no_members_of_sets(keep) -> None:
    with pytest.raises(CircuitError, match=r"x\.key\(\)"):
        keep(builder("x").public("x"))


@pytest.mark.parametrize("value", [1.5, None, "3", [1]])
def test_what_is_no_wire_and_no_integer_is_refused(value: object) -> None:
    x = builder("x").public("x")
    for combine in (lambda: x + value, lambda: x * value, lambda: x - value, lambda: x.must_equal(value)):
        with pytest.raises((CircuitError, TypeError)):
            combine()


@pytest.mark.parametrize("position", [-1, 255, 300, 64_000_000, 1.0, True])
def test_positions_outside_an_element_are_refused(position: int) -> None:
    c = builder("x")
    with pytest.raises(CircuitError, match="no such bit"):
        c.boolean(c.public("x"), position, "bit")


@pytest.mark.parametrize("name", ["", "a b", "a,b", "a/b", "a\nb", "one", "1a", "a[x]"])
def test_names_that_files_cannot_hold_are_refused(name: str) -> None:
    with pytest.raises(CircuitError, match="is no name"):
        builder(name)
    with pytest.raises(CircuitError, match="is no name"):
        builder("x").secret(name)


def test_one_string_is_no_list_of_public_inputs() -> None:
    with pytest.raises(CircuitError, match="sequence of names"):
        Builder("test", "xy")


def test_names_with_an_underscore_in_front_are_no_inputs() -> None:
    """Notebooks look for _repr_html_ and the like."""
    c = builder("x")
    assert not hasattr(Secret(c), "_repr_html_")
    assert not hasattr(Public(c), "_repr_html_")


def test_a_description_is_finished_once() -> None:
    c = builder("x")
    _ = c.public("x") * c.public("x")
    c.finish()
    with pytest.raises(CircuitError, match="finished already"):
        c.finish()


def test_a_public_input_is_not_computed_from_itself() -> None:
    def describe(c, p, w):
        p.x.must_equal(2 * p.x + w.a)
        _ = p.x * w.a

    assert compiled(describe, "x").tape.computed == set()


def test_unknown_public_input_is_refused() -> None:
    with pytest.raises(CircuitError, match="not a public input"):
        builder("x").public("y")


def test_names_are_used_once() -> None:
    with pytest.raises(CircuitError, match="twice"):
        builder("x", "x")
    with pytest.raises(CircuitError, match="is a public input"):
        builder("x").secret("x")


def test_public_input_without_a_row_is_a_build_error() -> None:
    c = builder("x", "unused")
    _ = c.public("x") * c.secret("y")
    with pytest.raises(CircuitError, match="unused: this public input"):
        c.finish()


def test_secret_input_without_a_row_is_a_build_error() -> None:
    c = builder("x")
    _ = c.public("x") * c.public("x")
    c.secret("forgotten")
    with pytest.raises(CircuitError, match="forgotten"):
        c.finish()


def test_hinted_wire_without_a_row_is_a_build_error() -> None:
    c = builder("x")
    _ = c.public("x") * c.public("x")
    c.hint_bit(c.public("x"), 0, "loose bit")
    with pytest.raises(CircuitError, match="loose_bit"):
        c.finish()


def test_unequal_constants_are_a_build_error() -> None:
    with pytest.raises(CircuitError, match="no witness"):
        builder("x").num(1).must_equal(2)


def test_fifth_power_of_a_free_input_costs_nothing() -> None:
    c = builder("x")
    x = c.public("x")
    x.must_equal(c.fifth_power(c.secret("free") + 5, "lift") * c.fifth_power(c.secret("free") + 5, "lift"))
    trace = c.finish()
    assert len(trace.rows) == 1
    assert [i.op for i in trace.instructions].count(Op.FIFTH) == 1  # the same combination is raised once


@pytest.mark.parametrize("reader", ["row", "equation", "second offset", "hint"])
def test_fifth_power_of_an_input_that_is_read_elsewhere_is_constrained(reader: str) -> None:
    c = builder("x", "y")
    free = c.secret("input")
    c.public("x").must_equal(c.fifth_power(free + 5, "lift"))
    before = 3
    if reader == "row":
        c.public("y").must_equal(free * free)
        before += 1
    elif reader == "equation":
        c.public("y").must_equal(free)
    elif reader == "second offset":
        c.public("y").must_equal(c.fifth_power(free + 6, "lift"))
        before += 3
    else:
        c.public("y").must_equal(c.boolean(free, 0, "parity"))
        before += 1
    assert len(c.finish().rows) == before


def test_constrained_fifth_power_is_the_fifth_power() -> None:
    def describe(c, p, w):
        p.x.must_equal(c.fifth_power(w.a + 5, "lift"))
        p.y.must_equal(w.a * 1)

    circuit = compiled(describe, "x", "y")
    assert satisfied(circuit, {"a": 3, "x": 8**5, "y": 3})
    assert not satisfied(circuit, {"a": 3, "x": 8**5 + 1, "y": 3})


def test_fifth_power_of_a_public_input_is_constrained() -> None:
    def describe(c, p, w):
        p.y.must_equal(c.fifth_power(p.x + 1, "box"))

    circuit = compiled(describe, "x", "y")
    assert circuit.r1cs.n_rows == 3
    assert satisfied(circuit, {"x": 1, "y": 32})
    assert not satisfied(circuit, {"x": 1, "y": 33})


def test_rows_know_the_line_and_the_scope_that_made_them() -> None:
    c = builder("x")
    x = c.public("x")
    with c.scope("outer"), c.scope("inner"):
        line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
        c.square(x, "x^2")
    origin = c.finish().rows[0].origin
    assert origin.scope == "test/outer/inner"
    assert (origin.file, origin.line, origin.label) == ("tests/dsl/test_builder.py", line, "x^2")


def test_rows_of_a_gadget_also_know_the_line_that_called_it() -> None:
    from bonsai_circuits.gadgets.range import in_range

    c = builder("x")
    line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
    in_range(c, c.public("x"), 2)
    origin = c.finish().rows[0].origin
    assert origin.file == "bonsai_circuits/gadgets/range.py"
    assert (origin.user_file, origin.user_line) == ("tests/dsl/test_builder.py", line)


def test_a_public_input_that_was_read_is_not_computed() -> None:
    def describe(c, p, w):
        square = p.x * p.x
        p.x.must_equal(w.a * w.a)
        p.y.must_equal(square)

    circuit = compiled(describe, "x", "y")
    assert circuit.tape.computed == {"y"}


def test_a_public_input_equated_twice_is_computed_once_and_bound_twice() -> None:
    def describe(c, p, w):
        p.y.must_equal(w.a * w.a)
        p.y.must_equal(w.b * w.b)

    circuit = compiled(describe, "y")
    assert satisfied(circuit, {"a": 3, "b": 3})
    assert not satisfied(circuit, {"a": 3, "b": 4})
    assert not satisfied(circuit, {"a": 4, "b": 3})
    assert not satisfied(circuit, {"a": 3, "b": 4, "y": 16})


def test_a_public_input_that_a_hint_read_before_must_be_given() -> None:
    """Its value would come too late for the hint."""

    def describe(c, p, w):
        low = c.boolean(p.y, 0, "low bit")
        p.y.must_equal(w.a * w.a)
        p.z.must_equal(low)

    circuit = compiled(describe, "y", "z")
    assert circuit.tape.computed == {"z"}


def test_modulus_is_the_field() -> None:
    c = builder("x")
    assert (c.public("x") * R).terms == {}

from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonsai_circuits.dsl.wires import Bit
from bonsai_circuits.gadgets.boolean import both, times
from bonsai_circuits.gadgets.range import bits
from bonsai_circuits.witness.runner import run
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.support import builder, cheated, compiled, loose_wires, refusals, satisfied

sympy: Any = import_module("sympy")  # untyped

NO_BITS = [2, R - 1, pow(2, -1, R)]
TRACE, R1CS, SQUARE = range(3)


def conjunction(c, p, w):
    a, b = bits(c, p.x, 2)
    p.out.must_equal(both(c, a, b))


def gated(c, p, w):
    (bit,) = bits(c, p.bit, 1)
    p.out.must_equal(times(c, bit, w.x, c.square(w.x, "x^2"), "bit x"))


BOTH = compiled(conjunction, "x", "out")
TIMES = compiled(gated, "bit", "out")
A, B, AND = "test/bits[2]/bit_0", "test/bits[2]/bit_1", "test/a_and_b"
elements = st.integers(0, R - 1)


# both ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", range(4))
def test_both_is_the_and_of_its_bits(x: int) -> None:
    assert run(BOTH.tape, {"x": x}).public()["out"] == (x & 1) & (x >> 1)
    assert satisfied(BOTH, {"x": x})


def test_both_costs_one_row_in_both_systems() -> None:
    assert BOTH.r1cs.n_rows == 2 + 1
    assert BOTH.square.n_rows == 2 + 1 + 3  # and three outline rows


@pytest.mark.parametrize("x", range(4))
@pytest.mark.parametrize("out", [0, 1, *NO_BITS])
def test_another_output_of_both_is_rejected_by_its_row(x: int, out: int) -> None:
    honest = int(x == 3)
    w = cheated(BOTH, {"x": x, "out": out}, {AND: out})
    assert refusals(BOTH, w) == [{"a and b"} if out != honest else set()] * 3


@pytest.mark.parametrize("value", NO_BITS)
def test_a_factor_of_both_that_is_no_bit_is_rejected_by_its_own_row(value: int) -> None:
    """The rest of the witness follows from the wrong bit: nothing but its row, or rows that rely on it, can notice."""
    w = cheated(BOTH, {"x": (value + 2) % R}, {A: value, B: 1})
    trace, r1cs, square = refusals(BOTH, w)
    assert trace >= {"bit 0 is 0 or 1"}
    assert r1cs == {"bit 0 is 0 or 1"}
    assert square == {"bit 0 is 0 or 1", "a and b"}


def test_both_of_constants_adds_no_rows() -> None:
    c = builder("x")
    (bit,) = bits(c, c.public("x"), 1)
    one, zero = (Bit.trusted(c.num(k)) for k in (1, 0))
    assert both(c, one, zero).constant_value() == both(c, zero, bit).constant_value() == 0
    assert both(c, one, one).constant_value() == 1
    assert both(c, bit, one).terms == both(c, one, bit).terms == bit.terms
    assert len(c.finish().rows) == 1


def test_the_square_row_of_both_is_its_product() -> None:
    """(a + b)^2 - (a + b + 2 out) = (a^2 - a) + (b^2 - b) + 2 (a b - out)."""
    a, b, out = sympy.symbols("a b out")
    row = (a + b) ** 2 - (a + b + 2 * out)
    assert sympy.expand(row - ((a**2 - a) + (b**2 - b) + 2 * (a * b - out))) == 0


# times -----------------------------------------------------------------------------------------------------------------------


@given(st.integers(0, 1), elements)
def test_times_is_the_product(bit: int, x: int) -> None:
    assert run(TIMES.tape, {"bit": bit, "x": x}).public()["out"] == bit * x
    assert satisfied(TIMES, {"bit": bit, "x": x})


def test_times_costs_one_row_in_both_systems() -> None:
    assert TIMES.r1cs.n_rows == 1 + 1 + 1  # the bit, x^2, the product
    assert TIMES.square.n_rows == 3 + 3


@given(st.integers(0, 1), elements, elements)
def test_another_output_of_times_is_rejected_by_its_row(bit: int, x: int, error: int) -> None:
    out = (bit * x + error) % R
    w = cheated(TIMES, {"bit": bit, "x": x, "out": out}, {"test/bit_x": out})
    assert refusals(TIMES, w) == [{"bit x"} if error else set()] * 3


@pytest.mark.parametrize("value", NO_BITS)
def test_a_factor_of_times_that_is_no_bit_is_rejected(value: int) -> None:
    w = cheated(TIMES, {"bit": value, "x": 5}, {"test/bits[1]/bit_0": value})
    trace, r1cs, square = refusals(TIMES, w)
    assert "bit 0 is 0 or 1" in trace & r1cs & square


def test_a_square_that_is_none_is_rejected() -> None:
    """times relies on x_squared in Square R1CS: there a wrong one shows in its own row."""
    w = cheated(TIMES, {"bit": 1, "x": 5}, {"test/x^2": 26})
    assert refusals(TIMES, w) == [{"x^2", "bit x"}, {"x^2"}, {"x^2", "bit x"}]


def test_the_square_row_of_times_is_its_product() -> None:
    """(bit + x)^2 - (bit + s + 2 out) = (bit^2 - bit) + (x^2 - s) + 2 (bit x - out)."""
    bit, x, s, out = sympy.symbols("bit x s out")
    row = (bit + x) ** 2 - (bit + s + 2 * out)
    assert sympy.expand(row - ((bit**2 - bit) + (x**2 - s) + 2 * (bit * x - out))) == 0


@pytest.mark.parametrize("circuit", [BOTH, TIMES])
@pytest.mark.parametrize("inputs", [{"x": 2}, {"x": 3}])
def test_every_private_wire_is_bound(circuit: Any, inputs: dict[str, int]) -> None:
    if circuit is TIMES:
        inputs = inputs | {"bit": 1}
    w = run(circuit.tape, inputs)
    assert loose_wires(circuit.r1cs, w.r1cs(), 3) == loose_wires(circuit.square, w.square(), 3) == []

import random
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonsai_circuits.dsl.circuit import Relation
from bonsai_circuits.dsl.trace import Row, System, Trace
from bonsai_circuits.gadgets.digit import Digit
from bonsai_circuits.gadgets.inner_product import _diagonal, _left_kernel, one_hot_inner_product
from bonsai_circuits.gadgets.poseidon import KnownSquare, poseidon_lifted
from bonsai_circuits.gadgets.range import bits
from bonsai_circuits.gadgets.select import mux
from bonsai_circuits.native.poseidon import merkle_tag, poseidon_parameters
from bonsai_circuits.pipeline import Compiled, build
from bonsai_circuits.r1cs.linear import ONE, Terms
from bonsai_circuits.witness.runner import run
from bonsai_verifier.field import fr_to_ints
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.support import cheated, loose_wires, open_wires, refusals

sympy: Any = import_module("sympy")  # untyped

ARITIES = (2, 4, 8)
FIELD = sympy.GF(R, symmetric=False)
elements = st.integers(0, R - 1)


@dataclass(frozen=True)
class Node:
    """A Poseidon node over n lifted children, one of which is public; Square R1CS finds it by the inner product, R1CS by a mux."""

    trace: Trace
    circuit: Compiled
    known: list[KnownSquare]

    def rows(self) -> list[Row]:
        return [row for row in self.trace.rows if row.system is System.SQUARE and row.origin.scope == "test/select"]


def node_of(n: int) -> Node:
    k = n.bit_length() - 1
    known: list[KnownSquare] = []

    def describe(c, p, w):
        children = [getattr(w, f"y{j}") for j in range(n)]
        node, squares = poseidon_lifted(c, children, merkle_tag(n))
        known.extend(squares)
        p.node.must_equal(node)
        digit = Digit(c, bits(c, w.d, k))
        one_hot = digit.one_hot()
        with c.scope("select"):
            with c.only(System.R1CS):
                mux(c, digit.bits, children, p.out)
            with c.only(System.SQUARE):
                one_hot_inner_product(c, one_hot, children, p.out, squares)

    trace = Relation("test", ("out", "node"), describe).trace("test")
    return Node(trace, build(trace), known)


NODES = {n: node_of(n) for n in ARITIES}


def named(ys: list[int]) -> dict[str, int]:
    return {f"y{j}": y for j, y in enumerate(ys)}


@pytest.mark.parametrize("n", ARITIES)
@given(data=st.data())
def test_inner_product_is_the_child_at_the_digit(n: int, data: st.DataObject) -> None:
    ys, d = data.draw(st.lists(elements, min_size=n, max_size=n)), data.draw(st.integers(0, n - 1))
    circuit, error = NODES[n].circuit, data.draw(st.integers(1, R - 1))
    assert refusals(circuit, run(circuit.tape, {"d": d, "out": ys[d], **named(ys)})) == [set()] * 3
    trace, r1cs, square = refusals(circuit, run(circuit.tape, {"d": d, "out": (ys[d] + error) % R, **named(ys)}))
    assert r1cs == {"the selected value"}
    assert square == {"the selected child"}
    assert trace == r1cs | square


@pytest.mark.parametrize("n", ARITIES)
def test_inner_product_costs_one_row_less_than_the_arity(n: int) -> None:
    circuit, t, k = NODES[n].circuit, n + 1, n.bit_length() - 1
    assert len(NODES[n].rows()) == n - 1
    node = 4 * (8 * t + poseidon_parameters(n).r_p - 1 - n) - 2 * (t // 2)
    assert circuit.square.n_rows == k + (n - 1 - k) + node + (n - 1) + 3  # bits, one-hot, node, inner product, outline
    node = 3 * (8 * t + poseidon_parameters(n).r_p - 1 - n) - t // 2
    assert circuit.r1cs.n_rows == k + node + (n - 1)


@pytest.mark.parametrize("n", ARITIES)
def test_forged_squares_are_rejected(n: int) -> None:
    """The squares that stand, of round 1, and the shifted ones: each by its own row at least."""
    circuit = NODES[n].circuit
    inputs = {"d": 1, "out": 11, **named(list(range(10, 10 + n)))}
    for wire in circuit.traced.wire_names:
        if "shifted_square" in wire or ("/round_1/" in wire and wire.endswith("x^2")):
            trace, _, square = refusals(circuit, cheated(circuit, inputs, {wire: 12345}))
            label = "shifted square" if "shifted" in wire else wire.rpartition("/")[2].replace("_", " ")
            assert label in trace & square


@pytest.mark.parametrize("n", ARITIES)
@pytest.mark.parametrize("value", [2, R - 1, pow(2, -1, R)])
def test_a_vector_that_is_not_one_hot_is_rejected(n: int, value: int) -> None:
    """Each bit and each entry alone set to 2, -1, 1/2, everything else following from it."""
    circuit = NODES[n].circuit
    inputs = {"d": 0, "out": 10, **named(list(range(10, 10 + n)))}
    for wire in circuit.traced.wire_names:
        if "/bit_" in wire or "/one-hot/" in wire:
            trace, r1cs, square = refusals(circuit, cheated(circuit, inputs, {wire: value}))
            label = wire.rpartition("/")[2].replace("_", " ").partition("#")[0]
            assert (f"{label} is 0 or 1" if "bit" in label else label) in trace & square
            assert r1cs or "one-hot" in wire


@pytest.mark.parametrize("n", ARITIES)
def test_every_private_wire_is_bound(n: int) -> None:
    """The other children are free, but the node holds them; nothing else is."""
    circuit = NODES[n].circuit
    w = run(circuit.tape, {"d": n - 1, "out": 9 + n, **named(list(range(10, 10 + n)))})
    for system, z in ((circuit.r1cs, w.r1cs()), (circuit.square, w.square())):
        assert loose_wires(system, z, 3) == []
        assert open_wires(system, z, lambda name: name[0] == "y" or "/bit_" in name) == []


@pytest.mark.parametrize("n", ARITIES)
def test_the_rows_say_that_the_inner_product_is_out(n: int) -> None:
    """As polynomials over Fr in all children and out: the last row is a non-zero multiple of y_d - out.

    The one-hot vector is put in as numbers, each digit in turn; a square that stands is the square of its polynomial.
    """
    node = NODES[n]
    names = [f"y{j}" for j in range(n)]
    y, out = sympy.symbols(names), sympy.Symbol("out")
    for d in range(n):
        registers = fr_to_ints(run(node.circuit.tape, {"d": d, "out": 0, **named([0] * n)}).registers)
        wires = {w: registers[w] for w, name in enumerate(node.trace.wire_names) if "bit" in name or "one-hot" in name}
        polynomials = {w: _constant(value, y, out) for w, value in wires.items()} | {ONE: _constant(1, y, out)}
        polynomials |= {node.trace.secret[name]: _poly(s, y, out) for name, s in zip(names, y, strict=True)}
        polynomials[1 + node.trace.public.index("out")] = _poly(out, y, out)
        for square in node.known:
            (wire,) = square.square.terms
            polynomials[wire] = _value(square.x.terms, polynomials) ** 2
        *shifted, last = node.rows()
        for row in shifted:
            assert row.a == row.b
            (wire,) = row.c
            polynomials[wire] = _value(row.a, polynomials) ** 2
        residual = _value(last.a, polynomials) ** 2 - _value(last.c, polynomials)
        factor = -residual.coeff_monomial(out)
        assert factor % R
        assert residual == _poly(y[d] - out, y, out) * factor


def _poly(expression: Any, y: Any, out: Any) -> Any:
    return sympy.Poly(expression, *y, out, domain=FIELD)


def _constant(value: int, y: Any, out: Any) -> Any:
    return _poly(sympy.Integer(value), y, out)


def _value(terms: Terms, polynomials: Mapping[int, Any]) -> Any:
    return sum(polynomials[w] * c for w, c in terms.items())


# The completed squares -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", ARITIES)
def test_the_form_of_the_standing_squares_is_diagonal(n: int) -> None:
    """sum_i d_i (m_i y)^2 = sum_p w_p P_p(z)^2 and sum_p sigma_p P_p = sum_j s_j z_j at random numbers; no w_p is 0."""
    matrix = tuple(row[1:] for row in poseidon_parameters(n).mds)
    diagonal, rng = _diagonal(matrix), random.Random(n)
    y, s = ([rng.randrange(R) for _ in range(count)] for count in (n, n - 1))
    z = [(value - y[-1]) % R for value in y[:-1]]
    left = sum(d * _dot(row, y) ** 2 for d, row in zip(diagonal.factors, matrix, strict=True))
    forms = [_dot(form, z) for form in diagonal.forms]
    assert all(diagonal.weights)
    assert (left - sum(w * p * p for w, p in zip(diagonal.weights, forms, strict=True))) % R == 0
    assert (sum(_dot(sigma, s) * p for sigma, p in zip(diagonal.sigmas, forms, strict=True)) - _dot(s, z)) % R == 0


@given(st.integers(1, 5), st.data())
def test_left_kernel_is_orthogonal_to_every_column(n: int, data: st.DataObject) -> None:
    matrix = tuple(tuple(data.draw(elements) for _ in range(n)) for _ in range(n + 1))
    try:
        kernel = _left_kernel(matrix)
    except StopIteration:  # the upper square has no inverse
        return
    assert kernel[-1] == 1
    assert [_dot(kernel, [row[j] for row in matrix]) for j in range(n)] == [0] * n


def _dot(u: Any, v: Any) -> int:
    return sum(x * y for x, y in zip(u, v, strict=True)) % R

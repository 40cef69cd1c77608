import random

import pytest

from bonsai_circuits.dsl.elimination import to_r1cs
from bonsai_circuits.errors import CircuitError
from bonsai_circuits.witness.runner import run
from tests.support import broken, builder, compiled, free_wires, satisfied


def test_an_equation_eliminates_a_private_input_before_a_product() -> None:
    c = builder("x")
    product = c.secret("a") * c.secret("b")
    product.must_equal(c.secret("d") + c.public("x"))
    c.must_be_square(c.public("x"), c.secret("d"), "x^2 = d")
    system = to_r1cs(c.finish()).system
    assert system.n_rows == 2
    assert system.wire_names == ("one", "x", "a", "b", "test/product")


def test_an_equation_of_public_inputs_stays_a_row() -> None:
    def describe(c, p, w):
        (p.x + 1).must_equal(p.y)
        _ = p.x * p.y

    circuit = compiled(describe, "x", "y")
    assert circuit.r1cs.n_rows == 2
    assert satisfied(circuit, {"x": 1, "y": 2})
    assert not satisfied(circuit, {"x": 1, "y": 3})


def test_contradicting_equations_are_refused() -> None:
    c = builder("x")
    a = c.secret("a")
    _ = a * c.public("x")
    a.must_equal(1)
    a.must_equal(2)
    with pytest.raises(CircuitError, match="contradicts"):
        to_r1cs(c.finish())


def test_an_equation_that_follows_from_others_costs_nothing() -> None:
    c = builder("x")
    a, b = c.secret("a"), c.secret("b")
    _ = a * b + c.public("x") * a
    (a + b).must_equal(5)
    (2 * a + 2 * b).must_equal(10)
    assert to_r1cs(c.finish()).system.n_rows == 2


def test_a_public_input_that_is_only_equated_with_free_wires_is_refused() -> None:
    c = builder("x")
    c.public("x").must_equal(c.secret("a"))
    _ = c.secret("b") * c.secret("d")
    with pytest.raises(CircuitError, match="no row holds this"):
        to_r1cs(c.finish())


def test_a_hint_that_is_only_equated_with_a_free_input_is_refused() -> None:
    c = builder("x")
    c.hint_bit(c.public("x"), 0, "bit").must_equal(c.secret("a"))
    _ = c.public("x") * c.public("x")
    with pytest.raises(CircuitError, match="test/bit: no row holds this"):
        to_r1cs(c.finish())


def test_chained_equations_leave_no_eliminated_wire() -> None:
    def describe(c, p, w):
        p.out.must_equal(c.square(w.a + 2 * w.b, "s"))
        (w.b - w.a).must_equal(p.x)
        w.a.must_equal(p.y)

    assert compiled(describe, "out", "x", "y").r1cs.wire_names == ("one", "out", "x", "y")


def test_a_wire_eliminated_late_goes_from_earlier_solutions_too() -> None:
    """a = b + 1, then b = d + 1: one of the three stays, and the others are combinations of it alone."""

    def describe(c, p, w):
        p.y.must_equal(w.a * w.a)
        w.a.must_equal(w.b + 1)
        w.b.must_equal(w.d + 1)
        p.z.must_equal(w.d * w.d)

    circuit = compiled(describe, "y", "z")
    assert len({"a", "b", "d"} & set(circuit.r1cs.wire_names)) == 1
    assert satisfied(circuit, {"a": 5, "b": 4, "d": 3, "y": 25, "z": 9})
    assert not satisfied(circuit, {"a": 5, "b": 4, "d": 3, "y": 26, "z": 9})
    assert not satisfied(circuit, {"a": 6, "b": 5, "d": 3, "y": 36, "z": 9})


@pytest.mark.parametrize("seed", range(25))
def test_random_circuits_keep_their_meaning(seed: int) -> None:
    """Rows and equations at random: trace, R1CS and square system accept the same witnesses and reject the same changes."""

    def describe(c, p, w):
        rng = random.Random(seed)
        pool = [p.x, w.a, w.b, w.d]
        for i in range(12):
            u, v = (rng.choice(pool) * rng.randrange(1, 4) + rng.choice(pool) + rng.randrange(3) for _ in range(2))
            match rng.randrange(4):
                case 0:
                    pool.append(c.square(u, f"square {i}"))
                case 1:
                    pool.append(u * v)
                case 2:
                    pool.append(c.boolean(u, rng.randrange(200), f"bit {i}"))
                case 3:
                    copy = c.hint_value(u - v, f"copy {i}")
                    (copy + v).must_equal(u)
                    pool.append(copy)
        p.out.must_equal(pool[-1] + pool[-2] * pool[-3] + w.a * w.b + w.d * p.x)

    circuit = compiled(describe, "out", "x")
    inputs = {"x": 3, "a": 5, "b": 7, "d": 11}
    honest = run(circuit.tape, inputs)
    assert not any(broken(circuit, honest))
    assert not satisfied(circuit, inputs | {"out": honest.public()["out"] + 1})
    n_fixed = 1 + len(circuit.r1cs.public)
    assert free_wires(circuit.r1cs, honest.r1cs(), n_fixed) == []
    assert free_wires(circuit.square, honest.square(), n_fixed) == []

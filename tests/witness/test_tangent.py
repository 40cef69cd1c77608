"""The derivative of the witness program against dual numbers."""

from collections.abc import Sequence

import numpy as np
import pytest

from bonsai_circuits.dsl.trace import Op
from bonsai_circuits.kernels.tangent import DIFFERENTIATED
from bonsai_circuits.witness.runner import Witness
from bonsai_circuits.witness.tangent import deviating_registers, input_tangents
from bonsai_verifier.field import fr_from_ints, fr_to_ints
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.support import compiled

Dual = tuple[int, int]  # x + e y with e^2 = 0


def describe(c, p, w):
    bit = c.boolean(w.a, 0, "bit")
    product = c.product(w.a + 2 * w.b, w.b + 1, "product")
    inverse = c.hint_inverse(w.a - w.b, "inverse")
    quotient = c.hint_quotient(product, w.a + w.d, "quotient")
    fifth = c.hint_fifth(3 * w.a - 1, product, "fifth")
    selected = c.hint_select(bit, product, w.b, "selected")
    other = c.hint_select(1 - bit, product, w.b, "other")
    value = c.hint_value(7 * w.a + product, "value")
    none = c.hint_inverse(w.a - w.a_again, "1/0"), c.hint_quotient(w.b, w.a - w.a_again, "b/0")
    total = inverse + quotient + fifth + selected + other + value + none[0] + none[1]
    p.x.must_equal(c.square(total, "total^2") + product)
    c.must_be_product(total, w.b + w.d + w.a_again, p.y, "y")


CIRCUIT = compiled(describe, "x", "y")
INPUTS = {"a": 5, "b": 11, "d": 13, "a_again": 5, "y": 0}


def times(x: Dual, y: Dual) -> Dual:
    return x[0] * y[0] % R, (x[0] * y[1] + x[1] * y[0]) % R


def plus(x: Dual, y: Dual) -> Dual:
    return (x[0] + y[0]) % R, (x[1] + y[1]) % R


def inverted(x: Dual) -> Dual:
    """1/x, and 0 for x = 0."""
    i = pow(x[0], -1, R) if x[0] else 0
    return i, -i * i * x[1] % R


def dual_run(w: Witness, moved: str) -> list[Dual]:
    """The tape on dual numbers, one input moving by e."""
    tape = w.tape
    values = fr_to_ints(w.registers)
    duals: list[Dual] = [(value, 0) for value in values]
    duals[tape.inputs[moved]] = (values[tape.inputs[moved]], 1)
    coeff = fr_to_ints(tape.coeff)

    def combination(k: int) -> Dual:
        total = (0, 0)
        for e in range(int(tape.start[k]), int(tape.start[k + 1])):
            total = plus(total, times((coeff[e], 0), duals[tape.register[e]]))
        return total

    for op, target, x, y, immediate in tape.code.tolist():
        u = combination(x)
        match Op(op):
            case Op.LINEAR | Op.DEFAULT:
                duals[target] = u
            case Op.PRODUCT:
                duals[target] = times(u, combination(y))
            case Op.BIT:
                duals[target] = (u[0] >> immediate & 1, 0)
            case Op.FIFTH:
                square = times(u, u)
                duals[target] = plus(times(times(square, square), u), combination(y))
            case Op.INVERSE:
                duals[target] = inverted(u)
            case Op.SELECT:
                duals[target] = u if combination(immediate)[0] else combination(y)
            case Op.QUOTIENT:
                duals[target] = times(u, inverted(combination(y)))
    return duals


def test_every_operation_has_a_derivative() -> None:
    assert set(DIFFERENTIATED) == set(Op)


@pytest.mark.parametrize("inputs", [INPUTS, INPUTS | {"a": 6, "a_again": 6}, INPUTS | {"b": 5}, INPUTS | {"d": R - 5}])
def test_tangents_are_those_of_dual_numbers(inputs: dict[str, int]) -> None:
    w = CIRCUIT.witness(inputs)
    found = dict(input_tangents(w))
    assert found.keys() == inputs.keys()
    for name, tangent in found.items():
        duals = dual_run(w, name)
        assert [x for x, _ in duals] == fr_to_ints(w.registers)
        assert [dx for _, dx in duals] == fr_to_ints(tangent)


def moved(w: Witness, changes: Sequence[tuple[str, int]]) -> list[str]:
    """The wires that deviate where all wires are held and these move."""
    names = CIRCUIT.traced.wire_names
    tangent, held = np.zeros_like(w.registers), np.ones(len(w.registers), np.bool_)
    for name, value in changes:
        tangent[names.index(name)] = fr_from_ints([value])[0]
    return [names[r] for r in deviating_registers(w, tangent, held) if r < len(names)]


def test_a_wire_deviates_if_it_moves_otherwise_than_what_it_reads() -> None:
    w = CIRCUIT.witness(INPUTS)
    assert moved(w, []) == []
    assert moved(w, [("test/bit", 1)]) == ["test/bit"]
    assert "test/value" in moved(w, [("a", 1)])
    assert "test/value" not in moved(w, [("a", 1), ("test/value", 7)])

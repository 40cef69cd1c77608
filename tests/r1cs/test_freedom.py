"""What a change of one wire does to each row, and which changes pass, against trying them."""

import random

import numpy as np
import pytest

from bonsai_circuits.pipeline import Compiled
from bonsai_circuits.r1cs.diagnose import sides
from bonsai_circuits.r1cs.freedom import Change, Deviations
from bonsai_circuits.r1cs.system import R1CS, SquareR1CS
from bonsai_verifier.field import fr_add, fr_from_ints, fr_to_ints
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.support import compiled


def describe(c, p, w):
    bit = c.boolean(w.a, 0, "bit")
    product = c.product(w.a + bit, w.b - 3, "product")
    p.x.must_equal(c.square(product + w.b, "square") * w.a)
    c.must_be_product(bit, w.d, c.num(0), "bit d = 0")


CIRCUIT = compiled(describe, "x")


def residuals(system: R1CS | SquareR1CS, z: list[int]) -> list[int]:
    left, right = sides(system, fr_from_ints(z))
    return [(a - b) % R for a, b in zip(fr_to_ints(left), fr_to_ints(right), strict=True)]


@pytest.mark.parametrize("name", ["r1cs", "square"])
def test_a_change_adds_a_square_and_a_linear_term(name: str) -> None:
    system, w = getattr(CIRCUIT, name), CIRCUIT.witness({"a": 6, "b": 7, "d": 5})
    z = fr_to_ints(getattr(w, name)())
    found = Deviations.of(system, fr_from_ints(z))
    square, linear = fr_to_ints(found.square), fr_to_ints(found.linear)
    is_linear = np.diff(system.b.start) == 0 if isinstance(system, SquareR1CS) else np.zeros(system.n_rows, np.bool_)
    rng = random.Random(1)
    for wire in range(system.n_wires):
        d = rng.randrange(1, R)
        changed = residuals(system, [x + d * (i == wire) for i, x in enumerate(z)])
        expected = [0] * system.n_rows
        for e in np.flatnonzero(found.wire == wire):
            expected[found.row[e]] = (square[e] * d * d + linear[e] * d) % R
        for row in range(system.n_rows):
            if is_linear[row]:  # a^2 = 0 is taken as a = 0
                assert changed[row] == expected[row] ** 2 % R
            else:
                assert changed[row] == expected[row]


def other_values(circuit: Compiled, name: str, w: int, z: list[int]) -> set[int]:
    """The changes of wire w, among all that any row could allow and one random one, that no row notices."""
    system = getattr(circuit, name)
    found = Deviations.of(system, fr_from_ints(z))
    candidates = {12345}
    for square, linear in zip(fr_to_ints(found.square), fr_to_ints(found.linear), strict=True):
        if square and linear:
            candidates.add(-linear * pow(square, -1, R) % R)
    return {d for d in candidates if not any(residuals(system, [x + d * (i == w) for i, x in enumerate(z)]))}


@pytest.mark.parametrize("name", ["r1cs", "square"])
@pytest.mark.parametrize("inputs", [{"a": 6, "b": 7, "d": 5}, {"a": 0, "b": 7, "d": 5}, {"a": 0, "b": 3, "d": 0}])
def test_changes_that_pass_are_those_that_trying_finds(name: str, inputs: dict[str, int]) -> None:
    w = CIRCUIT.witness(inputs)
    assert not CIRCUIT.failures(w)
    z = fr_to_ints(getattr(w, name)())
    change = Deviations.of(getattr(CIRCUIT, name), fr_from_ints(z)).alone()
    for wire in range(1, len(z)):
        passing = other_values(CIRCUIT, name, wire, z)
        expected = Change.ANY if 12345 in passing else Change.ONE_OTHER if passing else Change.HELD
        assert change[wire] == expected, wire


def splits(c, p, w):
    """Three splits of one kind, each held in another row, and a bit that is held."""
    half = pow(2, -1, R)
    held = c.boolean(w.n, 0, "held")
    c.must_be_product(held, w.n, p.x, "held n = x")
    for name in ("first", "second", "third"):
        b = c.boolean(w.n, 0, f"{name} bit")
        h = c.hint_value((w.n - b) * half, f"{name} half")
        y = 2 * h + b
        if name == "first":
            c.must_be_product(y, y, p.y, "y^2")
        elif name == "second":
            c.must_be_product(y, w.n, p.y, "n y")
        else:
            c.must_be_product(w.n, w.n, p.y + y - w.n, "n^2 + y - n")


@pytest.mark.parametrize("name", ["r1cs", "square"])
def test_pairs_are_switches_and_the_wires_that_make_up_for_them(name: str) -> None:
    circuit = compiled(splits, "x", "y")
    w = circuit.witness({"n": 7, "x": 7, "y": 49})
    assert not circuit.failures(w)
    system, z = getattr(circuit, name), getattr(w, name)()
    fixed = np.zeros(system.n_wires, np.bool_)
    fixed[: 1 if name == "r1cs" else 2 + len(system.public)] = True
    deviations = Deviations.of(system, z).after(0 if name == "r1cs" else 1 + len(system.public))
    names = system.wire_names
    switches, amounts = deviations.switches(fixed)
    assert [names[s] for s in switches] == [f"test/{x}" for x in ("held", "first_bit", "second_bit", "third_bit")]
    assert fr_to_ints(amounts) == [R - 1] * 4
    pairs = deviations.pairs(fixed)
    assert [(names[pair.switch], names[pair.wire]) for pair in pairs] == [
        ("test/held", "x"),
        ("test/first_bit", "test/first_half"),
        ("test/second_bit", "test/second_half"),
        ("test/third_bit", "test/third_half"),
    ]
    for pair in pairs:
        changed = z.copy()
        for wire, change in ((pair.switch, pair.switch_change), (pair.wire, pair.wire_change)):
            changed[wire] = fr_add(z[[wire]], change[None])[0]
        outline = 0 if name == "r1cs" else 1 + len(system.public)
        assert not any(residuals(system, fr_to_ints(changed))[outline:])

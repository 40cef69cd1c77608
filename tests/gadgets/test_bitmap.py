from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.dsl.wires import Bit
from bonsai_circuits.errors import CircuitError
from bonsai_circuits.gadgets.bitmap import WORD_BITS, WORDS, take_bit
from bonsai_circuits.gadgets.digit import Digit
from bonsai_circuits.gadgets.range import bits
from bonsai_circuits.pipeline import Compiled
from bonsai_circuits.witness.runner import run
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.support import builder, cheated, compiled, loose_wires, open_wires, refusals

sympy: Any = import_module("sympy")  # untyped

FLAGS = WORD_BITS * WORDS
NO_BITS = [2, R - 1, pow(2, -1, R)]
LEAF = 0xA5_0F_96_3C_00_FF_18_E7_5A_F0_69_C3_81_7E_24_DB
FREE = [i for i in range(FLAGS) if not LEAF >> i & 1]
TAKEN = [i for i in range(FLAGS) if LEAF >> i & 1]
WORD = "test/bitmap/selected_word"


def bitmap(gated: bool) -> Compiled:
    def describe(c, p, w):
        position = bits(c, w.position, 7)
        digits = (Digit(c, position[:3], shared=True), Digit(c, position[3:5]), Digit(c, position[5:]))
        active = bits(c, w.active, 1)[0] if gated else None
        before, after = take_bit(c, c.secret("leaf"), digits, active)
        p.before.must_equal(before)
        p.after.must_equal(after)

    return compiled(describe, "before", "after")


ALWAYS, GATED = bitmap(False), bitmap(True)


def taken_label(position: int) -> str:
    return f"flag {position % WORD_BITS} of the word is 0 or 1, and 0 if it is to be taken"


def word_of(leaf: int, position: int) -> int:
    return leaf >> (position // WORD_BITS * WORD_BITS) & 0xFF


@settings(max_examples=40)
@given(st.integers(0, 2**FLAGS - 1), st.integers(0, FLAGS - 1), st.sampled_from([None, 0, 1]))
def test_one_bit_is_set_and_no_other(leaf: int, position: int, active: int | None) -> None:
    leaf &= ~(1 << position)
    circuit = ALWAYS if active is None else GATED
    w = run(circuit.tape, {"leaf": leaf, "position": position} | ({} if active is None else {"active": active}))
    assert w.public() == {"before": leaf, "after": leaf if active == 0 else leaf | 1 << position}
    assert refusals(circuit, w) == [set()] * 3


def test_every_position_is_taken_once() -> None:
    """From the empty leaf to the full one, in an order that wanders."""
    leaf = 0
    for i in range(FLAGS):
        position = i * 37 % FLAGS
        w = run(ALWAYS.tape, {"leaf": leaf, "position": position})
        assert refusals(ALWAYS, w) == [set()] * 3
        leaf = w.public()["after"]
    assert leaf == 2**FLAGS - 1


@pytest.mark.parametrize("gated", [False, True])
def test_bitmap_costs_what_it_says(gated: bool) -> None:
    """Bits of the position, one-hot forms, tables; 128 + 8 booleans, 15 products to select, 2^position."""
    circuit = GATED if gated else ALWAYS
    r1cs = 7 + 4 + 2 + (FLAGS + 8) + 15 + 2 + 2 * gated  # gated: the bit and its product
    square = 7 + 4 + 2 * 1 + (FLAGS + 8) + 2 * 15 + 3 + 2 * gated
    assert circuit.r1cs.n_rows == r1cs
    assert circuit.square.n_rows == square + 3


# Taken already ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("position", TAKEN)
def test_a_bit_that_is_taken_is_rejected_by_its_row(position: int) -> None:
    w = run(ALWAYS.tape, {"leaf": LEAF, "position": position})
    assert refusals(ALWAYS, w) == [{taken_label(position)}] * 3


@pytest.mark.parametrize("position", TAKEN[::7])
@pytest.mark.parametrize("active", [0, 1])
def test_a_bit_that_is_taken_is_rejected_whether_active_or_not(position: int, active: int) -> None:
    w = run(GATED.tape, {"leaf": LEAF, "position": position, "active": active})
    assert refusals(GATED, w) == [{taken_label(position)}] * 3


@pytest.mark.parametrize("position", TAKEN[::7])
def test_a_taken_bit_that_is_denied_is_rejected_by_the_word(position: int) -> None:
    """The flag says free, the word does not."""
    w = cheated(ALWAYS, {"leaf": LEAF, "position": position}, {f"{WORD}/selected_flag_{position % WORD_BITS}": 0})
    assert refusals(ALWAYS, w) == [{"the selected value"}] * 3


# Another word ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("position", [FREE[0], FREE[20], FREE[-1], TAKEN[0], TAKEN[-1]])
def test_flags_of_another_word_are_rejected(position: int) -> None:
    """All 256 choices of the selected flags: the word's own, if the flag is free there, and no other."""
    for byte in range(256):
        pinned = {f"{WORD}/selected_flag_{j}": byte >> j & 1 for j in range(WORD_BITS)}
        labels = refusals(ALWAYS, cheated(ALWAYS, {"leaf": LEAF, "position": position}, pinned))
        expected = set()
        if byte != word_of(LEAF, position):
            expected.add("the selected value")
        if byte >> position % WORD_BITS & 1:
            expected.add(taken_label(position))
        assert labels == [expected] * 3


@pytest.mark.parametrize("position", [FREE[3], FREE[-4]])
def test_a_selection_that_took_another_way_is_rejected(position: int) -> None:
    """Each step of the selection and each power of two set to another value, everything else following from it."""
    present = {*GATED.r1cs.wire_names, *GATED.square.wire_names}
    names = [name for name in present if "power_of_two" in name or "/select" in name.removeprefix(WORD)]
    assert len(names) == 14 + 8 + 2 + 2  # steps, flags, tables of the upper digits, powers; `after` stands for the last
    for name in names:
        labels = refusals(
            GATED, cheated(GATED, {"leaf": LEAF, "position": position, "active": 1}, {name: 3 * 2**130 + 1})
        )
        assert labels[0], name
        assert labels[1] or labels[2], name


# Forged flags ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("i", range(FLAGS))
def test_a_flag_that_is_no_bit_is_rejected_by_its_row(i: int) -> None:
    name = f"test/bitmap/flags/flag_{i}"
    inputs = {"leaf": LEAF, "position": FREE[i % len(FREE)], "before": LEAF}
    for value in (NO_BITS[i % 3], 1 - (LEAF >> i & 1)):
        trace, r1cs, square = refusals(ALWAYS, cheated(ALWAYS, inputs, {name: value}))
        assert (f"flag {i} is 0 or 1" in trace) == (value > 1)
        assert r1cs
        assert square
        honest_sum = (LEAF + (value - (LEAF >> i & 1)) * 2**i) % R
        labels = refusals(ALWAYS, cheated(ALWAYS, inputs | {"before": honest_sum}, {name: value}))
        assert all(labels) == (value > 1 or (i == inputs["position"] and value == 1))


@pytest.mark.parametrize("j", range(WORD_BITS))
@pytest.mark.parametrize("value", NO_BITS)
def test_a_selected_flag_that_is_no_bit_is_rejected_by_its_row(j: int, value: int) -> None:
    for position in (FREE[0], FREE[-1]):
        w = cheated(ALWAYS, {"leaf": LEAF, "position": position}, {f"{WORD}/selected_flag_{j}": value})
        label = f"flag {j} of the word is 0 or 1, and 0 if it is to be taken"
        for labels in refusals(ALWAYS, w):
            assert labels == {label, "the selected value"}


@pytest.mark.parametrize("value", NO_BITS)
@pytest.mark.parametrize("wire", [*(f"test/bits[7]/bit_{i}" for i in range(7)), "test/bits[1]/bit_0"])
def test_selectors_and_branch_bits_of_2_and_minus_1_and_a_half_are_rejected(wire: str, value: int) -> None:
    w = cheated(GATED, {"leaf": 0, "position": 0, "active": 0}, {wire: value})
    label = wire.rpartition("/")[2].replace("_", " ")
    for labels in refusals(GATED, w):
        assert f"{label} is 0 or 1" in labels


def test_a_leaf_of_more_bits_is_the_leaf_of_its_bits() -> None:
    """The leaf is advice: what is beyond 128 bits reaches no row."""
    for leaf in (LEAF + 2**FLAGS, LEAF + 2**254):
        assert run(ALWAYS.tape, {"leaf": leaf, "position": FREE[0]}).public()["before"] == LEAF


@pytest.mark.parametrize("position", [FREE[0], FREE[-1]])
def test_every_wire_is_bound(position: int) -> None:
    """None can be changed alone; and given flags, bits of the position and the branch bit, each has one value."""
    w = run(GATED.tape, {"leaf": LEAF, "position": position, "active": 1})
    for system, z in ((GATED.r1cs, w.r1cs()), (GATED.square, w.square())):
        assert loose_wires(system, z, 3) == []
        assert open_wires(system, z, lambda name: "/flag_" in name or "/bit_" in name or "/selected_flag" in name) == []


# Algebra ---------------------------------------------------------------------------------------------------------------------


def test_both_rows_of_a_selected_flag_say_the_same() -> None:
    """((d + s/2)^2 - (d + s/4)) - d (d + s - 1) = (s^2 - s) / 4."""
    d, s = sympy.symbols("d s")
    square = (d + s / 2) ** 2 - (d + s / 4)
    assert sympy.expand(square - d * (d + s - 1) - (s**2 - s) / 4) == 0


def test_the_square_row_of_the_powers_is_their_product() -> None:
    """(a + b)^2 - (a2 + b2 + 2 out) = (a^2 - a2) + (b^2 - b2) + 2 (a b - out)."""
    a, b, a2, b2, out = sympy.symbols("a b a2 b2 out")
    row = (a + b) ** 2 - (a2 + b2 + 2 * out)
    assert sympy.expand(row - ((a**2 - a2) + (b**2 - b2) + 2 * (a * b - out))) == 0


def test_the_square_of_a_table_is_the_table_of_squares() -> None:
    """(sum c_j s_j)^2 - sum c_j^2 s_j is in the ideal of s_i s_j, i != j, and s_j^2 - s_j."""
    c, s = sympy.symbols("c:4"), sympy.symbols("s:4")
    one_hot = [s[i] * s[j] if i != j else s[i] ** 2 - s[i] for i in range(4) for j in range(i, 4)]
    table = sum(x * y for x, y in zip(c, s, strict=True))
    _, rest = sympy.reduced(table**2 - sum(x**2 * y for x, y in zip(c, s, strict=True)), one_hot, *s)
    assert rest == 0


# Other digits ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("widths", "shared"), [((3, 2, 2), False), ((2, 3, 2), True), ((3, 2, 1), True)])
def test_other_digits_are_refused(widths: tuple[int, ...], shared: bool) -> None:
    """Unshared, the R1CS would not tie the one-hot form that the flags are read with."""
    c = builder("x")
    low, middle, high = (Digit(c, [Bit.trusted(c.public("x"))] * width, shared) for width in widths)
    with pytest.raises(CircuitError, match="3, 2 and 2 bits"):
        take_bit(c, c.secret("leaf"), (low, middle, high), None)

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.dsl.wires import Bit
from bonsai_circuits.gadgets.range import FIELD_BITS, bits, field_bits, in_range, packed
from bonsai_circuits.witness.runner import run
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.support import broken, builder, cheated, compiled


def lowest_and_highest(c, p, w):
    own = field_bits(c, w.x)
    p.lowest.must_equal(own[0])
    p.highest.must_equal(own[-1])


CIRCUIT = compiled(lowest_and_highest, "lowest", "highest")


@given(st.one_of(st.sampled_from([0, 1, R - 1, 2**254]), st.integers(0, R - 1)))
@settings(max_examples=30)
def test_bits_are_those_of_the_canonical_value(x: int) -> None:
    w = run(CIRCUIT.tape, {"x": x})
    assert w.public() == {"lowest": x & 1, "highest": x >> 254}
    assert not any(broken(CIRCUIT, w))


def test_bits_cost_one_row_each_in_both_systems() -> None:
    assert CIRCUIT.r1cs.n_rows == CIRCUIT.square.n_rows - 3 == FIELD_BITS


@pytest.mark.parametrize("value", [2, R - 1, pow(2, -1, R)])
def test_a_bit_that_is_no_bit_is_rejected_by_its_row(value: int) -> None:
    w = cheated(CIRCUIT, {"x": 7}, {"test/bits[255]/bit_3": value})
    assert broken(CIRCUIT, w)[0][0].label == "bit 3 is 0 or 1"


def test_an_alias_is_the_one_other_string_of_a_small_value() -> None:
    """7 + r has 255 bits as well; nothing but the bits tells it from 7, so only what hashes the bits may use them."""
    names = [f"test/bits[255]/bit_{i}" for i in range(FIELD_BITS)]
    alias = {name: (7 + R) >> i & 1 for i, name in enumerate(names)}
    w = cheated(CIRCUIT, {"x": 7}, alias)
    assert not any(broken(CIRCUIT, w))
    assert w.public()["lowest"] == (7 + R) & 1


def test_a_value_is_unpacked_once() -> None:
    c = builder()
    x = c.secret("x")
    own = bits(c, x, 8)
    in_range(c, x, 8)
    assert [bit.key() for bit in bits(c, x, 8)] == [bit.key() for bit in own]
    assert len(field_bits(c, x)) == len(field_bits(c, x)) == FIELD_BITS
    assert len(c.finish().rows) == 8 + FIELD_BITS


def test_packed_bits_are_found_again() -> None:
    c = builder("x")
    own = [Bit.trusted(c.boolean(c.public("x"), i, "bit")) for i in range(8)]
    value = packed(c, own)
    assert [bit.key() for bit in bits(c, value, 8)] == [bit.key() for bit in own]
    bits(c, value, 9)  # another width is another question
    _ = c.public("x") * c.public("x")
    assert len(c.finish().rows) == 8 + 9 + 1


def test_constants_add_no_rows() -> None:
    c = builder("x")
    assert [bit.constant_value() for bit in field_bits(c, c.num(5))[:4]] == [1, 0, 1, 0]
    _ = c.public("x") * c.public("x")
    assert len(c.finish().rows) == 1

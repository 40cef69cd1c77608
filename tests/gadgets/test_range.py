import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonsai_circuits.errors import CircuitError
from bonsai_circuits.gadgets.range import bits, in_range
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.support import builder, compiled, forged, satisfied


def eight_bits(c, p, w):
    in_range(c, p.x, 8)


EIGHT_BITS = compiled(eight_bits, "x")


@given(st.integers(0, R - 1) | st.integers(0, 600))
def test_in_range_accepts_exactly_the_range(x: int) -> None:
    assert satisfied(EIGHT_BITS, {"x": x}) == (x < 256)


@pytest.mark.parametrize("x", [256, 2**64, 2**64 + 5, R - 1, R - 256, (R - 1) // 2])
def test_in_range_refuses_the_edges(x: int) -> None:
    assert not satisfied(EIGHT_BITS, {"x": x})


@pytest.mark.parametrize("n", [1, 8, 64, 254])
def test_bits_cost_one_row_each_in_both_systems(n: int) -> None:
    circuit = compiled(lambda c, p, w: in_range(c, p.x, n), "x")
    assert circuit.r1cs.n_rows == n
    assert circuit.square.n_rows == n + 2  # and two outline rows


@pytest.mark.parametrize("value", [2, R - 1, pow(2, -1, R)])
def test_a_bit_that_is_no_bit_is_rejected_by_its_row(value: int) -> None:
    failed = forged(EIGHT_BITS, {"x": 0}, "test/bits[8]/bit_3", value)
    assert failed[0].label == "bit 3 is 0 or 1"


def test_other_bits_of_the_same_value_are_rejected_by_the_sum() -> None:
    failed = forged(EIGHT_BITS, {"x": 5}, "test/bits[8]/bit_1", 1)
    assert [row.label for row in failed] == ["value is below 2^8"]


@pytest.mark.parametrize("n", [0, 255, 256])
def test_ambiguous_or_empty_widths_are_refused(n: int) -> None:
    c = builder("x")
    with pytest.raises(CircuitError, match=r"1 \.\. 254"):
        bits(c, c.public("x"), n)


def test_constants_add_no_rows() -> None:
    c = builder("x")
    assert [b.constant_value() for b in bits(c, c.num(5), 4)] == [1, 0, 1, 0]
    with pytest.raises(CircuitError, match="not below"):
        bits(c, c.num(16), 4)
    _ = c.public("x") * c.public("x")
    assert len(c.finish().rows) == 1

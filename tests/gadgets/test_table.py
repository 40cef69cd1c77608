import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.dsl.trace import System
from bonsai_circuits.dsl.wires import Bit
from bonsai_circuits.gadgets.range import bits
from bonsai_circuits.gadgets.table import Tables, interpolated, monomials
from bonsai_circuits.pipeline import Compiled
from bonsai_circuits.witness.runner import run
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.support import broken, builder, compiled, forged

VALUES = [pow(5, i, R) for i in range(32)]


def circuit_of(n: int, low: int) -> Compiled:
    """Two tables over n bits; low = n: from all monomials."""

    def describe(c, p, w):
        position = bits(c, w.i, n)
        values, others = VALUES[: 1 << n], [x * x % R for x in VALUES[: 1 << n]]
        if low == n:
            products = monomials(c, position)
            p.out.must_equal(interpolated(c, products, values))
            p.other.must_equal(interpolated(c, products, others))
        else:
            tables = Tables(c, position, low)
            p.out.must_equal(tables.at(values, "table"))
            p.other.must_equal(tables.at(others, "other table"))

    return compiled(describe, "out", "other")


SHAPES = [(1, 1), (2, 2), (3, 3), (3, 2), (4, 3), (4, 2), (5, 3)]
CIRCUITS = {shape: circuit_of(*shape) for shape in SHAPES}


@pytest.mark.parametrize("shape", SHAPES)
def test_table_has_its_values(shape: tuple[int, int]) -> None:
    for i in range(1 << shape[0]):
        w = run(CIRCUITS[shape].tape, {"i": i})
        assert w.public() == {"out": VALUES[i], "other": VALUES[i] ** 2 % R}
        assert not any(broken(CIRCUITS[shape], w))


@pytest.mark.parametrize("shape", SHAPES)
def test_table_costs_what_it_says(shape: tuple[int, int]) -> None:
    n, low = shape
    c = builder()
    position = bits(c, c.secret("i"), n)
    if low == n:
        interpolated(c, monomials(c, position), VALUES[: 1 << n])
    else:
        Tables(c, position, low).at(VALUES[: 1 << n], "table")
    rows = c.finish().rows
    products = sum((1 << m) - 1 - m for m in (low, n - low))
    for system in System:
        assert sum(row.system in (None, system) for row in rows) == n + products + (1 << (n - low)) - 1


@pytest.mark.parametrize("label", ["product_of_bits", "table", "other_table"])
def test_a_forged_wire_is_rejected_by_its_row(label: str) -> None:
    failed = forged(CIRCUITS[5, 3], {"i": 27}, f"test/{label}", 12345)
    assert label.replace("_", " ") in [row.label for row in failed]


@given(st.lists(st.integers(0, R - 1), min_size=8, max_size=8), st.integers(0, 7))
@settings(max_examples=20)
def test_constants_add_no_rows(values: list[int], position: int) -> None:
    c = builder("x")
    position_bits = [Bit.trusted(c.num(position >> i & 1)) for i in range(3)]
    assert interpolated(c, monomials(c, position_bits), values).constant_value() == values[position]
    _ = c.public("x") * c.public("x")
    assert len(c.finish().rows) == 1

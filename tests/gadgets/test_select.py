from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonsai_circuits.dsl.wires import Bit
from bonsai_circuits.errors import CircuitError
from bonsai_circuits.gadgets.range import bits
from bonsai_circuits.gadgets.select import demux, mux
from bonsai_circuits.pipeline import Compiled
from bonsai_circuits.witness.runner import run
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.support import builder, cheated, compiled, loose_wires, open_wires, refusals, satisfied

NO_BITS = [2, R - 1, pow(2, -1, R)]
WIDTHS = (1, 2, 3, 4)
elements = st.integers(0, R - 1)


def mux_of(k: int) -> Compiled:
    def describe(c, p, w):
        mux(c, bits(c, p.d, k), [getattr(w, f"v{i}") for i in range(2**k)], p.out)

    return compiled(describe, "d", "out")


def demux_of(k: int) -> Compiled:
    def describe(c, p, w):
        for i, part in enumerate(demux(c, bits(c, p.d, k), w.x)):
            getattr(p, f"out_{i}").must_equal(part)

    return compiled(describe, "d", *(f"out_{i}" for i in range(2**k)))


MUX = {k: mux_of(k) for k in WIDTHS}
DEMUX = {k: demux_of(k) for k in WIDTHS}


def named(xs: Sequence[int]) -> dict[str, int]:
    return {f"v{i}": x for i, x in enumerate(xs)}


@pytest.mark.parametrize("k", WIDTHS)
@given(data=st.data())
def test_mux_is_the_value_at_the_position(k: int, data: st.DataObject) -> None:
    xs = data.draw(st.lists(elements, min_size=2**k, max_size=2**k))
    d, error = data.draw(st.integers(0, 2**k - 1)), data.draw(st.integers(1, R - 1))
    assert satisfied(MUX[k], {"d": d, "out": xs[d], **named(xs)})
    w = run(MUX[k].tape, {"d": d, "out": (xs[d] + error) % R, **named(xs)})
    assert refusals(MUX[k], w) == [{"the selected value"}] * 3


@pytest.mark.parametrize("k", WIDTHS)
@given(data=st.data())
def test_demux_is_the_value_at_the_position_and_zero_elsewhere(k: int, data: st.DataObject) -> None:
    d, x = data.draw(st.integers(0, 2**k - 1)), data.draw(elements)
    public = run(DEMUX[k].tape, {"d": d, "x": x}).public()
    assert [public[f"out_{i}"] for i in range(2**k)] == [x * (i == d) for i in range(2**k)]
    assert satisfied(DEMUX[k], {"d": d, "x": x})


@pytest.mark.parametrize("k", WIDTHS)
def test_selection_costs_its_products(k: int) -> None:
    """2^k - 1 products, each 2 rows in Square R1CS; then the bits, and the outline of one, d and the outputs."""
    assert MUX[k].r1cs.n_rows == k + 2**k - 1
    assert MUX[k].square.n_rows == k + 2 * (2**k - 1) + 3
    assert DEMUX[k].r1cs.n_rows == k + 2**k - 1
    assert DEMUX[k].square.n_rows == k + 2 * (2**k - 1) + 2 + 2**k


@pytest.mark.parametrize("k", WIDTHS)
@pytest.mark.parametrize("name", ["select", "distribute"])
def test_forged_step_is_rejected_by_its_row(k: int, name: str) -> None:
    circuit = MUX[k] if name == "select" else DEMUX[k]
    for d in range(2**k):
        inputs = {"d": d, "out": 50 + d, **named(range(50, 50 + 2**k))} if name == "select" else {"d": d, "x": 9}
        for wire in circuit.traced.wire_names:
            if f"/{name}" in wire:
                assert name in refusals(circuit, cheated(circuit, inputs, {wire: 12345}))[0]


@pytest.mark.parametrize("k", WIDTHS)
@pytest.mark.parametrize("value", NO_BITS)
def test_a_bit_that_is_no_bit_is_rejected_by_its_own_row(k: int, value: int) -> None:
    """Positions of 2, -1, 1/2: the selection follows them, so nothing but the bit's row notices."""
    xs = [pow(7, i, R) for i in range(2**k)]
    for i in range(k):
        inputs = {"d": (value << i) % R, "out": (xs[0] + value * (xs[1 << i] - xs[0])) % R, **named(xs)}
        w = cheated(MUX[k], inputs, {f"test/bits[{k}]/bit_{j}": value * (i == j) for j in range(k)})
        trace, r1cs, square = refusals(MUX[k], w)
        assert trace == {f"bit {i} is 0 or 1"}
        assert r1cs
        assert square
        assert not satisfied(MUX[k], inputs)


@pytest.mark.parametrize("k", WIDTHS)
def test_every_private_wire_is_bound(k: int) -> None:
    """The values that are not selected are free, and nothing else is."""
    for circuit, inputs in (
        (MUX[k], {"d": 1, "out": 51, **named(range(50, 50 + 2**k))}),
        (DEMUX[k], {"d": 1, "x": 9}),
    ):
        w = run(circuit.tape, inputs)
        for system, z in ((circuit.r1cs, w.r1cs()), (circuit.square, w.square())):
            n_fixed = 1 + len(circuit.r1cs.public)
            assert {name for name in loose_wires(system, z, n_fixed) if "/" in name} == set()
            assert open_wires(system, z, lambda name: name[0] == "v" or "bits" in name) == []


def test_constants_add_no_rows() -> None:
    c = builder("x")
    bit, *constant = [*bits(c, c.public("x"), 1), *(Bit.trusted(c.num(k)) for k in (1, 0))]
    assert [part.constant_value() for part in demux(c, constant, c.num(7))] == [0, 7, 0, 0]
    assert [part.terms for part in demux(c, [bit], c.num(7))] == [(7 - 7 * bit).terms, (7 * bit).terms]
    assert len(c.finish().rows) == 1


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (1, 4), (2, 2), (2, 3), (2, 8), (3, 4)])
def test_mux_refuses_another_number_of_values(k: int, n: int) -> None:
    c = builder("x")
    with pytest.raises(CircuitError, match="one of 2"):
        mux(c, [Bit.trusted(c.public("x"))] * k, [c.num(i) for i in range(n)], c.num(0))

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.errors import CircuitError
from bonsai_circuits.gadgets import montgomery
from bonsai_circuits.gadgets.montgomery import Addend, Size
from bonsai_circuits.gadgets.pedersen import signed
from bonsai_circuits.gadgets.range import bits
from bonsai_circuits.native import jubjub
from bonsai_circuits.native.pedersen import chunk_value, generator, window
from bonsai_circuits.pipeline import Compiled
from bonsai_circuits.witness.runner import run
from tests.support import broken, builder, compiled, forged

G = generator(0)


def sum_of(n: int, known: bool = True) -> Compiled:
    """(u, v) of the sum of n chunks of three bits each."""

    def describe(c, p, w):
        total = None
        for j in range(n):
            table = [jubjub.to_montgomery(point) for point in window(j)]
            addend = signed(c, bits(c, getattr(w, f"x{j}"), 3), table, Size(16**j, 4 * 16**j))
            if not known:
                addend = Addend(addend.x, addend.y, None, addend.sizes)
            total = montgomery.start(addend) if total is None else montgomery.add(c, total, addend)
        assert total is not None
        point = montgomery.to_edwards(c, total)
        p.u.must_equal(point.u)
        p.v.must_equal(point.v)

    return compiled(describe, "u", "v")


SUMS = {n: sum_of(n) for n in (1, 2, 5)}


@pytest.mark.parametrize("n", SUMS)
@given(data=st.data())
@settings(max_examples=15)
def test_sum_equals_its_native_twin(n: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(0, 7), min_size=n, max_size=n))
    w = run(SUMS[n].tape, {f"x{j}": x for j, x in enumerate(values)})
    scalar = sum(chunk_value([x & 1, x >> 1 & 1, x >> 2]) * 16**j for j, x in enumerate(values))
    assert (w.public()["u"], w.public()["v"]) == jubjub.multiply(G, scalar)
    assert not any(broken(SUMS[n], w))


@pytest.mark.parametrize("n", SUMS)
def test_sum_costs_what_it_says(n: int) -> None:
    look_ups = n * (3 + 2)
    end, end_squared = (2, 4) if n == 1 else (3, 6)
    assert SUMS[n].r1cs.n_rows == look_ups + 3 * (n - 1) + end
    first, others = min(n - 1, 1), max(n - 2, 0)
    assert SUMS[n].square.n_rows - 3 == look_ups + 3 * first + 4 * others + end_squared
    unknown = sum_of(n, known=False)
    assert unknown.r1cs.n_rows == SUMS[n].r1cs.n_rows
    assert unknown.square.n_rows - 3 == look_ups + 5 * (n - 1) + end_squared


@pytest.mark.parametrize(
    ("wire", "label"),
    [
        ("test/slope#1", "slope^2 = A + x1 + x2 + x3"),
        ("test/slope#1", "the line passes through the addend"),
        ("test/intercept#1", "the line passes through the addend"),
        ("test/intercept#1", "the line passes through the sum so far"),
        ("test/intercept", "the line passes through the sum so far"),
        ("test/x#1", "slope^2 = A + x1 + x2 + x3"),
        ("test/x#3", "v (x + 1) = x - 1"),
        ("test/y", "y is on the last line"),
        ("test/u", "u y = scale x"),
        ("test/v", "v (x + 1) = x - 1"),
    ],
)
def test_a_forged_wire_is_rejected_by_its_row(wire: str, label: str) -> None:
    failed = forged(SUMS[5], {f"x{j}": j for j in range(5)}, wire, 12345)
    assert label in [row.label for row in failed]


def test_operands_that_may_meet_are_refused() -> None:
    with pytest.raises(CircuitError, match="may meet"):
        Size(1, 4).plus(Size(4, 16))
    with pytest.raises(CircuitError, match="may meet"):
        Size(0, 4).plus(Size(16, 64))
    with pytest.raises(CircuitError, match="may meet"):
        Size(1, 4).plus(Size(16, jubjub.ORDER // 2))
    assert Size(1, 4).plus(Size(16, 64)) == Size(12, 68)
    assert Size(100, 120).plus(Size(16, 64)) == Size(36, 184)


@given(st.integers(1, 50), st.integers(0, 50), st.integers(1, 50), st.integers(0, 50))
def test_sizes_bound_every_sum(low: int, width: int, other: int, other_width: int) -> None:
    a, b = Size(low, low + width), Size(other, other + other_width)
    try:
        total = a.plus(b)
    except CircuitError:
        assert a.high >= b.low
        assert b.high >= a.low
        return
    sums = {
        s * m + t * n
        for m in range(a.low, a.high + 1)
        for n in range(b.low, b.high + 1)
        for s in (1, -1)
        for t in (1, -1)
    }
    assert 0 not in sums
    assert all(total.low <= abs(n) <= total.high for n in sums)


def test_the_bounds_hold_through_a_whole_segment() -> None:
    total = Size(1, 4)
    for j in range(1, 63):
        total = total.plus(Size(16**j, 4 * 16**j))
    with pytest.raises(CircuitError, match="may meet"):
        total.plus(Size(16**63, 4 * 16**63))
    blinding = Size(1, 7)
    for j in range(1, 83):
        blinding = blinding.plus(Size(8**j, 7 * 8**j))
    with pytest.raises(CircuitError, match="may meet"):
        blinding.plus(Size(8**83, 7 * 8**83))


def test_one_addend_alone_adds_no_rows() -> None:
    c = builder("x")
    total = montgomery.start(Addend(c.public("x"), c.public("x"), None, (Size(1, 1),)))
    assert total.x.key() == c.public("x").key()
    _ = c.public("x") * c.public("x")
    assert len(c.finish().rows) == 1

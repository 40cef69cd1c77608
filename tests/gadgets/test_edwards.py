from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.gadgets import edwards
from bonsai_circuits.gadgets.edwards import Point
from bonsai_circuits.gadgets.range import bits, field_bits
from bonsai_circuits.native import jubjub
from bonsai_circuits.native.pedersen import generator
from bonsai_circuits.pipeline import Compiled
from bonsai_circuits.witness.runner import run
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.reference import jubjub as curve
from tests.support import broken, builder, compiled, forged, satisfied

G = generator(0)


def circuit_of(body: Callable[..., list[object]], *outputs: str) -> Compiled:
    """outputs = body(c, P, Q), P and Q given by their coordinates."""

    def describe(c, p, w):
        made = body(c, Point(w.pu, w.pv), Point(w.qu, w.qv))
        for name, value in zip(outputs, made, strict=True):
            getattr(p, name).must_equal(value)

    return compiled(describe, *outputs)


def both_coordinates(c, p, q):
    out = edwards.add(c, p, q)
    return [out.u, out.v]


ADD = circuit_of(both_coordinates, "u", "v")
ADD_U = circuit_of(lambda c, p, q: [edwards.add_u(c, p, q)], "u")
ADD_BITS = circuit_of(lambda c, p, q: [edwards.add_u_bits(c, p, q)], "u")


def inputs(p: jubjub.Point, q: jubjub.Point) -> dict[str, int]:
    return {"pu": p[0], "pv": p[1], "qu": q[0], "qv": q[1]}


multiples = st.one_of(st.sampled_from([0, 1, 2, jubjub.ORDER - 1, jubjub.ORDER - 2]), st.integers(0, jubjub.ORDER - 1))


@given(multiples, multiples)
@settings(max_examples=25)
def test_additions_equal_the_oracle_without_exceptions(m: int, n: int) -> None:
    p, q = jubjub.multiply(G, m), jubjub.multiply(G, n)
    expected = curve.affine(curve.plus((*p, 1), (*q, 1)))
    for circuit, outputs in ((ADD, ("u", "v")), (ADD_U, ("u",)), (ADD_BITS, ("u",))):
        w = run(circuit.tape, inputs(p, q))
        assert tuple(w.public()[name] for name in outputs) == expected[: len(outputs)]
        assert not any(broken(circuit, w))


@pytest.mark.parametrize("n", [0, 1, jubjub.ORDER - 1])
def test_doubling_and_cancelling_need_no_care(n: int) -> None:
    p = jubjub.multiply(G, n)
    for q in (p, jubjub.negate(p)):
        w = run(ADD.tape, inputs(p, q))
        assert (w.public()["u"], w.public()["v"]) == jubjub.add(p, q)
        assert not any(broken(ADD, w))


def test_additions_cost_what_they_say() -> None:
    assert (ADD.r1cs.n_rows, ADD.square.n_rows - 3) == (6, 12)
    assert (ADD_U.r1cs.n_rows, ADD_U.square.n_rows - 2) == (4, 8)
    assert (ADD_BITS.r1cs.n_rows, ADD_BITS.square.n_rows - 2) == (4 + 255, 8 + 255)


@pytest.mark.parametrize(
    ("wire", "label"),
    [
        ("test/u3_(1_+_k)_=_u1_v2_+_v1_u2", "u3 (1 + k) = u1 v2 + v1 u2"),
        ("test/v3_(1_-_k)_=_v1_v2_+_u1_u2", "v3 (1 - k) = v1 v2 + u1 u2"),
        ("test/u1_v2", "u1 v2"),
        ("test/v1_u2", "v1 u2"),
        ("test/u1_v2_v1_u2", "u1 v2 v1 u2"),
        ("test/(u1_+_v1)(u2_+_v2)", "(u1 + v1)(u2 + v2)"),
    ],
)
def test_a_forged_wire_is_rejected_by_its_row(wire: str, label: str) -> None:
    failed = forged(ADD, inputs(G, jubjub.multiply(G, 5)), wire, 12345)
    assert label in [row.label for row in failed]


def test_a_wrong_sum_is_rejected() -> None:
    w = inputs(G, jubjub.multiply(G, 5))
    u, v = jubjub.multiply(G, 6)
    assert satisfied(ADD, w | {"u": u, "v": v})
    for wrong in ({"u": R - u, "v": v}, {"u": u, "v": R - v}, {"u": 0, "v": 1}):
        assert not satisfied(ADD, w | wrong)


def test_forged_bits_of_u_are_rejected() -> None:
    failed = forged(ADD_BITS, inputs(G, G), "test/bits[255]/bit_7", 2)
    assert {"bit 7 is 0 or 1", "u3 (1 + k) = u1 v2 + v1 u2"} <= {row.label for row in failed}


def test_the_bits_of_u_are_made_once() -> None:
    def describe(c, p, w):
        u = edwards.add_u_bits(c, Point(w.pu, w.pv), Point(w.qu, w.qv))
        p.low.must_equal(field_bits(c, u)[0])

    assert compiled(describe, "low").r1cs.n_rows == 4 + 255


@pytest.mark.parametrize("position", range(4))
def test_select_takes_whole_points(position: int) -> None:
    points = [jubjub.multiply(G, n) for n in (1, 2, 3, 4)]

    def describe(c, p, w):
        out = edwards.select(c, bits(c, w.i, 2), [Point(*(w_ * 1 for w_ in pair)) for pair in pairs(w)])
        p.u.must_equal(out.u)
        p.v.must_equal(out.v)

    def pairs(w):
        return [(getattr(w, f"u{j}"), getattr(w, f"v{j}")) for j in range(4)]

    circuit = compiled(describe, "u", "v")
    given_points = {f"{name}{j}": value for j, p in enumerate(points) for name, value in zip("uv", p, strict=True)}
    w = run(circuit.tape, given_points | {"i": position})
    assert (w.public()["u"], w.public()["v"]) == points[position]
    assert not any(broken(circuit, w))
    assert circuit.r1cs.n_rows == 2 + 6
    mixed = {"i": position, "u": points[position - 1][0], "v": points[position][1]}
    assert broken(circuit, run(circuit.tape, given_points | mixed))[0]


def test_constants_add_no_rows() -> None:
    c = builder("x", "y")
    p, q = edwards.constant(c, G), edwards.constant(c, jubjub.multiply(G, 3))
    out = edwards.add(c, p, q)
    assert (out.u.constant_value(), out.v.constant_value()) == jubjub.multiply(G, 4)
    assert edwards.add_u(c, p, q).constant_value() == jubjub.multiply(G, 4)[0]
    edwards.add(c, p, Point(c.public("x"), c.public("y")))
    assert len(c.finish().rows) == 3

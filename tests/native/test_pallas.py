"""Pallas: constants recomputed, published group hashes, equality with the oracle, bytes, refusals."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.errors import InputError
from bonsai_circuits.kernels import pallas as kernels
from bonsai_circuits.native import pallas
from tests.reference import sinsemilla as reference
from tests.verifier.kernels.calling import call, result

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "sinsemilla.json").read_text())
P, Q = reference.P, reference.Q
elements = st.one_of(st.integers(0, 3), st.integers(P - 3, P - 1), st.integers(0, P - 1))
BASE = (P - 1, 2)


def map_to_iso(u: int) -> pallas.Point:
    out = np.empty((1, kernels.POINT_WORDS), np.uint64)
    call(kernels.map_to_iso, out, pallas.words_from_ints([u % P]))
    return pallas.points_from_words(out)[0]


def test_constants_follow_from_the_curve() -> None:
    assert pallas.P == P == 2**254 + 45560315531419706090280762371685220353
    assert pallas.ORDER == Q
    assert (P - 1) % 2**kernels.TWO_ADICITY == 0
    assert (P - 1) >> kernels.TWO_ADICITY & 1
    assert pallas.is_on_curve(BASE)
    assert reference.times(Q - 1, BASE) == (
        BASE[0],
        P - BASE[1],
    )  # Q points: it is a prime, and above all orders that Hasse leaves
    assert pow(2, Q - 1, Q) == 1
    assert (Q - P - 1) ** 2 <= 4 * P
    non_squares = [g for g in range(2, kernels.GENERATOR + 1) if pow(g, (P - 1) // 2, P) == P - 1]
    assert kernels.GENERATOR in non_squares
    assert (kernels.ISO_A, kernels.ISO_B, kernels.SWU_Z % P) == (reference.A, reference.B, reference.Z)


def test_the_isogeny_is_velus_and_the_published_one() -> None:
    a, b, x0, v, u = kernels.ISO_A, kernels.ISO_B, kernels.ISO_KERNEL, kernels.ISO_V, kernels.ISO_U
    assert (3 * x0**4 + 6 * a * x0**2 + 12 * b * x0 - a * a) % P == 0
    assert (a - 5 * v) % P == 0
    assert (b - 7 * (u + x0 * v)) % P == 5 * 27**2 % P
    ninth, small = pow(9, -1, P), pow(27, -1, P)
    numerator = [ninth * c % P for c in (1, -2 * x0, x0 * x0 + v, u - x0 * v)]
    assert (*numerator, -2 * x0 % P, x0 * x0 % P) == reference.ISO[:6]
    cubic = [small * c % P for c in (1, -3 * x0, 3 * x0 * x0 - v, v * x0 - x0**3 - 2 * u)]
    assert (*cubic, -3 * x0 % P, 3 * x0 * x0 % P, -(x0**3) % P) == reference.ISO[6:]


@pytest.mark.parametrize("vector", VECTORS["sswu"], ids=lambda v: v["u_le"][:8])
def test_map_to_the_isogenous_curve_equals_the_vector(vector: dict[str, str]) -> None:
    u = int.from_bytes(bytes.fromhex(vector["u_le"]), "little")
    assert pallas.encode_point(map_to_iso(u)).hex() == vector["point_le"]
    assert reference.map_to_iso(u % P) == map_to_iso(u)


@given(elements)
@settings(max_examples=25, deadline=None)
def test_map_to_the_isogenous_curve_equals_the_oracle(u: int) -> None:
    assert map_to_iso(u) == reference.map_to_iso(u)


def test_the_map_takes_its_exception() -> None:
    """Z^2 u^4 + Z u^2 = 0: for u = 0, and for u^2 = 1/13, if 13 has a root."""
    assert map_to_iso(0) == reference.map_to_iso(0)
    root = reference.root(pow(13, -1, P))
    if root is not None:
        assert map_to_iso(root) == reference.map_to_iso(root)


@pytest.mark.parametrize("vector", VECTORS["group_hash"], ids=lambda v: v["msg_hex"][:8])
def test_group_hash_equals_the_vector(vector: dict[str, str]) -> None:
    point = pallas.group_hash(vector["domain"].encode(), bytes.fromhex(vector["msg_hex"]))
    assert pallas.encode_point(point).hex() == vector["point_le"]


def test_many_group_hashes_equal_the_oracle() -> None:
    messages = [bytes([i]) * i for i in range(9)]
    points = pallas.points_from_words(pallas.group_hash_many(b"z.cash:test", messages))
    assert points == [reference.group_hash(b"z.cash:test", m) for m in messages]
    assert len(pallas.group_hash_many(b"z.cash:test", [])) == 0


@given(elements, elements)
@settings(max_examples=50, deadline=None)
def test_arithmetic_equals_integers(x: int, y: int) -> None:
    a, b = pallas.words_from_ints([x]), pallas.words_from_ints([y])
    binary = [result(op, a, b) for op in (kernels.pallas_mul, kernels.pallas_add, kernels.pallas_sub)]
    unary = [result(op, a) for op in (kernels.pallas_sqr, kernels.pallas_inv)]
    want = [x * y % P, (x + y) % P, (x - y) % P, x * x % P, pow(x, P - 2, P)]
    assert pallas.ints_from_words(np.concatenate(binary + unary)) == want


@given(st.integers(0, 60), st.integers(0, 60), st.integers(-Q, 2 * Q))
@settings(max_examples=25, deadline=None)
def test_group_operations_equal_the_oracle(i: int, j: int, n: int) -> None:
    a, b = reference.times(i, BASE), reference.times(j, BASE)
    assert pallas.add(a, b) == reference.plus(a, b)
    assert pallas.add(a, pallas.negate(a)) is None
    assert pallas.multiply(a, n) == reference.times(n % Q, a)


@pytest.mark.parametrize("n", [0, 1, 2, 3, Q - 2, Q - 1, Q, Q + 1])
def test_multiples_at_the_edges_equal_the_oracle(n: int) -> None:
    assert pallas.multiply(BASE, n) == reference.times(n % Q, BASE)


@given(st.integers(0, Q - 1))
@settings(max_examples=25, deadline=None)
def test_points_survive_their_bytes(n: int) -> None:
    point = pallas.multiply(BASE, n)
    assert pallas.decode_point(pallas.encode_point(point)) == point


def test_the_highest_bit_is_the_sign_of_y() -> None:
    assert pallas.decode_point((P - 1).to_bytes(32, "little")) == (P - 1, 2)
    assert pallas.decode_point((P - 1 | 1 << 255).to_bytes(32, "little")) == (P - 1, P - 2)


def test_bytes_that_are_no_point_are_refused() -> None:
    no_point = next(x for x in range(1, 50) if reference.root(x**3 + 5) is None)
    for data, words in (
        (b"\0" * 31, "31 bytes"),
        (P.to_bytes(32, "little"), "not below p"),
        (no_point.to_bytes(32, "little"), "no point"),
        ((1 << 255).to_bytes(32, "little"), "no point"),
    ):
        with pytest.raises(InputError, match=words):
            pallas.decode_point(data)


def test_a_domain_that_is_too_long_is_refused() -> None:
    assert pallas.group_hash(b"x" * 227, b"") == reference.group_hash(b"x" * 227, b"")
    with pytest.raises(InputError, match="227 fit"):
        pallas.group_hash(b"x" * 228, b"")

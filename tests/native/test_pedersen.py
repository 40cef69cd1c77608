"""Jubjub and the Pedersen hash in the clear: published vectors, constants recomputed, equality with the oracle, refusals."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.errors import InputError
from bonsai_circuits.native import jubjub
from bonsai_circuits.native import pedersen as native
from bonsai_circuits.native.pedersen import PedersenSuite
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.reference import jubjub as curve
from tests.reference import pedersen as reference

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "pedersen.json").read_text())
SUITE = PedersenSuite()

elements = st.one_of(st.integers(0, 3), st.integers(R - 3, R - 1), st.integers(0, R - 1))
amounts = st.one_of(st.integers(0, 3), st.integers(2**64 - 3, 2**64 - 1), st.integers(0, 2**64 - 1))
blindings = st.one_of(
    st.integers(0, 3), st.integers(jubjub.ORDER - 3, jubjub.ORDER - 1), st.integers(0, jubjub.ORDER - 1)
)


def number(text: str) -> int:
    return int(text, 16)


# Jubjub ----------------------------------------------------------------------------------------------------------------------


def test_curve_constants_follow_from_their_definitions() -> None:
    published = VECTORS["curve"]
    assert number(published["d"]) == jubjub.D == -10240 * pow(10241, -1, R) % R
    assert number(published["order_r"]) == jubjub.ORDER == curve.R_J
    assert 2 * (jubjub.D - 1) * pow(-1 - jubjub.D, -1, R) % R == published["montgomery_A"] == jubjub.MONTGOMERY_A
    assert number(published["montgomery_scale"]) == jubjub.MONTGOMERY_SCALE
    assert pow(jubjub.MONTGOMERY_SCALE, 2, R) == 4 * pow(-1 - jubjub.D, -1, R) % R
    assert pow(jubjub.D, (R - 1) // 2, R) == R - 1  # no square: the addition is complete
    assert pow(7, (R - 1) // 2, R) == R - 1  # so 7^odd has order 2^32
    whole = tuple(map(number, published["full_generator_order_8r"]))
    assert jubjub.multiply((whole[0], whole[1]), 8) == tuple(map(number, published["subgroup_generator_8G"]))
    assert jubjub.multiply((whole[0], whole[1]), 4 * jubjub.ORDER) != jubjub.IDENTITY
    assert jubjub.multiply((whole[0], whole[1]), 8 * jubjub.ORDER) == jubjub.IDENTITY


@pytest.mark.parametrize("vector", VECTORS["generators"], ids=lambda v: f"segment {v['segment']}")
def test_generators_equal_the_vector(vector: dict[str, Any]) -> None:
    point = native.generator(vector["segment"])
    assert point == tuple(map(number, vector["uv"])) == reference.i(vector["segment"])
    assert jubjub.to_montgomery(point) == tuple(map(number, vector["montgomery"]))
    assert jubjub.from_montgomery(jubjub.to_montgomery(point)) == point


@given(st.integers(-(2**256), 2**256), st.integers(0, 2**252))
@settings(max_examples=30, deadline=None)
def test_arithmetic_equals_the_oracle(n: int, m: int) -> None:
    p, q = jubjub.multiply(native.generator(0), n), jubjub.multiply(native.generator(1), m)
    assert p == curve.affine(curve.times(n, reference.i(0)))
    both = curve.affine(curve.plus((*p, 1), (*q, 1)))
    assert jubjub.add(p, q) == jubjub.add_all([p, q]) == both
    assert jubjub.is_on_curve(both)
    assert jubjub.add(p, jubjub.negate(p)) == jubjub.IDENTITY


@given(st.binary(min_size=32, max_size=32))
def test_decoding_equals_the_oracle(data: bytes) -> None:
    assert jubjub.decode(data) == curve.abst(data)


@pytest.mark.parametrize("value", [0, 1, 4, R - 1, 5, 7, pow(7, 2**31, R)])
def test_square_roots_are_roots_or_do_not_exist(value: int) -> None:
    root = jubjub.square_root(value)
    if root is None:
        assert pow(value, (R - 1) // 2, R) == R - 1
    else:
        assert root * root % R == value


def test_points_without_affine_montgomery_form_are_refused() -> None:
    for point in (jubjub.IDENTITY, (0, R - 1)):
        with pytest.raises(InputError, match="no affine Montgomery form"):
            jubjub.to_montgomery(point)


def test_a_personalisation_of_another_length_is_refused() -> None:
    with pytest.raises(InputError, match="8"):
        jubjub.group_hash(b"short", b"")


# The hash ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", VECTORS["hashes"], ids=lambda v: v["name"])
def test_hash_equals_the_vector(vector: dict[str, Any]) -> None:
    bits = list(map(int, vector["bits"]))
    expected = number(vector["u"]), number(vector["v"])
    assert native.pedersen_point(bits) == expected == curve.affine(reference.pedersen_hash_to_point(bits))


@pytest.mark.parametrize("vector", VECTORS["merkle"], ids=lambda v: v["name"])
def test_node_equals_the_vector(vector: dict[str, Any]) -> None:
    left, right = number(vector["left"]), number(vector["right"])
    assert native.binary_node(vector["level"], left, right) == number(vector["output"])
    assert reference.merkle_crh(vector["level"], left, right) == number(vector["output"])


def test_empty_subtrees_equal_the_vector() -> None:
    node = number(VECTORS["empty_roots"]["leaf"])
    for level, root in enumerate(VECTORS["empty_roots"]["roots"]):
        assert node == number(root)
        node = SUITE.node(min(level, 62), [node, node])


def test_a_segment_is_as_long_as_its_argument_allows() -> None:
    """Sums of chunks stay below r_J / 2 for 63 chunks, and not for 64."""
    largest = [4 * (16**n - 1) // 15 for n in (native.SEGMENT_CHUNKS, native.SEGMENT_CHUNKS + 1)]
    assert largest[0] <= (jubjub.ORDER - 1) // 2 < largest[1]


def test_windows_are_multiples_of_their_generator() -> None:
    for chunk in (0, 1, 62, 63, 125, 341):
        segment, j = divmod(chunk, native.SEGMENT_CHUNKS)
        base = native.generator(segment)
        assert list(native.window(chunk)) == [jubjub.multiply(base, k * 16**j) for k in (1, 2, 3, 4)]
    for digit in (0, 83):
        base = reference.blinding_base()
        assert list(native.blinding_window(digit)) == [jubjub.multiply(base, k * 8**digit) for k in (1, 3, 5, 7)]


def test_tags_are_different_functions() -> None:
    levels = set(range(40)) | {native.BITMAP_TAG} | {native.QUATERNARY_TAG + i for i in range(16)}
    tags = [*levels, native.ACCOUNT_TAG, native.RECEIPT_TAG, 63]  # 63: Sapling's note commitment
    assert len(set(tags)) == 40 + 1 + 16 + 3
    assert all(0 <= tag < 64 for tag in tags)


def test_the_base_of_blindings_is_none_of_the_generators() -> None:
    base = native.blinding_generator()
    assert base == reference.blinding_base()
    assert jubjub.multiply(base, jubjub.ORDER) == jubjub.IDENTITY != base
    generators = [native.generator(i) for i in range(8)]
    assert base not in generators
    assert jubjub.negate(base) not in generators
    assert native.BLINDING_PERSONALISATION != native.GENERATOR_PERSONALISATION


# Commitments -------------------------------------------------------------------------------------------------------------------


@given(blindings)
def test_signed_digits_are_odd_and_sum_up(sigma: int) -> None:
    digits = native.signed_digits(sigma)
    assert len(digits) == native.BLINDING_DIGITS
    assert {abs(d) for d in digits} <= {1, 3, 5, 7}
    assert sum(d * 8**j for j, d in enumerate(digits)) % jubjub.ORDER == sigma


@given(amounts, elements, elements, elements, blindings)
@settings(max_examples=15, deadline=None)
def test_suite_equals_the_oracle(amount: int, x: int, y: int, z: int, sigma: int) -> None:
    assert SUITE.account(amount, x, sigma) == reference.com_acct(amount, x, sigma)
    assert SUITE.receipt(amount, x, y, sigma) == reference.com_rec(amount, x, y, sigma)
    assert SUITE.node(7, [x, y]) == reference.merkle_crh(7, x, y)
    assert SUITE.node(43, [x, y, z, x]) == reference.quaternary_crh(43, [x, y, z, x])


@given(blindings)
@settings(max_examples=15, deadline=None)
def test_blinding_entries_sum_up_to_the_multiple(sigma: int) -> None:
    """Uniform sigma makes [sigma] R uniform in the group of order r_J, and so the commitment, whatever the message: perfect hiding."""
    assert jubjub.add_all(native.blinding_entries(sigma)) == jubjub.multiply(native.blinding_generator(), sigma)


@pytest.mark.parametrize("bad", [-1, jubjub.ORDER, R, 2**256])
def test_a_blinding_outside_the_group_order_is_refused(bad: int) -> None:
    with pytest.raises(InputError, match="r_J"):
        SUITE.account(0, 0, bad)


@pytest.mark.parametrize("bad", [-1, 2**64])
def test_an_amount_that_is_too_large_is_refused(bad: int) -> None:
    with pytest.raises(InputError, match="2\\^64"):
        SUITE.account(bad, 0, 0)
    with pytest.raises(InputError, match="2\\^64"):
        SUITE.receipt(bad, 0, 0, 0)


@pytest.mark.parametrize("bad", [-1, R, 2**255])
def test_an_element_outside_the_field_is_refused_by_name(bad: int) -> None:
    for call, name in (
        (lambda: SUITE.account(0, bad, 0), "root"),
        (lambda: SUITE.receipt(0, bad, 0, 0), "sender"),
        (lambda: SUITE.receipt(0, 0, bad, 0), "receiver"),
        (lambda: SUITE.node(0, [bad, 0]), "left"),
        (lambda: SUITE.node(0, [0, 0, bad, 0]), "children[2]"),
    ):
        with pytest.raises(InputError) as error:
            call()
        assert error.value.field == name


def test_other_arities_and_tags_are_refused() -> None:
    with pytest.raises(InputError, match="2 or 4"):
        SUITE.node(0, [1, 2, 3])
    with pytest.raises(InputError, match="tag"):
        native.pedersen(64, [])

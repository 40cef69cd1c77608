"""Integers, limbs and Montgomery form at the door."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonsai_verifier import field
from bonsai_verifier.parameters import FP_MODULUS, FR_MODULUS

EDGES = [0, 1, 2**64 - 1, 2**64, 2**255 - 1, FR_MODULUS - 1]


@given(st.lists(st.integers(0, 2**256 - 1), max_size=20))
def test_limbs_round_trip(values: list[int]) -> None:
    limbs = field.limbs_from_ints(values, 4)
    assert limbs.shape == (len(values), 4)
    assert limbs.dtype == np.uint64
    assert field.ints_from_limbs(limbs) == values


def test_limbs_are_little_endian() -> None:
    assert field.limbs_from_ints([2**64 * 5 + 3], 2).tolist() == [[3, 5]]


def test_limbs_refuse_what_does_not_fit() -> None:
    for x in (-1, 2**256):
        with pytest.raises(OverflowError):
            field.limbs_from_ints([x], 4)


@given(st.lists(st.integers(0, FR_MODULUS - 1), max_size=20))
def test_fr_round_trip(values: list[int]) -> None:
    assert field.fr_to_ints(field.fr_from_ints(values)) == values


def test_fr_montgomery_form_is_x_times_2_to_256() -> None:
    a = field.fr_from_ints(EDGES)
    assert field.ints_from_limbs(a) == [x * 2**256 % FR_MODULUS for x in EDGES]
    assert field.ints_from_limbs(field.fr_to_canonical(a)) == [x % FR_MODULUS for x in EDGES]
    assert np.array_equal(field.fr_from_canonical(field.fr_to_canonical(a)), a)


def test_fr_from_ints_reduces() -> None:
    assert field.fr_to_ints(field.fr_from_ints([-1, FR_MODULUS, 2**300])) == [FR_MODULUS - 1, 0, 2**300 % FR_MODULUS]


@given(st.lists(st.integers(0, FP_MODULUS - 1), max_size=20))
def test_fp_round_trip(values: list[int]) -> None:
    assert field.fp_to_ints(field.fp_from_ints(values)) == values


def test_fp_montgomery_form_is_x_times_2_to_384() -> None:
    assert field.ints_from_limbs(field.fp_from_ints(EDGES)) == [x * 2**384 % FP_MODULUS for x in EDGES]


def test_strided_rows_are_read_right() -> None:
    a = field.fr_from_ints(range(10))
    assert field.fr_to_ints(a[::3]) == [0, 3, 6, 9]
    assert field.ints_from_limbs(field.fr_to_canonical(a)[1::4]) == [1, 5, 9]


VALUES = [0, 1, 5, FR_MODULUS - 1, FR_MODULUS - 2, 2**254, 3**150]


def test_vectors_add_subtract_multiply_invert() -> None:
    a, b = VALUES, VALUES[::-1]
    x, y = field.fr_from_ints(a), field.fr_from_ints(b)
    assert field.fr_to_ints(field.fr_add(x, y)) == [(p + q) % FR_MODULUS for p, q in zip(a, b, strict=True)]
    assert field.fr_to_ints(field.fr_sub(x, y)) == [(p - q) % FR_MODULUS for p, q in zip(a, b, strict=True)]
    assert field.fr_to_ints(field.fr_mul(x, y)) == [p * q % FR_MODULUS for p, q in zip(a, b, strict=True)]
    assert field.fr_to_ints(field.fr_inv(x)) == [pow(p, -1, FR_MODULUS) if p else 0 for p in a]


def test_one_row_stands_for_all() -> None:
    x, c = field.fr_from_ints(VALUES), field.fr_from_ints([7])
    assert field.fr_to_ints(field.fr_mul(x, c)) == [7 * p % FR_MODULUS for p in VALUES]
    assert field.fr_to_ints(field.fr_sub(x, c)) == [(p - 7) % FR_MODULUS for p in VALUES]


@given(st.integers(0, 2**70))
def test_powers(exponent: int) -> None:
    got = field.fr_to_ints(field.fr_pow(field.fr_from_ints(VALUES), exponent))
    assert got == [pow(p, exponent, FR_MODULUS) for p in VALUES]


@given(st.lists(st.integers(0, FR_MODULUS - 1), max_size=40))
def test_sum(values: list[int]) -> None:
    assert field.fr_to_ints(field.fr_sum(field.fr_from_ints(values))) == [sum(values) % FR_MODULUS]


def test_canonical_rows_are_below_r() -> None:
    values = [0, FR_MODULUS - 1, FR_MODULUS, FR_MODULUS + 1, 2**256 - 1, FR_MODULUS + 2**64, FR_MODULUS - 2**64]
    values += [FR_MODULUS ^ 1 << k for k in range(256)]
    got = field.fr_is_canonical(field.limbs_from_ints(values, 4))
    assert got.tolist() == [x < FR_MODULUS for x in values]


@pytest.mark.parametrize("offset", [0, 3, 8])
def test_scalars_below_r_are_found_where_they_lie(offset: int) -> None:
    rng = np.random.default_rng(offset)
    values = [FR_MODULUS - 1, FR_MODULUS, 0, 2**256 - 1, *(int.from_bytes(rng.bytes(32), "little") for _ in range(8))]
    wide = np.zeros((4, 128), np.uint8)
    there = wide[:, offset : offset + 96]
    there[:] = np.frombuffer(b"".join(x.to_bytes(32, "little") for x in values), np.uint8).reshape(4, 96)
    expected = np.array([x < FR_MODULUS for x in values]).reshape(4, 3)
    cube = np.lib.stride_tricks.as_strided(there, (4, 3, 32), (128, 32, 1))
    for scalars in (there, cube, cube.copy()):
        assert np.array_equal(field.fr_below(scalars), expected)
    assert np.array_equal(field.fr_below(cube[:, ::-1]), expected[:, ::-1])
    assert field.fr_below(np.empty((0, 5, 32), np.uint8)).shape == (0, 5)
    assert field.fr_below(np.empty((7, 0, 32), np.uint8)).shape == (7, 0)


def test_other_shapes_and_types_are_an_error() -> None:
    a = field.fr_from_ints(range(4))
    for wrong in (a[0], a[:, :3], a[None], field.fp_from_ints(range(4))):
        for f in (field.fr_to_canonical, field.fr_from_canonical, field.fr_inv, lambda x: field.fr_mul(x, x)):
            with pytest.raises(ValueError, match="rows of 4"):
                f(wrong)
    for f in (field.fr_to_canonical, field.fr_inv, field.fp_to_ints):
        with pytest.raises(TypeError, match="uint64"):
            f(a.astype(np.int64))  # type: ignore[arg-type]
    for f in (field.fr_add, field.fr_sub, field.fr_mul):
        with pytest.raises(ValueError, match="4 elements and 3"):
            f(a, a[:3])

"""The pairing product against arkworks and py_ecc."""

import random
from functools import cache
from math import gcd

import numpy as np
import py_arkworks_bls12381 as ark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py_ecc.fields import optimized_bls12_381_FQ12 as FQ12
from py_ecc.optimized_bls12_381 import pairing as py_ecc_pairing
from py_ecc.optimized_bls12_381.optimized_curve import G1, G2, add, multiply, neg

from bonsai_verifier.field import fp_from_ints, fp_to_ints, limbs_from_ints
from bonsai_verifier.kernels import g2
from bonsai_verifier.kernels.msm import g1_fixed_base_many
from bonsai_verifier.kernels.pairing import pairing_product, pairing_product_is_one
from bonsai_verifier.parameters import BLS_X, FP_MODULUS, FR_MODULUS
from tests.verifier.kernels.test_g1 import affine as affine_g1
from tests.verifier.kernels.test_g1 import on_curve as g1_curve_point
from tests.verifier.kernels.test_g2 import SMALL_ORDERS, of_order
from tests.verifier.kernels.test_g2 import affine as affine_g2
from tests.verifier.kernels.test_g2 import on_curve as g2_curve_point
from tests.verifier.kernels.test_tower import coefficients, fq12

P, Z, R = FP_MODULUS, BLS_X, FR_MODULUS
BASE_1, BASE_2 = affine_g1([G1]), affine_g2([G2])
scalar = st.sampled_from([0, 1, 2, R - 1]) | st.integers(0, R - 1)


def times_g1(scalars: list[int]) -> np.ndarray:
    """(k, 12): multiples of the generator, modulo r."""
    return g1_fixed_base_many(BASE_1, limbs_from_ints([a % R for a in scalars], 4))


def times_g2(scalars: list[int]) -> np.ndarray:
    return g2.g2_mul_many(BASE_2, limbs_from_ints([a % R for a in scalars], 4))


def product(pairs: list[tuple[int, int]]) -> FQ12:
    return fq12(
        fp_to_ints(pairing_product(times_g1([a for a, _ in pairs]), times_g2([b for _, b in pairs])).reshape(12, 6))
    )


def is_one(pairs: list[tuple[int, int]]) -> bool:
    return pairing_product_is_one(times_g1([a for a, _ in pairs]), times_g2([b for _, b in pairs]))


@cache
def value_of_generators() -> FQ12:
    return product([(1, 1)])


# Numbers -----------------------------------------------------------------------------------------------------------------------


def test_last_exponent_is_three_times_the_plain_one() -> None:
    assert R == Z**4 - Z**2 + 1
    assert (P**4 - P**2 + 1) % R == 0
    assert 3 * ((P**4 - P**2 + 1) // R) == (Z - 1) ** 2 * (Z + P) * (Z**2 + P**2 - 1) + 3
    assert (P**6 - 1) * (P**2 + 1) * (P**4 - P**2 + 1) == P**12 - 1
    assert gcd(3, R) == 1


# Values ------------------------------------------------------------------------------------------------------------------------


def test_value_equals_arkworks() -> None:
    for a, b in ((1, 1), (2, 3), (R - 1, 1), (12345678901234567890, R // 3)):
        expected = ark.GT.pairing(ark.G1Point() * ark.Scalar(a), ark.G2Point() * ark.Scalar(b))
        data = b"".join(c.to_bytes(48, "little") for c in coefficients(product([(a, b)])))
        assert data.hex() == str(expected)  # it has the factor 3 too


def test_value_is_the_inverse_cube_of_that_of_py_ecc() -> None:
    """py_ecc leaves out the factor 3, and the conjugate that a negative z asks for."""
    assert value_of_generators() * py_ecc_pairing(G2, G1) ** 3 == FQ12.one()


def test_value_has_order_r() -> None:
    assert value_of_generators() != FQ12.one()
    assert value_of_generators() ** R == FQ12.one()


@settings(max_examples=30)
@given(scalar, scalar)
def test_pairing_is_bilinear(a: int, b: int) -> None:
    assert product([(a, b)]) == value_of_generators() ** (a * b % R)


@settings(max_examples=30)
@given(st.lists(st.tuples(scalar, scalar), max_size=5))
def test_product_equals_the_product_of_the_factors(pairs: list[tuple[int, int]]) -> None:
    exponent = sum(a * b for a, b in pairs) % R
    assert product(pairs) == value_of_generators() ** exponent
    assert is_one(pairs) == (exponent == 0)


# Verdicts ----------------------------------------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(st.lists(st.tuples(scalar, scalar), max_size=4), st.integers(1, R - 1))
def test_product_is_one_just_when_the_exponents_cancel(pairs: list[tuple[int, int]], off: int) -> None:
    rest = -sum(a * b for a, b in pairs) % R
    assert is_one([*pairs, (rest, 1)])
    assert is_one([(1, rest), *pairs])
    assert not is_one([*pairs, (rest + off, 1)])
    assert not is_one([(1, rest + off), *pairs])


def test_verdicts_agree_with_arkworks() -> None:
    rng = random.Random(5)
    for cancels in (True, False) * 5:
        a, b, c, d = (rng.randrange(1, R) for _ in range(4))
        e = -(a * b + c * d) % R if cancels else rng.randrange(R)
        firsts = [ark.G1Point() * ark.Scalar(x) for x in (a, c, e)]
        seconds = [ark.G2Point() * ark.Scalar(x) for x in (b, d, 1)]
        assert is_one([(a, b), (c, d), (e, 1)]) == ark.GT.pairing_check(firsts, seconds) == cancels


def test_infinity_on_either_side_makes_its_factor_one() -> None:
    assert is_one([])
    assert is_one([(0, 1)])
    assert is_one([(1, 0)])
    assert is_one([(0, 0), (0, 5), (7, 0)])
    assert is_one([(0, 1), (2, 3), (1, 0), (R - 6, 1), (0, 0)])
    assert not is_one([(0, 1), (2, 3), (1, 0)])
    assert not is_one([(2, 3), (0, 1)])


def test_order_of_the_pairs_and_of_memory_do_not_matter() -> None:
    p, q = times_g1([2, 3, -12]), times_g2([3, 2, 1])
    assert pairing_product_is_one(p, q)
    assert pairing_product_is_one(p[::-1], q[::-1])
    assert pairing_product_is_one(np.asfortranarray(p), np.asfortranarray(q))
    assert not pairing_product_is_one(p[::-1], q)


def test_arguments_stay_as_they_were() -> None:
    p, q = times_g1([2, 3]), times_g2([3, 2])
    copies = p.copy(), q.copy()
    pairing_product(p, q)
    assert np.array_equal(p, copies[0])
    assert np.array_equal(q, copies[1])


@pytest.mark.parametrize(("p", "q"), [((1, 24), (1, 12)), ((12,), (24,)), ((1, 18), (1, 36)), ((0, 12), (0, 12))])
def test_other_shapes_are_an_error(p: tuple[int, ...], q: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="rows of"):
        pairing_product_is_one(np.zeros(p, np.uint64), np.zeros(q, np.uint64))


def test_the_points_come_in_pairs() -> None:
    with pytest.raises(ValueError, match="2 points of G1 for 1 of G2"):
        pairing_product_is_one(np.repeat(BASE_1, 2, axis=0), BASE_2)


def test_other_words_are_an_error() -> None:
    with pytest.raises(TypeError, match="uint64"):
        pairing_product_is_one(BASE_1.astype(np.int64), BASE_2)


# Points that the contract excludes -----------------------------------------------------------------------------------------------


def test_torsion_on_the_first_side_is_invisible() -> None:
    """So the subgroup of G1 must be checked before: no product of pairings can tell."""
    torsion = g1_curve_point(0)  # of order 3
    p = affine_g1([add(G1, torsion), neg(G1)])
    assert pairing_product_is_one(p, np.repeat(BASE_2, 2, axis=0))


def test_points_outside_the_subgroups_end_without_a_crash() -> None:
    firsts = [G1, g1_curve_point(0), neg(g1_curve_point(0)), g1_curve_point(5)]
    small = [of_order(n) for n in SMALL_ORDERS]
    seconds = [*small, *map(neg, small), multiply(small[0], 2), add(small[0], G2), g2_curve_point(5)]
    for p in firsts:
        for q in seconds:
            value = fp_to_ints(pairing_product(affine_g1([p]), affine_g2([q])).reshape(12, 6))
            assert all(0 <= c < P for c in value)
            pairing_product_is_one(affine_g1([p, G1]), affine_g2([q, G2]))


def test_points_off_the_curve_end_without_a_crash() -> None:
    rng = random.Random(6)
    for _ in range(20):
        p = fp_from_ints([rng.choice([0, 1, rng.randrange(P)]) for _ in range(2)]).reshape(1, 12)
        q = fp_from_ints([rng.choice([0, 1, rng.randrange(P)]) for _ in range(4)]).reshape(1, 24)
        assert pairing_product_is_one(p, q) in (True, False)


def test_a_degenerate_loop_gives_zero_and_zero_is_not_one() -> None:
    small = affine_g2([of_order(13)])  # T meets a multiple 0 or +-1 of it on its way
    assert not pairing_product(BASE_1, small).any()
    assert not pairing_product_is_one(BASE_1, small)
    assert not pairing_product_is_one(np.repeat(BASE_1, 2, axis=0), np.concatenate([small, BASE_2]))

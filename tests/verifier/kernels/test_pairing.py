"""Products of pairings, over both bodies, against arkworks and py_ecc."""

import random
from collections.abc import Sequence
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

from bonsai_verifier import pairing
from bonsai_verifier.field import fp_from_ints, fp_to_ints, limbs_from_ints
from bonsai_verifier.kernels import cpu, g2
from bonsai_verifier.kernels import pairing as portable
from bonsai_verifier.kernels.msm import g1_fixed_base_many
from bonsai_verifier.pairing import gt_div, gt_is_one, product_is_one
from bonsai_verifier.parameters import BLS_X, FP_MODULUS, FR_MODULUS
from tests.verifier.kernels.test_g1 import affine as affine_g1
from tests.verifier.kernels.test_g1 import on_curve as g1_curve_point
from tests.verifier.kernels.test_g2 import SMALL_ORDERS, of_order
from tests.verifier.kernels.test_g2 import affine as affine_g2
from tests.verifier.kernels.test_g2 import on_curve as g2_curve_point
from tests.verifier.kernels.test_tower import coefficients, fq12

pytestmark = pytest.mark.usefixtures("body")
P, Z, R = FP_MODULUS, BLS_X, FR_MODULUS
BASE_1, BASE_2 = affine_g1([G1])[0], affine_g2([G2])[0]
Pair = tuple[np.ndarray, np.ndarray]
scalar = st.sampled_from([0, 1, 2, R - 1]) | st.integers(0, R - 1)


def times_g1(scalars: list[int]) -> np.ndarray:
    """(k, 12): multiples of the generator, modulo r."""
    return g1_fixed_base_many(BASE_1[None], limbs_from_ints([a % R for a in scalars], 4))


def times_g2(scalars: list[int]) -> np.ndarray:
    return g2.g2_mul_many(BASE_2, limbs_from_ints([a % R for a in scalars], 4))


def points(scalars: Sequence[tuple[int, int]]) -> list[Pair]:
    """Multiples of both generators."""
    return list(zip(times_g1([a for a, _ in scalars]), times_g2([b for _, b in scalars]), strict=True))


def integers(value: np.ndarray) -> list[int]:
    return fp_to_ints(value.reshape(12, 6))


def product(scalars: Sequence[tuple[int, int]]) -> FQ12:
    return fq12(integers(pairing.product(points(scalars))))


def is_one(scalars: Sequence[tuple[int, int]]) -> bool:
    return product_is_one(points(scalars))


@cache
def value_of_generators() -> FQ12:
    """By py_ecc, which leaves out the factor 3, and the conjugate that a negative z asks for."""
    return FQ12.one() / py_ecc_pairing(G2, G1) ** 3


# Numbers -----------------------------------------------------------------------------------------------------------------------


def test_last_exponent_is_three_times_the_plain_one() -> None:
    assert R == Z**4 - Z**2 + 1
    assert (P**4 - P**2 + 1) % R == 0
    assert 3 * ((P**4 - P**2 + 1) // R) == (Z - 1) ** 2 * (Z + P) * (Z**2 + P**2 - 1) + 3
    assert (P**6 - 1) * (P**2 + 1) * (P**4 - P**2 + 1) == P**12 - 1
    assert gcd(3, R) == 1


def test_the_last_exponent_loses_every_proper_subfield() -> None:
    """What the lines leave out: numbers of Fp and Fp2, and w^3, which lies in Fp4."""
    last = 3 * (P**12 - 1) // R
    assert all(last % (P**k - 1) == 0 for k in (1, 2, 3, 4, 6))


def test_the_lines_are_those_of_a_double_and_add_ladder() -> None:
    multiple = 1
    for doubles in portable.DOUBLES:
        multiple = 2 * multiple if doubles else multiple + 1
    assert multiple == -Z
    assert len(portable.DOUBLES) == portable.N_LINES


# Values ------------------------------------------------------------------------------------------------------------------------


def test_value_equals_arkworks() -> None:
    for a, b in ((1, 1), (2, 3), (R - 1, 1), (12345678901234567890, R // 3)):
        expected = ark.GT.pairing(ark.G1Point() * ark.Scalar(a), ark.G2Point() * ark.Scalar(b))
        data = b"".join(c.to_bytes(48, "little") for c in coefficients(product([(a, b)])))
        assert data.hex() == str(expected)  # it has the factor 3 too


def test_value_is_the_inverse_cube_of_that_of_py_ecc() -> None:
    assert product([(1, 1)]) == value_of_generators()


def test_value_has_order_r() -> None:
    assert value_of_generators() != FQ12.one()
    assert product([(1, 1)]) ** R == FQ12.one()


@settings(max_examples=30)
@given(scalar, scalar)
def test_pairing_is_bilinear(a: int, b: int) -> None:
    assert product([(a, b)]) == value_of_generators() ** (a * b % R)


@settings(max_examples=30)
@given(st.lists(st.tuples(scalar, scalar), max_size=8))
def test_product_equals_the_product_of_the_factors(scalars: list[tuple[int, int]]) -> None:
    exponent = sum(a * b for a, b in scalars) % R
    assert product(scalars) == value_of_generators() ** exponent
    assert is_one(scalars) == (exponent == 0)


@settings(max_examples=20)
@given(st.lists(st.tuples(scalar, scalar), min_size=2, max_size=4), st.integers(1, 3))
def test_values_multiply_and_divide(scalars: list[tuple[int, int]], n: int) -> None:
    whole, left, right = (pairing.product(points(part)) for part in (scalars, scalars[:n], scalars[n:]))
    assert np.array_equal(gt_div(whole, left), right)
    assert np.array_equal(gt_div(whole, right), left)
    assert gt_is_one(gt_div(whole, whole))
    assert gt_is_one(whole) == (fq12(integers(whole)) == FQ12.one())


def test_one_is_one_and_nothing_beside_it() -> None:
    one = pairing.product([])
    assert integers(one) == [1, *[0] * 11]
    assert gt_is_one(one)
    for i in range(pairing.GT_WORDS):
        other = one.copy()
        other[i] ^= np.uint64(1)
        assert not gt_is_one(other)


# Verdicts ----------------------------------------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(st.lists(st.tuples(scalar, scalar), max_size=4), st.integers(1, R - 1))
def test_product_is_one_just_when_the_exponents_cancel(scalars: list[tuple[int, int]], off: int) -> None:
    rest = -sum(a * b for a, b in scalars) % R
    assert is_one([*scalars, (rest, 1)])
    assert is_one([(1, rest), *scalars])
    assert not is_one([*scalars, (rest + off, 1)])
    assert not is_one([(1, rest + off), *scalars])


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
    for firsts, seconds in ((p, q), (p[::-1], q[::-1]), (np.asfortranarray(p), np.asfortranarray(q))):
        assert product_is_one(list(zip(firsts, seconds, strict=True)))
    assert not product_is_one(list(zip(p[::-1], q, strict=True)))


def test_second_sides_met_before_change_nothing() -> None:
    pairing._side.cache_clear()
    pairing._prepared.cache_clear()
    for _ in range(3):
        assert is_one([(2, 3), (R - 6, 1)])
        assert not is_one([(2, 3), (R - 5, 1)])
        assert is_one([(R - 6, 1), (2, 3)])
    assert pairing._side.cache_info().misses == 2
    assert pairing._prepared.cache_info().misses == 2


def test_arguments_stay_as_they_were() -> None:
    p, q = times_g1([2, 3]), times_g2([3, 2])
    copies = p.copy(), q.copy()
    for array in (p, q):
        array.flags.writeable = False
    pairing.product(list(zip(p, q, strict=True)))
    assert np.array_equal(p, copies[0])
    assert np.array_equal(q, copies[1])


@pytest.mark.parametrize(("p", "q"), [(24, 12), (18, 24), (12, 36), ((1, 12), (1, 24)), (0, 0)])
@pytest.mark.parametrize("n", [1, 2])
def test_other_shapes_are_an_error(p: int | tuple[int, ...], q: int | tuple[int, ...], n: int) -> None:
    with pytest.raises(ValueError, match="rows of"):
        product_is_one([(np.ones(p, np.uint64), np.ones(q, np.uint64))] * n)


def test_other_words_are_an_error() -> None:
    with pytest.raises(TypeError, match="uint64"):
        product_is_one([(BASE_1.astype(np.int64), BASE_2)])
    with pytest.raises(TypeError, match="uint64"):
        product_is_one([(BASE_1, BASE_2.astype(np.float64))])


# Points that the contract excludes -----------------------------------------------------------------------------------------------


def test_torsion_on_the_first_side_is_invisible() -> None:
    """So the subgroup of G1 must be checked before: no product of pairings can tell."""
    torsion = g1_curve_point(0)  # of order 3
    p = affine_g1([add(G1, torsion), neg(G1)])
    assert product_is_one([(p[0], BASE_2), (p[1], BASE_2)])


def test_points_outside_the_subgroups_end_without_a_crash() -> None:
    firsts = affine_g1([G1, g1_curve_point(0), neg(g1_curve_point(0)), g1_curve_point(5)])
    small = [of_order(n) for n in SMALL_ORDERS]
    seconds = affine_g2([*small, *map(neg, small), multiply(small[0], 2), add(small[0], G2), g2_curve_point(5)])
    for p in firsts:
        for q in seconds:
            assert all(0 <= c < P for c in integers(pairing.product([(p, q)])))
            assert product_is_one([(p, q), (BASE_1, BASE_2)]) in (True, False)


def test_points_off_the_curve_end_without_a_crash() -> None:
    rng = random.Random(6)
    for _ in range(20):
        p = fp_from_ints([rng.choice([0, 1, rng.randrange(P)]) for _ in range(2)]).reshape(12)
        q = fp_from_ints([rng.choice([0, 1, rng.randrange(P)]) for _ in range(4)]).reshape(24)
        assert product_is_one([(p, q)]) in (True, False)


def test_a_degenerate_loop_gives_zero_and_zero_is_not_one() -> None:
    small = affine_g2([of_order(13)])[0]  # T meets a multiple 0 or +-1 of it on its way
    assert not pairing.product([(BASE_1, small)]).any()
    assert not product_is_one([(BASE_1, small)])
    assert not product_is_one([(BASE_1, small), (BASE_1, BASE_2)])
    assert product_is_one([(np.zeros_like(BASE_1), small)])


def test_a_first_side_without_height_gives_zero() -> None:
    """No point of the curve is so.  Divided by y = 0, lines would vanish, and with them what the other pairs say."""
    flat = fp_from_ints([5, 0]).reshape(12)
    assert not pairing.product([(flat, BASE_2)]).any()
    assert not product_is_one([(BASE_1, BASE_2), (flat, BASE_2)])


# The bodies ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(bool(cpu.missing()), reason="no vector body")
def test_bodies_give_the_same_words() -> None:
    rng = random.Random(7)
    for k in (1, 2, 3, 4, 7):
        pairs = points([(rng.randrange(R), rng.randrange(R)) for _ in range(k)])
        values = []
        for name in cpu.BODIES:
            with cpu.use(name):
                values.append(pairing.product(pairs))
        assert np.array_equal(*values)

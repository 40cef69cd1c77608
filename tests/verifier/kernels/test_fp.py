"""Roots and order of Fp against integers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bonsai_verifier.field import fp_from_ints, fp_to_ints
from bonsai_verifier.kernels import fp
from bonsai_verifier.parameters import BLS_X
from bonsai_verifier.parameters import FP_MODULUS as P
from tests.verifier.kernels.calling import call, result

element = st.sampled_from([0, 1, 4, P - 1, P // 2, P // 2 + 1]) | st.integers(0, P - 1)


@given(element)
def test_inverse_is_that_of_integers(a: int) -> None:
    assert fp_to_ints(result(fp.fp_inv, fp_from_ints([a]))) == [pow(a, -1, P) if a else 0]


@given(element)
def test_sqrt_knows_a_square_from_another_and_finds_its_root(a: int) -> None:
    d = np.empty((1, 6), np.uint64)
    found = call(fp.fp_sqrt, d, fp_from_ints([a]))
    assert found == (pow(a, (P - 1) // 2, P) != P - 1)
    if found:
        assert fp_to_ints(d)[0] ** 2 % P == a


def test_the_exponent_of_a_root_and_its_factors() -> None:
    """2 e = 1 modulo (p - 1)/2, and e in x = |z|."""
    e, x = (3 * P - 1) // 4, -BLS_X
    assert 2 * e % ((P - 1) // 2) == 1
    assert x * (x - 1) * (x * (x + 1) ** 3 + 1) == 4 * e
    d = np.empty((1, 6), np.uint64)
    for a in (0, 1, 2, 3, P - 1):  # of any element, a square or not
        call(fp._root, d, fp_from_ints([a]))
        assert fp_to_ints(d) == [pow(a, e, P)]


@given(element)
def test_is_larger_compares_with_the_opposite(a: int) -> None:
    assert call(fp.fp_is_larger, fp_from_ints([a])) == (a > -a % P)


def test_constants_lie_one_after_the_other() -> None:
    d = np.full((4, 6), 7, np.uint64)
    call(fp.fp_constant("test_constants", 5, 0, P - 1), d)
    assert fp_to_ints(d[:3]) == [5, 0, P - 1]
    assert (d[3] == 7).all()

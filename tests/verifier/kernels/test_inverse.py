"""Inversion by division steps against integers, for moduli of one word to six."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonsai_verifier.field import ints_from_limbs, limbs_from_ints
from bonsai_verifier.kernels.inverse import inversion
from bonsai_verifier.parameters import FP_MODULUS, FR_MODULUS
from tests.verifier.kernels.calling import Array, call, result

SCALE = 2**900 + 5
MODULI = {
    "fp": (FP_MODULUS, 6),
    "fr": (FR_MODULUS, 4),
    "mersenne": (2**61 - 1, 1),
    "wide": (2**127 - 1, 2),
    "three": (3, 1),
}
INVERSIONS = {name: inversion(f"test_inverse_{name}", m, n, SCALE) for name, (m, n) in MODULI.items()}
moduli = pytest.mark.parametrize("name", MODULI)


def words(xs: list[int], n: int) -> Array:
    return limbs_from_ints(xs, n)


def expected(x: int, m: int) -> int:
    return SCALE * pow(x, -1, m) % m if x else 0


@moduli
def test_inverse_equals_that_of_integers(name: str) -> None:
    m, n = MODULI[name]

    @given(st.integers(0, m - 1))
    def check(a: int) -> None:
        assert ints_from_limbs(result(INVERSIONS[name], words([a], n))) == [expected(a, m)]

    check()


@moduli
def test_inverse_of_numbers_of_every_shape(name: str) -> None:
    """Powers of two and their neighbours, quotients of the modulus by small numbers, short numbers: steps that differ most in count."""
    m, n = MODULI[name]
    rng = random.Random(1)
    xs = [0, 1, 2, m - 1, m - 2, m // 2, m // 2 + 1]
    xs += [2**k + e for k in range(m.bit_length()) for e in (-1, 0, 1)]
    xs += [pow(2, -k, m) for k in range(2 * m.bit_length())]
    xs += [m // k for k in range(1, 200)] + [rng.randrange(2 ** rng.randrange(1, m.bit_length())) for _ in range(200)]
    a = words([x % m for x in xs], n)
    got = np.concatenate([result(INVERSIONS[name], a[i : i + 1]) for i in range(len(a))])
    assert ints_from_limbs(got) == [expected(x % m, m) for x in xs]


@moduli
def test_inverse_may_overwrite_its_operand(name: str) -> None:
    m, n = MODULI[name]
    a = words([m - 2], n)
    call(INVERSIONS[name], a, a)
    assert ints_from_limbs(a) == [expected(m - 2, m)]

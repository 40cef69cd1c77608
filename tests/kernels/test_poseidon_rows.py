"""The portable row of poseidon.py at the largest operands of its contract, and its bounds by exact fractions."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from bonsai_circuits.kernels.poseidon import MAX_FACTORS, MODULI, bls12_381_row, bn254_row
from bonsai_verifier.field import ints_from_limbs, limbs_from_ints
from tests.verifier.kernels.calling import call

fields = pytest.mark.parametrize(
    ("row", "p"), list(zip((bls12_381_row, bn254_row), MODULI, strict=True)), ids=["bls12_381", "bn254"]
)
R = 2**256


def evaluate(row: Any, last: int, elements: list[int], k: int, factors: list[int]) -> int:
    out, last_, v, table = (limbs_from_ints(xs, 4) for xs in ([0], [last], [*elements, 0], [k, *factors]))
    call(row, out, last_, v, 32, len(elements), table)
    (value,) = ints_from_limbs(out)
    return value


@fields
def test_rows_are_right_at_their_ends(row: Any, p: int) -> None:
    inverse = pow(R, -1, p)
    rng = np.random.default_rng(3)
    for n in (0, 1, 2, 5, 17, MAX_FACTORS):
        for x, f, k, last in ((p - 1,) * 4, (0, 0, 0, 0), (0, p - 1, p - 1, 1), (1, R % p, 0, p - 1), (p - 1, 1, 0, 0)):
            assert evaluate(row, last, [x] * n, k, [f] * n) == (k + last + n * x * f * inverse) % p
        xs, fs = ([int.from_bytes(rng.bytes(40), "little") % p for _ in range(n)] for _ in range(2))
        total = sum(x * f for x, f in zip(xs, fs, strict=True)) * inverse
        assert evaluate(row, 5, xs, 7, fs) == (total + 12) % p


@pytest.mark.parametrize("p", MODULI)
def test_bounds_of_rows_are_as_the_docstring_says(p: int) -> None:
    left = Fraction(MAX_FACTORS * p * p, R) + 3 * p
    assert left < 18 * p < 2**260  # so the bits above 2^196 are a word
    # v / p - floor(V / (P + 1)) for v < 18 p, V and P without their low 196 bits: 1 and less than 19 / P
    assert Fraction(19, p >> 196) < Fraction(1, 2**50)

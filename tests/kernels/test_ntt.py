"""The plans, and the transforms of both bodies against the definition on integers."""

import math
from functools import partial

import numpy as np
import pytest

from bonsai_circuits.kernels import ntt
from bonsai_circuits.keys.domain import COSET_SHIFT, Domain
from bonsai_verifier.field import fr_from_ints, fr_to_ints
from bonsai_verifier.parameters import DOMAIN_ODD_PARTS, FR_MODULUS

R = FR_MODULUS


def numbers(n: int, seed: int = 3) -> list[int]:
    return [pow(seed + i, 0xC0FFEE, R) for i in range(n)]


@pytest.mark.usefixtures("body")
@pytest.mark.parametrize("m", DOMAIN_ODD_PARTS)
def test_every_odd_part_in_lanes_equals_the_definition_at_some_points(m: int) -> None:
    """Eight times the odd part: one transform of length m on blocks."""
    n = 8 * m
    x, w = numbers(n), Domain(n).root
    values = fr_to_ints(Domain(n).evaluate(fr_from_ints(x)))
    for k in {0, 1, 7, n // 2, n // 3, n - 1}:
        assert values[k] == sum(c * pow(w, i * k, R) for i, c in enumerate(x)) % R


@pytest.mark.usefixtures("body")
@pytest.mark.parametrize("edge", [0, 1, R - 1])
@pytest.mark.parametrize("n", [8 * 19, 8 * 33, 64, 8 * 64, 19, 12])
def test_edges_of_the_field_come_back(n: int, edge: int) -> None:
    domain = Domain(n)
    x = fr_from_ints([edge] * n)
    assert fr_to_ints(domain.evaluate(x)) == [edge * n % R, *[0] * (n - 1)]
    for there, back in (
        (domain.evaluate, domain.interpolate),
        (domain.interpolate, domain.evaluate),
        (partial(domain.evaluate, coset=True), partial(domain.interpolate, coset=True)),
    ):
        assert (back(there(x)) == x).all()


@pytest.mark.usefixtures("body")
@pytest.mark.parametrize("n", [11, 24, 64, 152, 76])
@pytest.mark.parametrize("few", [1, 6, 8, 9, 11, 20])
def test_a_polynomial_of_few_values_is_taken_away(n: int, few: int) -> None:
    if few > n:
        few = n
    transforms, x, y = Domain(n).transforms, numbers(n), numbers(few, 77)
    vector = transforms.read_values(fr_from_ints(x))
    less = np.empty(transforms.shape, np.uint64)
    transforms.interpolate_twice(vector, less, fr_from_ints(y))
    rest = [a - b for a, b in zip(x, [*y, *[0] * (n - few)], strict=True)]
    domain = Domain(n)
    assert (transforms.write_coefficients(vector) == domain.interpolate(fr_from_ints(x))).all()
    assert (transforms.write_coefficients(less) == domain.interpolate(fr_from_ints(rest))).all()


@pytest.mark.usefixtures("body")
@pytest.mark.parametrize("n", [1, 8, 24, 76, 88])
def test_what_is_read_is_written(n: int) -> None:
    transforms, words = Domain(n).transforms, fr_from_ints(numbers(n))
    assert (transforms.write_coefficients(transforms.read_coefficients(words)) == words).all()
    assert (transforms.write_values(transforms.read_values(words)) == words).all()


def test_lanes_take_the_multiples_of_eight(body: str) -> None:
    assert [n for n in (4, 8, 12, 16, 88, 152, 209) if Domain(n).transforms.in_lanes] == (
        [8, 16, 88, 152] if body == "vector" else []
    )


@pytest.mark.parametrize("m", DOMAIN_ODD_PARTS)
def test_radices_multiply_to_the_length_and_the_order_holds_every_number(m: int) -> None:
    for k in range(9):
        n = m << k
        assert math.prod(ntt.radices(n)) == n
        assert sorted(ntt.order(n)) == list(range(n))
    assert ntt.order(8).tolist() == [0, 4, 1, 5, 2, 6, 3, 7]


@pytest.mark.parametrize("n", [5, 9, 7 * 8, 121])
def test_other_lengths_are_refused(n: int) -> None:
    with pytest.raises(ValueError, match="factor"):
        ntt.radices(n)


@pytest.mark.usefixtures("body")
def test_stages_beyond_the_cache_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the cache held a few numbers: every stage but the last runs through everything."""
    n = 8 * 19 * 32
    x = fr_from_ints(numbers(n))
    expected = Domain(n).evaluate(x)
    monkeypatch.setattr(ntt, "CHUNK_BYTES", 8 << 10)
    fresh = type(Domain(n).transforms)(n, Domain(n).root, COSET_SHIFT)
    vector = fresh.read_coefficients(x)
    fresh.evaluate(vector)
    assert np.array_equal(fresh.write_values(vector), expected)
    fresh.interpolate(vector)
    assert np.array_equal(fresh.write_coefficients(vector), x)

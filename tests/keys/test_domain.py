"""The transforms against the definition, on integers."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.errors import CircuitError
from bonsai_circuits.kernels.ntt import ODD_RADICES
from bonsai_circuits.keys.domain import COSET_SHIFT, MAX_ROWS, Domain, smallest_domain
from bonsai_verifier.field import fr_from_ints, fr_to_ints
from bonsai_verifier.parameters import DOMAIN_ODD_PARTS, FR_GENERATOR, FR_MODULUS

R = FR_MODULUS
SIZES = {1, 2, 3, 4, 6, 8, 11, 12, 19, 22, 33, 38, 57, 64, 66, 76, 209, 418, 627, 1216}
SIZES |= {16, 32, 128, 24, 88, 152, 264, 48, 96, 304, 456}  # eight lanes: of 1 to 57 blocks
SIZES |= {m << k for m in DOMAIN_ODD_PARTS for k in (0, 1, 3, 4) if m << k <= 1300}
elements = st.integers(0, R - 1)


def values_on(points: list[int], f: list[int]) -> list[int]:
    out = []
    for x in points:
        acc = 0
        for c in reversed(f):
            acc = (acc * x + c) % R
        out.append(acc)
    return out


def polynomial(n: int, seed: int = 5) -> list[int]:
    return [pow(seed + i, 0xBEEF, R) for i in range(n)]


@pytest.mark.usefixtures("body")
@pytest.mark.parametrize("n", sorted(SIZES))
def test_transforms_equal_the_definition(n: int) -> None:
    domain = Domain(n)
    f = polynomial(n)
    h = [pow(domain.root, i, R) for i in range(n)]
    on_h, on_coset = values_on(h, f), values_on([COSET_SHIFT * x % R for x in h], f)
    coefficients = fr_from_ints(f)
    assert fr_to_ints(domain.evaluate(coefficients)) == on_h
    assert fr_to_ints(domain.interpolate(fr_from_ints(on_h))) == f
    assert fr_to_ints(domain.evaluate(coefficients, coset=True)) == on_coset
    assert fr_to_ints(domain.interpolate(fr_from_ints(on_coset), coset=True)) == f
    assert fr_to_ints(coefficients) == f  # the input is left alone


@pytest.mark.usefixtures("body")
@pytest.mark.parametrize("n", [3 << 12, 627 << 4, 19 << 10, 627 << 5, 19 << 13, 1 << 14])
def test_long_transforms_come_back_and_hit_a_point(n: int) -> None:
    domain = Domain(n)
    f = fr_from_ints(polynomial(n))
    values, on_coset = domain.evaluate(f), domain.evaluate(f, coset=True)
    assert (domain.interpolate(values) == f).all()
    assert (domain.interpolate(on_coset, coset=True) == f).all()
    integers = fr_to_ints(f)
    for i in (1, n - 5):
        point = pow(domain.root, i, R)
        assert fr_to_ints(values[i : i + 1]) == values_on([point], integers)
        assert fr_to_ints(on_coset[i : i + 1]) == values_on([COSET_SHIFT * point % R], integers)


@pytest.mark.parametrize("n", sorted(SIZES))
def test_root_has_order_exactly_n(n: int) -> None:
    w = Domain(n).root
    assert w == pow(FR_GENERATOR, (R - 1) // n, R)
    assert pow(w, n, R) == 1
    assert all(pow(w, n // p, R) != 1 for p in (2, 3, 11, 19) if n % p == 0)


def test_coset_lies_outside_every_domain() -> None:
    assert all(pow(COSET_SHIFT, (R - 1) // p, R) != 1 for p in (2, 3, 11, 19))  # a generator, as far as these primes go
    assert not any(Domain(n).contains(COSET_SHIFT) for n in SIZES)


@pytest.mark.parametrize("n", [1, 2, 19, 33, 76])
@given(x=elements)
@settings(max_examples=10)
def test_lagrange_reproduces_every_polynomial(n: int, x: int) -> None:
    domain = Domain(n)
    if domain.contains(x):
        return
    f = polynomial(n)
    on_h = values_on([pow(domain.root, i, R) for i in range(n)], f)
    weights = fr_to_ints(domain.lagrange(x))
    assert sum(a * b for a, b in zip(weights, on_h, strict=True)) % R == values_on([x], f)[0]
    assert domain.vanishing(x) == (pow(x, n, R) - 1) % R


@given(st.integers(1, MAX_ROWS))
def test_smallest_domain_is_the_least_with_room(n_rows: int) -> None:
    sizes = [m << k for m in DOMAIN_ODD_PARTS for k in range(29)]
    assert smallest_domain(n_rows).size == min(n for n in sizes if n >= n_rows)


def test_domains_are_little_above_the_rows() -> None:
    assert max(smallest_domain(n).size / n for n in range(353, 20_000)) < 38 / 33


def test_odd_parts_are_products_of_radices_that_divide_the_group_order() -> None:
    for m in DOMAIN_ODD_PARTS:
        assert math.prod(p for p in ODD_RADICES if m % p == 0) == m
        assert (R - 1) % (m << 32) == 0


@pytest.mark.parametrize("size", [0, -8, 5, 9, 7 * 64, 11 * 11, 1 << 33])
def test_sizes_without_a_subgroup_are_refused(size: int) -> None:
    with pytest.raises(CircuitError):
        Domain(size)


@pytest.mark.parametrize("n_rows", [0, -1, MAX_ROWS + 1])
def test_impossible_row_counts_are_refused(n_rows: int) -> None:
    with pytest.raises(CircuitError):
        smallest_domain(n_rows)


def test_wrong_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        Domain(4).evaluate(fr_from_ints([1, 2, 3]))

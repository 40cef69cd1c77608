"""The polynomials of a proof, on both bodies, against the reference on integers."""

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.keys.domain import Domain
from bonsai_circuits.prover.polynomial import _body
from bonsai_verifier.field import fr_from_ints, fr_to_ints, ints_from_limbs
from bonsai_verifier.parameters import FR_MODULUS
from tests.reference import pari as reference

R = FR_MODULUS
SIZES = [1, 3, 8, 16, 24, 76, 88]
elements = st.integers(0, R - 1)
edges = st.one_of(st.sampled_from([0, 1, 2, R - 1, R - 2]), elements)


def kernels(name: str, domain: Domain) -> ModuleType:
    return _body(name, domain.transforms)


def drawn(data: st.DataObject, n: int) -> list[int]:
    """n numbers from a few: the field's edges among them."""
    some = data.draw(st.lists(edges, min_size=1, max_size=7))
    return [some[i % len(some)] * pow(3, i // len(some), R) % R for i in range(n)]


@pytest.mark.usefixtures("body")
@pytest.mark.parametrize("n", SIZES)
@given(data=st.data(), x=edges, carry=edges)
@settings(max_examples=8)
def test_division_by_a_linear_factor_equals_the_reference(n: int, data: st.DataObject, x: int, carry: int) -> None:
    domain = Domain(n)
    transforms, f = domain.transforms, drawn(data, n)
    out = np.empty((n, 4), np.uint64)
    vector = transforms.read_coefficients(fr_from_ints(f))
    value = kernels("polynomial", domain).divide(transforms, out, vector, x, carry)
    assert value == reference.poly_eval([*f, carry], x)
    assert reference.trim(ints_from_limbs(out)) == reference.divide_by_root([*f, carry], x)
    assert fr_to_ints(transforms.write_coefficients(vector)) == f  # left alone


@pytest.mark.usefixtures("body")
@pytest.mark.parametrize("n", SIZES)
@given(data=st.data(), c=edges, d0=edges, d1=edges)
@settings(max_examples=8)
def test_quotient_equals_the_definition(n: int, data: st.DataObject, c: int, d0: int, d1: int) -> None:
    domain = Domain(n)
    transforms = domain.transforms
    s, b, a = (drawn(data, n) for _ in range(3))
    vectors = [transforms.read_coefficients(fr_from_ints(x)) for x in (s, b, a)]
    kernels("polynomial", domain).quotient(transforms, *vectors, c, d0, d1)
    q, rest, left = (fr_to_ints(transforms.write_coefficients(x)) for x in vectors)
    line = [d0 * a[i] + (d1 * a[i - 1] if i else 0) for i in range(n)]
    assert q == [(c * (s[i] - b[i]) + line[i]) % R for i in range(n)]
    assert rest == [(b[i] - q[i]) % R for i in range(n)]
    assert left == a


@pytest.mark.usefixtures("body")
@pytest.mark.parametrize("n", SIZES)
@given(data=st.data())
@settings(max_examples=5)
def test_single_coefficients_squares_and_canonical_words(n: int, data: st.DataObject) -> None:
    domain = Domain(n)
    transforms, f = domain.transforms, drawn(data, n)
    body, vector = kernels("polynomial", domain), transforms.read_coefficients(fr_from_ints(f))
    assert [body.coefficient(transforms, vector, i) for i in range(n)] == f
    i, x = data.draw(st.integers(0, n - 1)), data.draw(edges)
    body.set_coefficient(transforms, vector, i, x)
    f[i] = x
    out = np.empty((n, 4), np.uint64)
    body.canonical(transforms, out, vector)
    assert ints_from_limbs(out) == f
    body.square(transforms, vector)
    assert fr_to_ints(transforms.write_coefficients(vector)) == [c * c % R for c in f]

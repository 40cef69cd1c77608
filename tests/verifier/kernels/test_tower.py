"""Fp2, Fp6, Fp12 against py_ecc, whose FQ12 is Fp[w]/(w^12 - 2 w^6 + 2): u = w^6 - 1, v = w^2."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py_ecc.fields import optimized_bls12_381_FQ2 as FQ2
from py_ecc.fields import optimized_bls12_381_FQ12 as FQ12

from bonsai_verifier.field import fp_from_ints, fp_to_ints
from bonsai_verifier.kernels import fp2, fp6, fp12
from bonsai_verifier.kernels.sums import sum_of_fp2_products
from bonsai_verifier.parameters import FP_MODULUS as P
from tests.verifier.kernels.calling import call, result, results_in_place

Coefficients = list[int]
POWERS_OF_W = (0, 2, 4, 1, 3, 5)  # of the Fp2 coefficients in memory

coordinate = st.sampled_from([0, 0, 1, P - 1, (P - 1) // 2]) | st.integers(0, P - 1)


def elements(n: int) -> st.SearchStrategy[Coefficients]:
    return st.lists(coordinate, min_size=n, max_size=n)


def fq12(a: Coefficients) -> FQ12:
    """Coefficients in memory order, as many as there are -> the element of Fp12."""
    out = [0] * 12
    for i, power in enumerate(POWERS_OF_W[: len(a) // 2]):
        c0, c1 = a[2 * i : 2 * i + 2]
        out[power] += c0 - c1
        out[power + 6] += c1
    return FQ12(out)


def coefficients(x: FQ12, n: int = 12) -> Coefficients:
    """The inverse of fq12; the coefficients beyond n must be zero."""
    c = [int(v) for v in x.coeffs]
    out = [v for power in POWERS_OF_W for v in ((c[power] + c[power + 6]) % P, c[power + 6])]
    assert not any(out[n:])
    return out[:n]


def operation(name: str) -> Any:
    return getattr({"fp2": fp2, "fp6": fp6, "fp12": fp12}[name.partition("_")[0]], name)


def value(op: Any, *operands: Coefficients) -> Coefficients:
    return fp_to_ints(result(op, *map(fp_from_ints, operands)))


def values_in_place(op: Any, *operands: Coefficients) -> list[Coefficients]:
    return [fp_to_ints(d) for d in results_in_place(op, *map(fp_from_ints, operands))]


# d = f(a) and d = f(a, b) on Fp12, for elements of n coefficients
UNARY: list[tuple[str, int, Callable[[FQ12], FQ12]]] = [
    *((f"fp{n}_copy", n, lambda a: a) for n in (2, 6, 12)),
    *((f"fp{n}_sqr", n, lambda a: a * a) for n in (2, 6, 12)),
    *((f"fp{n}_inv", n, lambda a: FQ12.one() / a if a != FQ12.zero() else a) for n in (2, 6, 12)),
    *((f"fp{n}_neg", n, lambda a: -a) for n in (2, 6)),
    ("fp2_dbl", 2, lambda a: a + a),
    ("fp2_conj", 2, lambda a: a**P),
    ("fp2_mul_by_xi", 2, lambda a: a * fq12([1, 1])),
    ("fp6_mul_by_v", 6, lambda a: a * fq12([0, 0, 1, 0])),
    ("fp12_conj", 12, lambda a: a ** (P**6)),
    ("fp12_frobenius", 12, lambda a: a**P),
    ("fp12_frobenius_2", 12, lambda a: a ** (P**2)),
]
BINARY: list[tuple[str, int, Callable[[FQ12, FQ12], FQ12]]] = [
    *((f"fp{n}_add", n, lambda a, b: a + b) for n in (2, 6)),
    *((f"fp{n}_sub", n, lambda a, b: a - b) for n in (2, 6)),
    *((f"fp{n}_mul", n, lambda a, b: a * b) for n in (2, 6, 12)),
]


@pytest.mark.parametrize(("name", "n", "oracle"), UNARY, ids=[case[0] for case in UNARY])
def test_unary_operation_equals_the_oracle(name: str, n: int, oracle: Callable[[FQ12], FQ12]) -> None:
    op = operation(name)

    @settings(max_examples=10 if name in ("fp12_conj", "fp12_frobenius_2") else 40)
    @given(elements(n))
    def check(a: Coefficients) -> None:
        expected = coefficients(oracle(fq12(a)), n)
        assert value(op, a) == expected
        assert values_in_place(op, a) == [expected]

    check()


@pytest.mark.parametrize(("name", "n", "oracle"), BINARY, ids=[case[0] for case in BINARY])
def test_binary_operation_equals_the_oracle(name: str, n: int, oracle: Callable[[FQ12, FQ12], FQ12]) -> None:
    op = operation(name)

    @settings(max_examples=40)
    @given(elements(n), elements(n))
    def check(a: Coefficients, b: Coefficients) -> None:
        expected = coefficients(oracle(fq12(a), fq12(b)), n)
        assert value(op, a, b) == expected
        assert values_in_place(op, a, b) == [expected, expected]
        square = fp_from_ints(a)
        call(op, square, square, square)
        assert fp_to_ints(square) == coefficients(oracle(fq12(a), fq12(a)), n)

    check()


@pytest.mark.parametrize("name", ["fp2_zero", "fp2_one", "fp6_zero", "fp6_one", "fp12_one"])
def test_constant_is_written_whole(name: str) -> None:
    op = operation(name)
    n = int(name[2 : name.index("_")])
    d = np.full((n + 1, 6), 7, np.uint64)
    call(op, d)
    assert fp_to_ints(d[:n]) == [int(name.endswith("one")), *[0] * (n - 1)]
    assert (d[n] == 7).all()


@given(elements(2), coordinate)
def test_fp2_mul_fp_equals_the_oracle(a: Coefficients, b: int) -> None:
    expected = [a[0] * b % P, a[1] * b % P]
    assert value(fp2.fp2_mul_fp, a, [b]) == expected
    assert values_in_place(fp2.fp2_mul_fp, a, [b, 0])[0] == expected
    assert values_in_place(fp2.fp2_mul_fp, a, [b, 0])[1] == expected


@pytest.mark.parametrize("k", [2, 3])
def test_sum_of_fp2_products_equals_the_oracle(k: int) -> None:
    op = operation(f"fp2_mul_{k}")

    @settings(max_examples=60)
    @given(elements(2 * k), elements(2 * k))
    def check(a: Coefficients, b: Coefficients) -> None:
        terms = [fq12(a[2 * i : 2 * i + 2]) * fq12(b[2 * i : 2 * i + 2]) for i in range(k)]
        expected = coefficients(sum(terms, FQ12.zero()), 2)
        assert value(op, a, b)[:2] == expected
        assert [d[:2] for d in values_in_place(op, a, b)] == [expected, expected]

    check()


def test_sums_of_products_reach_their_bound() -> None:
    """All operands at their most: c0 sums p (p - 1) for 0, the opposite of which is p, and (p - 1)^2."""
    for a, b in ((P - 1, P - 1), (0, P - 1), (P - 1, 0), (1, P - 1)):
        x, y = [a] * 6, [b] * 6
        assert value(fp2.fp2_mul_3, x, y)[:2] == [0, 6 * a * b % P]
        assert value(fp2.fp2_mul_3, [a, 0] * 3, y)[:2] == [3 * a * b % P] * 2
        assert value(fp2.fp2_mul_3, [0, a] * 3, y)[:2] == [-3 * a * b % P, 3 * a * b % P]


def test_more_products_than_a_sum_can_hold_are_refused() -> None:
    with pytest.raises(AssertionError):
        call(sum_of_fp2_products(4), *(np.zeros((8, 6), np.uint64) for _ in range(3)))


@settings(max_examples=40)
@given(elements(12), elements(4))
def test_mul_by_line_is_the_product_with_powers_0_2_3_of_w(a: Coefficients, line: Coefficients) -> None:
    w = FQ12([0, 1] + [0] * 10)
    factor = fq12(line[:2]) + fq12(line[2:]) * w**2 + w**3
    expected = coefficients(fq12(a) * factor)
    assert value(fp12.fp12_mul_by_line, a, line) == expected
    assert values_in_place(fp12.fp12_mul_by_line, a, [*line, *[0] * 8])[0] == expected


@settings(max_examples=40)
@given(elements(6), elements(4))
def test_mul_by_01_reads_two_coefficients(a: Coefficients, b: Coefficients) -> None:
    expected = coefficients(fq12(a) * fq12([*b, 0, 0]), 6)
    assert value(fp6.fp6_mul_by_01, a, [*b, 5, 7]) == expected
    assert values_in_place(fp6.fp6_mul_by_01, a, [*b, 5, 7]) == [expected, expected]


@settings(max_examples=10)
@given(elements(12).filter(any))
def test_cyclotomic_square_equals_the_square_in_the_cyclotomic_subgroup(a: Coefficients) -> None:
    m = fq12(a) ** ((P**6 - 1) * (P**2 + 1))
    assert m ** (P**4 - P**2 + 1) == FQ12.one()
    expected = coefficients(m * m)
    assert value(fp12.fp12_cyclotomic_sqr, coefficients(m)) == expected
    assert values_in_place(fp12.fp12_cyclotomic_sqr, coefficients(m)) == [expected]


# Roots and order ---------------------------------------------------------------------------------------------------------------


def sqrt(a: Coefficients) -> tuple[bool, Coefficients]:
    d = np.empty((2, 6), np.uint64)
    found = call(fp2.fp2_sqrt, d, fp_from_ints(a))
    return found, fp_to_ints(d)


@given(elements(2))
def test_sqrt_finds_a_root_of_every_square(x: Coefficients) -> None:
    found, root = sqrt([int(c) for c in (FQ2(x) * FQ2(x)).coeffs])
    assert found
    assert root in (x, [-c % P for c in x])


@given(elements(2))
def test_sqrt_knows_a_square_from_another(a: Coefficients) -> None:
    is_square = FQ2(a) ** ((P**2 - 1) // 2) != FQ2([P - 1, 0])
    found, root = sqrt(a)
    assert found == is_square
    if found:
        assert FQ2(root) * FQ2(root) == FQ2(a)


def test_sqrt_of_the_elements_of_fp_always_exists() -> None:
    for c in (0, 1, 2, 3, 5, P - 1, P - 2, P - 3):
        found, root = sqrt([c, 0])
        assert found
        assert FQ2(root) * FQ2(root) == FQ2([c, 0])


@given(elements(2))
def test_is_larger_compares_with_the_opposite_c1_first(a: Coefficients) -> None:
    opposite = [-c % P for c in a]
    assert call(fp2.fp2_is_larger, fp_from_ints(a)) == (a[::-1] > opposite[::-1])


def test_eq_and_is_zero_see_every_coefficient() -> None:
    a = [2, 3]
    assert call(fp2.fp2_eq, fp_from_ints(a), fp_from_ints(a))
    assert not call(fp2.fp2_eq, fp_from_ints(a), fp_from_ints([2, 1]))
    assert not call(fp2.fp2_eq, fp_from_ints(a), fp_from_ints([1, 3]))
    assert call(fp2.fp2_is_zero, fp_from_ints([0, 0]))
    assert not call(fp2.fp2_is_zero, fp_from_ints([1, 0]))
    assert not call(fp2.fp2_is_zero, fp_from_ints([0, 1]))


# Constants ---------------------------------------------------------------------------------------------------------------------


def test_frobenius_numbers_are_the_powers_of_w_to_the_p_minus_one() -> None:
    w = FQ12([0, 1] + [0] * 10)
    for i in range(6):
        assert fq12(list(fp12.FROBENIUS[i])) * w**i == (w**i) ** P
        assert fq12(list(fp12.FROBENIUS_2[i])) * w**i == (w**i) ** (P**2)
        assert fp12.FROBENIUS_2[i][1] == 0


def test_minus_one_is_no_square_in_fp_and_xi_neither_square_nor_cube_in_fp2() -> None:
    assert P % 4 == 3
    xi = FQ2(fp2.XI)
    assert all(xi ** ((P**2 - 1) // k) != FQ2.one() for k in (2, 3))  # so v^3 - xi and w^2 - v are irreducible

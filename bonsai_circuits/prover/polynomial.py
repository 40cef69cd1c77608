"""Polynomials over Fr: (n, 4) arrays of coefficients in Montgomery form, the constant first; scalars are integers."""

import numpy as np

from bonsai_verifier.field import Words, fr_add, fr_from_ints, fr_mul, fr_sub, fr_to_ints

from ..kernels.polynomial import polynomial_divide_linear


def add(*terms: Words) -> Words:
    """The sum, as long as the longest term."""
    out = np.zeros((max(map(len, terms)), 4), np.uint64)
    for f in terms:
        out[: len(f)] = fr_add(out[: len(f)], f)
    return out


def scale(f: Words, c: int) -> Words:
    """c f."""
    return fr_mul(f, fr_from_ints([c]))


def shift(f: Words, n: int) -> Words:
    """f X^n."""
    return np.concatenate([np.zeros((n, 4), np.uint64), f])


def times_line(f: Words, c0: int, c1: int) -> Words:
    """f (c0 + c1 X)."""
    return add(scale(f, c0), shift(scale(f, c1), 1))


def times_vanishing(f: Words, n: int) -> Words:
    """f Z = f X^n - f, where Z = X^n - 1."""
    out = shift(f, n)
    out[: len(f)] = fr_sub(out[: len(f)], f)
    return out


def divide_linear(f: Words, x: int) -> tuple[Words, int]:
    """(q, v) with f = q (X - x) + v: v = f(x) and q = (f - f(x))/(X - x)."""
    quotient, value = np.empty((len(f) - 1, 4), np.uint64), np.empty((1, 4), np.uint64)
    polynomial_divide_linear(quotient, value, f, fr_from_ints([x]))
    return quotient, fr_to_ints(value)[0]

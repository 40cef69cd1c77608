"""Linear combinations sum_i c_i z_i as {wire: coefficient}; wire 0 is the constant one; no coefficient is zero."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from bonsai_verifier.parameters import FR_MODULUS as R

Terms: TypeAlias = Mapping[int, int]
ONE = 0  # the wire of the constant


def constant(value: int) -> dict[int, int]:
    """value * one."""
    value %= R
    return {ONE: value} if value else {}


def scaled(x: Terms, factor: int) -> dict[int, int]:
    """factor * x."""
    factor %= R
    return {w: c * factor % R for w, c in x.items()} if factor else {}


def combined(parts: Iterable[tuple[int, Terms]]) -> dict[int, int]:
    """sum of factor * x over the (factor, x) given."""
    total: dict[int, int] = {}
    for factor, x in parts:
        for w, c in x.items():
            total[w] = total.get(w, 0) + factor * c
    return {w: r for w, c in total.items() if (r := c % R)}


def added(x: Terms, y: Terms) -> dict[int, int]:
    """x + y."""
    if len(x) < len(y):
        x, y = y, x
    total = dict(x)
    for w, c in y.items():
        if s := (total.get(w, 0) + c) % R:
            total[w] = s
        else:
            del total[w]
    return total


def is_constant(x: Terms) -> bool:
    return all(w == ONE for w in x)


def normalised(x: Terms) -> tuple[int, tuple[tuple[int, int], ...]]:
    """x = scale * (terms in ascending wires, first coefficient 1), as (scale, terms); (0, ()) for x = 0."""
    if not x:
        return 0, ()
    terms = sorted(x.items())
    scale = terms[0][1]
    inverse = pow(scale, -1, R)
    return scale, tuple((w, c * inverse % R) for w, c in terms)


def evaluated(x: Terms, values: Mapping[int, int] | list[int]) -> int:
    """The value of x in Fr at the given wire values."""
    return sum(c * values[w] for w, c in x.items()) % R

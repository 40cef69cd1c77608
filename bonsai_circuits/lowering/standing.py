"""The squares that a system states: rows a b = c with b = k a say a^2 = c / k, and so (f a)^2 = f^2 c / k for every factor f."""

from collections.abc import Sequence
from typing import NamedTuple

from bonsai_verifier.parameters import FR_MODULUS as R

from ..r1cs.linear import Terms


class Square(NamedTuple):
    """x = factor a for the a of this row, whose b is k a: x^2 = factor^2 c / k, times `scale` = factor^2 / k."""

    row: int
    scale: int


class StandingSquares:
    """Finds the square of a combination among the rows of a system; the first row that states it counts."""

    def __init__(self, rows: Sequence[tuple[Terms, Terms, Terms]]) -> None:
        self._by_wires: dict[frozenset[int], list[tuple[Terms, int, int]]] = {}
        for i, (a, b, _) in enumerate(rows):
            k = ratio(b, a)
            if k:
                candidates = self._by_wires.setdefault(frozenset(a), [])
                if not any(ratio(a, known) for known, _, _ in candidates):
                    candidates.append((a, i, k))

    def find(self, x: Terms) -> Square | None:
        """The row that states x^2, if there is one."""
        for a, row, k in self._by_wires.get(frozenset(x), ()):
            if factor := ratio(x, a):
                return Square(row, factor * factor * pow(k, -1, R) % R)
        return None


def ratio(x: Terms, y: Terms) -> int:
    """The k with x = k y, or 0 if there is none (or x and y are zero)."""
    if x == y:
        return int(bool(x))
    if x.keys() != y.keys():
        return 0
    wires = iter(y)
    first = next(wires)
    x_0, y_0 = x[first], y[first]
    for w in wires:  # x / y is the same at all wires; the inverse, dear, is left for when it is
        if (x[w] * y_0 - x_0 * y[w]) % R:
            return 0
    return x_0 * pow(y_0, -1, R) % R

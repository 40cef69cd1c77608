"""Sums of multiples and their bit planes in any abelian group, digit by digit from the definition."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

P = TypeVar("P")


class Group(Generic[P]):
    """zero, add and neg of a group, and what follows from them."""

    def __init__(self, zero: P, add: Callable[[P, P], P], neg: Callable[[P], P]) -> None:
        self.zero, self.add, self.neg = zero, add, neg

    def sum(self, points: Sequence[P]) -> P:
        total = self.zero
        for p in points:
            total = self.add(total, p)
        return total

    def multiple(self, k: int, p: P) -> P:
        """k p by doubling and adding."""
        if k < 0:
            return self.neg(self.multiple(-k, p))
        total = self.zero
        for bit in f"{k:b}":
            total = self.add(total, total)
            if bit == "1":
                total = self.add(total, p)
        return total

    def sum_of_multiples(self, points: Sequence[P], scalars: Sequence[int]) -> P:
        return self.sum([self.multiple(k, p) for p, k in zip(points, scalars, strict=True)])

    def plane(self, points: Sequence[P], digits: Sequence[int], b: int) -> P:
        """sum_i sign(d_i) bit_b(|d_i|) P_i."""
        chosen = [(p, d) for p, d in zip(points, digits, strict=True) if abs(d) >> b & 1]
        return self.sum([p if d > 0 else self.neg(p) for p, d in chosen])

    def join(self, planes: Sequence[P]) -> P:
        """sum_j 2^j planes_j."""
        total = self.zero
        for p in reversed(planes):
            total = self.add(self.add(total, total), p)
        return total


def signed_digits(k: int, c: int, n_windows: int) -> list[int]:
    """d_w in (-2^(c-1), 2^(c-1)] with k = sum_w d_w 2^(cw), from the lowest window on; for 0 <= k < 2^(c n_windows - 1)."""
    digits = []
    for _ in range(n_windows):
        d = k % 2**c
        if d > 2 ** (c - 1):
            d -= 2**c
        digits.append(d)
        k = (k - d) >> c
    assert k == 0
    return digits

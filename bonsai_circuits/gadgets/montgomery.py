"""Sums of multiples of one Jubjub generator in Montgomery form y^2 = x^3 + A x^2 + x, by incomplete additions.

A sum is kept as its x and the last line: y is not a wire.  Line i has slope l_i and intercept n_i and passes through the sum so far
(x_(i-1), y_(i-1)), the addend (a_i, b_i) and the negative of the new sum:

  l_i a_i + n_i = b_i                                      through the addend
  l_i^2 = A + a_i + x_(i-1) + x_i                          the sum of the three roots
  (l_i + l_(i-1)) x_(i-1) + n_i + n_(i-1) = 0              through the sum so far: y_(i-1) = -(l_(i-1) x_(i-1) + n_(i-1))

Two points [m] I, [n] I of the prime subgroup have one x only if m = +-n modulo r_J.  Every point here carries bounds of its multiple, and
an addition is refused unless they show that |m| and |n| differ and that |m| + |n| <= (r_J - 1) / 2.  So x_(i-1) != a_i, the first and third
equation have one solution, and the new sum is neither infinity nor a point of even order.
"""

from dataclasses import dataclass

from ..dsl.builder import Builder
from ..dsl.trace import System
from ..dsl.wires import Num
from ..errors import CircuitError
from ..native.jubjub import MONTGOMERY_A, MONTGOMERY_SCALE, ORDER
from .edwards import Point


@dataclass(frozen=True, slots=True)
class Size:
    """Bounds on |n| for a point [n] I: 0 < low <= |n| <= high."""

    low: int
    high: int

    @classmethod
    def of(cls, multiples: list[int]) -> "Size":
        return cls(min(map(abs, multiples)), max(map(abs, multiples)))

    def plus(self, other: "Size") -> "Size":
        """Bounds of the sum.  Raises CircuitError: the two may meet, or the sum may be too large for the argument above."""
        gap = max(other.low - self.high, self.low - other.high)
        high = self.high + other.high
        if min(self.low, other.low) <= 0 or gap <= 0 or high > (ORDER - 1) // 2:
            raise CircuitError("addition", "an incomplete addition whose operands may meet; use a complete one")
        return Size(gap, high)


@dataclass(frozen=True, slots=True)
class Addend:
    """A point (x, y), not a constant.

    sizes: bounds of its multiple, one for each generator that it may be a multiple of, in step with the sum's.
    x_squared: x^2 as a combination, if it is one; used in Square R1CS alone.
    """

    x: Num
    y: Num
    x_squared: Num | None
    sizes: tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum: its x, and the line that made it, or for one addend alone that addend.  y_hint: its y, for hints only."""

    x: Num
    y_hint: Num
    line: tuple[Num, Num] | None
    first: Addend
    sizes: tuple[Size, ...]


def start(addend: Addend) -> Sum:
    """The sum of one addend.  Cost: no row."""
    return Sum(addend.x, addend.y, None, addend, addend.sizes)


def add(c: Builder, total: Sum, addend: Addend) -> Sum:
    """total + addend.  Cost: 3 rows; in Square R1CS 4 where the addend's x^2 is known (and 3 for the first sum if both are), else 5.

    Sound because the sizes, which are checked here, keep the operands apart (above).
    """
    sizes = tuple(m.plus(n) for m, n in zip(total.sizes, addend.sizes, strict=True))
    slope = c.hint_quotient(addend.y - total.y_hint, addend.x - total.x, "slope")
    intercept = c.hint_value(addend.y - c.scratch(c.hint_product(slope, addend.x, "slope a")), "intercept")
    roots = addend.x + total.x + MONTGOMERY_A
    x = c.hint_value(c.scratch(c.hint_product(slope, slope, "slope^2")) - roots, "x")
    squared = x + roots
    c.must_be_square(slope, squared, "slope^2 = A + x1 + x2 + x3")
    _through(c, slope, squared, intercept, addend, "the line passes through the addend")
    label = "the line passes through the sum so far"
    if total.line is None:
        _through(c, slope, squared, intercept, total.first, label)
    else:
        before, offset = total.line
        c.must_be_product(slope + before, total.x, -(intercept + offset), label)
    y_hint = -(c.scratch(c.hint_product(slope, x, "slope x")) + intercept)
    return Sum(x, y_hint, (slope, intercept), total.first, sizes)


def to_edwards(c: Builder, total: Sum) -> Point:
    """(u, v) = (scale x / y, (x - 1) / (x + 1)).  Cost: 3 rows, 6 in Square R1CS; 2 and 4 for a sum of one addend.

    Sound because the sum has odd order and is not the identity: y is 0 only for order 2, and x = -1 has order 4.
    """
    if total.line is None:
        y = total.first.y
    else:
        slope, intercept = total.line
        y = c.hint_value(total.y_hint, "y")
        c.must_be_product(slope, total.x, -(y + intercept), "y is on the last line")
    scaled = total.x * MONTGOMERY_SCALE
    u = c.hint_quotient(scaled, y, "u")
    c.must_be_product(u, y, scaled, "u y = scale x")
    v = c.hint_quotient(total.x - 1, total.x + 1, "v")
    c.must_be_product(v, total.x + 1, total.x - 1, "v (x + 1) = x - 1")
    return Point(u, v)


def _through(c: Builder, slope: Num, squared: Num, intercept: Num, addend: Addend, label: str) -> None:
    """slope a = b - intercept.  Cost: 1 row; in Square R1CS 1 if a^2 is known, since slope^2 is, and else 2."""
    product = addend.y - intercept
    if addend.x_squared is None:
        c.must_be_product(slope, addend.x, product, label)
        return
    with c.only(System.R1CS):
        c.must_be_product(slope, addend.x, product, label)
    with c.only(System.SQUARE):
        c.must_be_square(slope + addend.x, squared + addend.x_squared + 2 * product, label)

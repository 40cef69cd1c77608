"""Points of Jubjub's prime subgroup in Edwards form: complete additions, no exceptions, constants included."""

from collections.abc import Sequence
from dataclasses import dataclass

from bonsai_verifier.parameters import FR_MODULUS as R

from ..dsl.builder import Builder
from ..dsl.wires import Bit, Num
from ..native.jubjub import D
from ..native.jubjub import Point as Constant
from .range import FIELD_BITS, packed


@dataclass(frozen=True, slots=True)
class Point:
    """(u, v) on the curve, known to be in the prime subgroup."""

    u: Num
    v: Num

    def negated(self) -> "Point":
        """-P = (-u, v).  Cost: no row."""
        return Point(-self.u, self.v)


def constant(c: Builder, p: Constant) -> Point:
    """A fixed point.  Cost: no row."""
    return Point(c.num(p[0]), c.num(p[1]))


def add(c: Builder, p: Point, q: Point) -> Point:
    """P + Q.  Cost: 6 rows, 12 in Square R1CS; 3 and 6 if one of them is constant; none if both are.

      u3 = (u1 v2 + v1 u2) / (1 + k),  v3 = (v1 v2 + u1 u2) / (1 - k),  k = d u1 v2 v1 u2

    with v1 v2 + u1 u2 = (u1 + v1)(u2 + v2) - u1 v2 - v1 u2.
    Sound because d is no square, so for points of the curve 1 + k and 1 - k are not 0 (Bernstein, Lange, ePrint 2007/286, theorem 3.3):
    the last two rows leave one value for u3 and one for v3.
    """
    sum_u, k = _numerator(c, p, q)
    total = c.product(p.u + p.v, q.u + q.v, "(u1 + v1)(u2 + v2)")
    u = _quotient(c, sum_u, 1 + k, "u3 (1 + k) = u1 v2 + v1 u2")
    v = _quotient(c, total - sum_u, 1 - k, "v3 (1 - k) = v1 v2 + u1 u2")
    return Point(u, v)


def add_u(c: Builder, p: Point, q: Point) -> Num:
    """u(P + Q).  Cost: 4 rows, 8 in Square R1CS.  Sound as `add`."""
    sum_u, k = _numerator(c, p, q)
    return _quotient(c, sum_u, 1 + k, "u3 (1 + k) = u1 v2 + v1 u2")


def add_u_bits(c: Builder, p: Point, q: Point) -> Num:
    """u(P + Q) as a packed sum of 255 bits, an alias included (range.field_bits).  Cost: 4 rows, 8 in Square R1CS, and the 255 bits."""
    sum_u, k = _numerator(c, p, q)
    value = c.scratch(c.hint_quotient(sum_u, 1 + k, "u3"))
    with c.scope(f"bits[{FIELD_BITS}]"):
        u = packed(c, [c.boolean(value, i, f"bit {i}") for i in range(FIELD_BITS)])
    c.must_be_product(u, 1 + k, sum_u, "u3 (1 + k) = u1 v2 + v1 u2")
    return u


def add_all(c: Builder, points: Sequence[Point]) -> Point:
    """The sum of one point or more.  Cost: len(points) - 1 additions."""
    total = points[0]
    for point in points[1:]:
        total = add(c, total, point)
    return total


def select(c: Builder, bits: Sequence[Bit], points: Sequence[Point]) -> Point:
    """points[position], the position's bits least significant first.  Cost: 2 (len(points) - 1) products.

    Sound because each step takes one whole point: p + b (q - p) in both coordinates, with the same b.
    """
    level = list(points)
    for bit in bits:
        level = [
            Point(*(x + c.product(bit, y - x, "selected point") for x, y in ((p.u, q.u), (p.v, q.v))))
            for p, q in zip(level[::2], level[1::2], strict=True)
        ]
    return level[0]


def _numerator(c: Builder, p: Point, q: Point) -> tuple[Num, Num]:
    """(u1 v2 + v1 u2, d u1 v2 v1 u2).  Cost: 3 products."""
    a = c.product(p.u, q.v, "u1 v2")
    b = c.product(p.v, q.u, "v1 u2")
    return a + b, c.product(a, b, "u1 v2 v1 u2") * D


def _quotient(c: Builder, x: Num, y: Num, label: str) -> Num:
    """x / y for y != 0.  Cost: 1 product; none for constants."""
    if (k := y.constant_value()) is not None:
        return x * pow(k, -1, R)
    out = c.hint_quotient(x, y, label)
    c.must_be_product(out, y, x, label)
    return out

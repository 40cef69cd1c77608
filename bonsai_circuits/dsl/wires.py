"""Values inside a circuit: Num, a linear combination of wires, and Bit, one that is known to be 0 or 1.

`+`, `-`, and multiplication by a constant never make a row; `*` between two wires makes one.
"""

import operator
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Union

from bonsai_verifier.parameters import FR_MODULUS as R

from ..errors import CircuitError
from ..r1cs.linear import Terms, added, combined, constant, is_constant, scaled

if TYPE_CHECKING:
    from .builder import Builder


class Num:
    """An element of Fr: a linear combination of the wires of one circuit."""

    __slots__ = ("builder", "terms")

    def __init__(self, builder: "Builder", terms: Terms) -> None:
        self.builder = builder
        self.terms = terms

    def __add__(self, other: Union["Num", int]) -> "Num":
        return Num(self.builder, added(self.terms, self._terms_of(other)))

    __radd__ = __add__

    def __neg__(self) -> "Num":
        return Num(self.builder, scaled(self.terms, -1))

    def __sub__(self, other: Union["Num", int]) -> "Num":
        return Num(self.builder, added(self.terms, scaled(self._terms_of(other), -1)))

    def __rsub__(self, other: int) -> "Num":
        return -self + other

    def __mul__(self, other: Union["Num", int]) -> "Num":
        if isinstance(other, Num):
            return self.builder.product(self, other, "product")
        return Num(self.builder, scaled(self.terms, as_integer(other)))

    __rmul__ = __mul__

    def must_equal(self, other: Union["Num", int], label: str = "must equal") -> None:
        """self = other.  Cost: no row; the equation expresses one private wire by the others."""
        self.builder.equate(self, self.builder.num(other), label)

    def constant_value(self) -> int | None:
        """The value, if no wire but the constant one occurs."""
        return self.terms.get(0, 0) if is_constant(self.terms) else None

    def key(self) -> tuple[tuple[int, int], ...]:
        """The combination as a value that can be looked up."""
        return tuple(sorted(self.terms.items()))

    def _terms_of(self, other: Union["Num", int]) -> Terms:
        if not isinstance(other, Num):
            return constant(as_integer(other))
        if other.builder is not self.builder:
            raise CircuitError("operand", "the two wires belong to different circuits; build both in one")
        return other.terms

    def __eq__(self, other: object) -> bool:
        raise CircuitError("==", "wires have no value while a circuit is described; state an equation with must_equal")

    __hash__ = None  # type: ignore[assignment]  # equality is refused, so no hash

    def __bool__(self) -> bool:
        raise CircuitError("if", "wires have no value while a circuit is described; use a selection gadget")

    def __repr__(self) -> str:
        return f"Num({len(self.terms)} terms)"


class Bit(Num):
    """A Num that some row forces to be 0 or 1."""

    __slots__ = ()

    @classmethod
    def trusted(cls, num: Num) -> "Bit":
        """`num` as a Bit, for the gadget whose docstring argues that it can only be 0 or 1.  Cost: no row."""
        return cls(num.builder, num.terms)


def as_integer(value: object) -> int:
    """The integer that a value of a description stands for.  Raises CircuitError: a float, a string, ..."""
    try:
        return operator.index(value)  # type: ignore[arg-type]  # what has no index is refused below
    except TypeError as e:
        raise CircuitError("operand", f"expected a wire or an integer, got {type(value).__name__}") from e


def linear(builder: "Builder", factors: Sequence[int], nums: Iterable[Num], offset: int = 0) -> Num:
    """sum of factor_i num_i, plus offset.  Cost: no row."""
    parts = [(f % R, builder.num(x).terms) for f, x in zip(factors, nums, strict=True)]
    return Num(builder, combined([*parts, (1, constant(offset))]))

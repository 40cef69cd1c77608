"""Values inside a circuit: Num, a linear combination of wires, and Bit, one that is known to be 0 or 1.

`+`, `-`, and multiplication by a constant never make a row; `*` between two wires makes one.
"""

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Union

from bonsai_verifier.parameters import FR_MODULUS as R

from ..errors import CircuitError
from ..r1cs.linear import Terms, added, combined, constant, is_constant, scaled

if TYPE_CHECKING:
    from .builder import Builder


def _refused(symbol: str, advice: str) -> Callable[..., Any]:
    """What Python calls for an operation that wires do not have: an error that names the one to use."""

    def refuse(*_: object) -> Any:
        raise CircuitError(symbol, advice)

    return refuse


_NO_VALUE = "wires have no value while a circuit is described"
_COMPARE = (
    f"{_NO_VALUE}; gadgets.in_range(c, y - x, n) states x <= y for numbers below 2^n, 0 <= x < 2^n is in_range(c, x, n)"
)
_DIVIDE = (
    "x / k for a number k is x * pow(k, -1, FR_MODULUS), no row; by a wire: q = c.hint_quotient(x, y, label), held by "
    "c.must_be_product(q, y, x, label)"
)
_REMAINDER = (
    "wires are field elements and have no remainder; gadgets.bits(c, x, n) gives the bits of x, and sums of them are quotient and "
    "remainder by a power of 2"
)
_POWER = "each product is a row, so write it out: c.square(x, label), x * y, c.fifth_power(x, label)"
_LOGIC = "for bits: gadgets.both(c, a, b) is a and b, a + b - both is a or b, 1 - a is not a"
_SHIFT = "to the left: x * 2**n, no row; to the right: gadgets.bits(c, x, n), and the sum of the upper ones"


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
        raise CircuitError("==", f"{_NO_VALUE}; state an equation with must_equal")

    def __hash__(self) -> int:
        raise CircuitError("hash", f"{_NO_VALUE}, so none is in a set or a key of a dict; x.key() is the combination")

    def __bool__(self) -> bool:
        raise CircuitError("if", f"{_NO_VALUE}; use a selection gadget: gadgets.mux(c, [bit], [otherwise, then], out)")

    __lt__ = __gt__ = __le__ = __ge__ = _refused("<", _COMPARE)
    __pow__ = __rpow__ = _refused("**", _POWER)
    __truediv__ = __rtruediv__ = _refused("/", _DIVIDE)
    __floordiv__ = __rfloordiv__ = _refused("//", _REMAINDER)
    __mod__ = __rmod__ = __divmod__ = __rdivmod__ = _refused("%", _REMAINDER)
    __and__ = __rand__ = _refused("&", _LOGIC)
    __or__ = __ror__ = _refused("|", _LOGIC)
    __xor__ = __rxor__ = _refused("^", _LOGIC)
    __invert__ = _refused("~", _LOGIC)
    __lshift__ = __rlshift__ = _refused("<<", _SHIFT)
    __rshift__ = __rrshift__ = _refused(">>", _SHIFT)
    __int__ = __index__ = __float__ = _refused("int", f"{_NO_VALUE}; a number that the description needs is no input")

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

"""A digit of a position: its bits, its one-hot form, tables of constants at the digit."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from bonsai_verifier.parameters import FR_MODULUS as R

from ..dsl.builder import Builder
from ..dsl.trace import System
from ..dsl.wires import Bit, Num, linear
from ..errors import CircuitError
from .boolean import both, folded

T = TypeVar("T")
_MAX_BITS = 3  # `_from_bits` knows no more


class Digit:
    """1 to 3 bits of a position, least significant first; `size` values.

    one_hot costs 2^k - 1 - k rows, once, in Square R1CS; in R1CS too if `shared` (a bitmap needs it there), and otherwise nothing, for a
    table is cheaper there from the bits.
    """

    def __init__(self, c: Builder, bits: Sequence[Bit], shared: bool = False) -> None:
        if not 1 <= len(bits) <= _MAX_BITS:
            raise CircuitError("digit", f"has {len(bits)} bits; a digit has 1 to {_MAX_BITS}")
        self.c = c
        self.bits = tuple(bits)
        self.size = 1 << len(bits)
        self.shared = shared
        self._one_hot: list[Bit] | None = None
        self._high_product: Num | None = None
        self._tables: dict[tuple[int, ...], Num] = {}

    def one_hot(self) -> list[Bit]:
        """s_j = 1 if the digit is j, else 0.

        Sound because it is built from booleans: s splits by one bit at a time into s - s b and s b, the last product being what the bit
        leaves over, so exactly one entry is 1.
        """
        if self._one_hot is None:
            with self.c.scope("one-hot"):
                if self.shared or len(self.bits) == 1:
                    self._one_hot = self._split(both)
                else:
                    with self.c.only(System.SQUARE):
                        self._one_hot = self._split(_both_squared)
        return self._one_hot

    def _split(self, product: Callable[[Builder, Bit, Bit, str], Bit]) -> list[Bit]:
        entries = [1 - self.bits[-1], self.bits[-1]]
        for bit in reversed(self.bits[:-1]):
            split: list[Num] = []
            high_sum = self.c.num(0)
            for i, entry in enumerate(entries):
                if i < len(entries) - 1:
                    high: Num = product(self.c, Bit.trusted(entry), bit, f"entry {i}")
                    high_sum = high_sum + high
                else:
                    high = bit - high_sum
                split += [entry - high, high]
            entries = split
        return [Bit.trusted(entry) for entry in entries]

    def table(self, values: Sequence[int], label: str) -> Num:
        """values[digit], for constants; asked for twice, it is made once.

        Cost: none in Square R1CS, where it is linear in the one-hot form; in R1CS as `_from_bits` says.
        """
        key = tuple(values)
        if key not in self._tables:
            self._tables[key] = self._table(values, label)
        return self._tables[key]

    def clipped(self, size: int) -> "Digit":
        """The digit where it is below `size`; a larger one counts as size - 1.  Cost: none of its own.

        For a node of fewer children, whose digit is below their number where the node counts.
        """
        return self if size == self.size else _Clipped(self, size)

    def spread(self, values: Sequence[T]) -> Sequence[T]:
        """One value for each combination of the bits, from one for each value of the digit."""
        return values

    def _table(self, values: Sequence[int], label: str) -> Num:
        out = linear(self.c, values, self.one_hot())
        if self.shared or len(self.bits) == 1:
            return out
        wire = self.c.hint_value(out, label)
        with self.c.only(System.SQUARE):
            wire.must_equal(out, label)
        with self.c.only(System.R1CS):
            wire.must_equal(self._from_bits(values, label), label)
        return wire

    def _from_bits(self, values: Sequence[int], label: str) -> Num:
        """The table from the bits b0, b1, b2: 2 bits one product b0 b1, once; 3 bits b1 b2, once, and one product a table.

        Sound because each side is the multilinear polynomial through the table's values.
        """
        c = self.c
        low, high = self.bits[-2:]
        if self._high_product is None:
            self._high_product = c.product(low, high, "product of the high bits")
        product = self._high_product

        def four(t: Sequence[int]) -> Num:
            return linear(c, [t[1] - t[0], t[2] - t[0], t[3] - t[2] - t[1] + t[0]], [low, high, product], t[0])

        if len(self.bits) == 2:
            return four(values)
        even, odd = values[0::2], values[1::2]
        return four(even) + c.product(self.bits[0], four([(y - x) % R for x, y in zip(even, odd, strict=True)]), label)


class _Clipped(Digit):
    """min(digit, size - 1), 2^(bits - 1) < size < 2^bits: it has the digit's bits, products and tables."""

    def __init__(self, digit: Digit, size: int) -> None:
        if not digit.size // 2 < size < digit.size:
            raise CircuitError("digit", f"of {digit.size} values is not clipped to {size}; take one of fewer bits")
        self.c, self.bits, self.size, self.shared = digit.c, digit.bits, size, digit.shared
        self._digit = digit

    def one_hot(self) -> list[Bit]:
        entries = self._digit.one_hot()
        rest = entries[self.size - 1 :]
        return [*entries[: self.size - 1], Bit.trusted(linear(self.c, [1] * len(rest), rest))]

    def table(self, values: Sequence[int], label: str) -> Num:
        return self._digit.table(self.spread(values), label)

    def spread(self, values: Sequence[T]) -> Sequence[T]:
        return [*values, *[values[-1]] * (self._digit.size - self.size)]


def _both_squared(c: Builder, a: Bit, b: Bit, label: str) -> Bit:
    """a b in Square R1CS alone, as gadgets.boolean.both."""
    if (known := folded(a, b)) is not None:
        return known
    out = c.hint_product(a, b, label)
    c.must_be_square(a + b, a + b + 2 * out, label)
    return Bit.trusted(out)

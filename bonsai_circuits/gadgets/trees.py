"""The receipt tree and the nullifier tree inside a circuit, in the shapes that relations use.

Both are steered by the same boolean wires of a position, POSITION_BITS of them.  Siblings are advice: `<name>[level][child]`, all but the
child on the path, in order, from the leaves up.
"""

from collections.abc import Sequence
from typing import Protocol

from ..dsl.builder import Builder
from ..dsl.wires import Bit, Num
from .bitmap import take_bit
from .digit import Digit
from .poseidon_tree import change_level, open_level

POSITION_BITS = 40


class Trees(Protocol):
    """Both trees over one position."""

    name: str

    def position(self, c: Builder, bits: Sequence[Bit]) -> "Position":
        """The position with these bits, least significant first."""

    def open_receipt(self, c: Builder, position: "Position", receipt: Num) -> Num:
        """The root of the receipt tree that has `receipt` at the position."""

    def take_nullifier(self, c: Builder, position: "Position", active: Bit | None) -> tuple[Num, Num]:
        """The roots of the nullifier tree before and after the position was taken; it was free.  Not active: nothing is taken."""


class Position:
    """A position below 2^POSITION_BITS as digits; both trees use these digits, so they speak of one position."""

    def __init__(self, c: Builder, bits: Sequence[Bit], widths: Sequence[int], shared: int = 0) -> None:
        """widths: bits of each digit from the lowest; the first `shared` digits are needed in one-hot form in both systems."""
        assert sum(widths) == len(bits) == POSITION_BITS
        self.digits: list[Digit] = []
        at = 0
        for i, width in enumerate(widths):
            self.digits.append(Digit(c, bits[at : at + width], i < shared))
            at += width


def siblings(c: Builder, name: str, level: int, n: int) -> list[Num]:
    """The n - 1 siblings on one level, as advice."""
    return [c.advice(f"{name}[{level}][{j}]") for j in range(n - 1)]


class PoseidonTrees:
    """wide: 128 positions a nullifier leaf and 11 levels of 8 children; receipts with 8, 4 and 4 children below them.  classic: 40
    levels of 2 children, a nullifier leaf is 0 or 1.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._wide = name == "wide"
        self._widths = (3, 2, 2, *[3] * 11) if self._wide else (1,) * POSITION_BITS

    def position(self, c: Builder, bits: Sequence[Bit]) -> Position:
        return Position(c, bits, self._widths, 1 if self._wide else 0)

    def open_receipt(self, c: Builder, position: Position, receipt: Num) -> Num:
        node = receipt
        with c.scope("receipt tree"):
            for i, digit in enumerate(position.digits):
                with c.scope(f"level {i}"):
                    node = open_level(c, node, digit, siblings(c, "receipt_path", i, digit.size))
        return node

    def take_nullifier(self, c: Builder, position: Position, active: Bit | None) -> tuple[Num, Num]:
        with c.scope("nullifier tree"):
            if self._wide:
                low, middle, high, *digits = position.digits
                old, new = take_bit(c, c.secret("nullifier_leaf"), (low, middle, high), active)
            else:
                digits = position.digits
                old, new = c.num(0), active if active is not None else c.num(1)
            for i, digit in enumerate(digits):
                with c.scope(f"level {i}"):
                    old, new = change_level(c, old, new, digit, siblings(c, "nullifier_path", i, digit.size))
        return old, new

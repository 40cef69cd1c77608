"""Two machines for the writers of lanes.py that need no vector unit: integers, and intervals that bound what every lane can hold."""

from typing import NamedTuple

from bonsai_verifier.kernels.lane_machine import LANES, LIMB_MASK

WORD = 2**64


class IntegerMachine:
    """Eight lanes of integers modulo 2^64.  `lo` and `hi` refuse an operand that does not fit, `claim` a value outside."""

    def __init__(self) -> None:
        self.zero = self.const(0)

    def const(self, x):
        return [x % WORD] * LANES

    def consts(self, xs):
        return [x % WORD for x in xs]

    def low(self, x):
        return [a & LIMB_MASK for a in x]

    def _products(self, x, y):
        assert max(x) <= LIMB_MASK
        assert max(y) <= LIMB_MASK
        return [a * b for a, b in zip(x, y, strict=True)]

    def lo(self, t, x, y):
        return self.add(t, [c & LIMB_MASK for c in self._products(x, y)])

    def hi(self, t, x, y):
        return self.add(t, [c >> 52 for c in self._products(x, y)])

    def add(self, x, y):
        return [(a + b) % WORD for a, b in zip(x, y, strict=True)]

    def sub(self, x, y):
        return [(a - b) % WORD for a, b in zip(x, y, strict=True)]

    def and_(self, x, y):
        return [a & b for a, b in zip(x, y, strict=True)]

    def or_(self, x, y):
        return [a | b for a, b in zip(x, y, strict=True)]

    def xor(self, x, y):
        return [a ^ b for a, b in zip(x, y, strict=True)]

    def shl(self, x, bits):
        return [(a << bits) % WORD for a in x]

    def shr(self, x, bits):
        return [a >> bits for a in x]

    def sar(self, x, bits):
        return [(signed(a) >> bits) % WORD for a in x]

    def swap_bytes(self, x):
        return [int.from_bytes(a.to_bytes(8, "little"), "big") for a in x]

    def lookup(self, table, index):
        return [table[i % LANES] % WORD for i in index]

    def is_negative(self, x):
        return [signed(a) < 0 for a in x]

    def is_zero(self, x):
        return [a == 0 for a in x]

    def both(self, a, b):
        return [x and y for x, y in zip(a, b, strict=True)]

    def either(self, a, b):
        return [x or y for x, y in zip(a, b, strict=True)]

    def differ(self, a, b):
        return [x != y for x, y in zip(a, b, strict=True)]

    def select(self, mask, x, y):
        return [a if chosen else b for chosen, a, b in zip(mask, x, y, strict=True)]

    def shuffle(self, x, y, indices):
        return [(x + y)[i] for i in indices]

    def claim(self, x, low, high):
        assert all(low <= signed(a) <= high for a in x)
        return x


class Interval(NamedTuple):
    """low <= x <= high, for a lane read as a signed number, or for a word without a sign."""

    low: int
    high: int


class IntervalMachine:
    """What a lane can hold.  Raises AssertionError where a sum can leave the signed 64 bits, or an operand of `lo` or `hi` its 52.

    Shifts to the left drop bits, as `words_from_limbs` means them to: their result is then any word.
    """

    def __init__(self) -> None:
        self.zero = self.const(0)

    def const(self, x):
        return Interval(x, x)

    def consts(self, xs):
        return Interval(min(xs), max(xs))

    def low(self, x):
        return x if x.low >= 0 and x.high <= LIMB_MASK else Interval(0, LIMB_MASK)

    def lo(self, t, x, y):
        _operands(x, y)
        exact = x.high * y.high <= LIMB_MASK
        return self.add(t, Interval(x.low * y.low if exact else 0, min(x.high * y.high, LIMB_MASK)))

    def hi(self, t, x, y):
        _operands(x, y)
        return self.add(t, Interval(x.low * y.low >> 52, x.high * y.high >> 52))

    def add(self, x, y):
        return _fits(Interval(_fits(x).low + _fits(y).low, x.high + y.high))

    def sub(self, x, y):
        return _fits(Interval(_fits(x).low - _fits(y).high, x.high - y.low))

    def and_(self, x, y):
        assert x.low >= 0 or y.low >= 0
        return Interval(0, min(a.high for a in (x, y) if a.low >= 0))

    def or_(self, x, y):
        assert x.low >= 0 <= y.low
        return Interval(max(x.low, y.low), (1 << max(x.high, y.high).bit_length()) - 1)

    def xor(self, x, y):
        return Interval(0, self.or_(x, y).high)

    def shl(self, x, bits):
        assert x.low >= 0
        return Interval(0, WORD - 1) if x.high << bits >= WORD else Interval(x.low << bits, x.high << bits)

    def shr(self, x, bits):
        assert x.low >= 0
        return Interval(x.low >> bits, x.high >> bits)

    def sar(self, x, bits):
        return Interval(_fits(x).low >> bits, x.high >> bits)

    def swap_bytes(self, x):
        return Interval(0, WORD - 1)

    def lookup(self, table, index):
        return self.consts(table)

    def is_negative(self, x):
        pass

    def is_zero(self, x):
        pass

    def both(self, a, b):
        pass

    def either(self, a, b):
        pass

    def differ(self, a, b):
        pass

    def select(self, mask, x, y):
        return Interval(min(x.low, y.low), max(x.high, y.high))

    def shuffle(self, x, y, indices):
        return self.select(None, x, y)

    def claim(self, x, low, high):
        assert x.low <= high
        assert low <= x.high
        return Interval(max(x.low, low), min(x.high, high))


def signed(x: int) -> int:
    return x - WORD if x >= WORD // 2 else x


def _fits(x: Interval) -> Interval:
    assert -WORD // 2 <= x.low <= x.high < WORD // 2
    return x


def _operands(*xs: Interval) -> None:
    for x in xs:
        assert 0 <= x.low <= x.high <= LIMB_MASK

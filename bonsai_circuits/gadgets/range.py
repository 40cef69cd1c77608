"""Bits of a value and range checks."""

from collections.abc import Sequence

from bonsai_verifier.parameters import FR_MODULUS

from ..dsl.builder import Builder
from ..dsl.wires import Bit, Num, as_integer, linear
from ..errors import CircuitError

FIELD_BITS = FR_MODULUS.bit_length()


def bits(c: Builder, x: Num, n: int, name: str = "value") -> list[Bit]:
    """x = sum 2^i bit_i, least significant first.  Cost: n rows in both systems (the equation costs none); a constant costs none.

    Asked for twice, they are made once.
    Sound because each bit is 0 or 1, so the sum is an integer in [0, 2^n); for n <= 254 it is below r and no two bit strings give the
    same x.
    """
    c.require_own(x)
    if not 1 <= as_integer(n) <= 254:
        raise CircuitError("bits", f"{n} is not in 1 .. 254: beyond that two bit strings give one value")
    if (value := x.constant_value()) is not None:
        if value >> n:
            raise CircuitError("bits", f"the constant {value} is not below 2^{n}; no witness could satisfy this")
        return [Bit.trusted(c.num(value >> i & 1)) for i in range(n)]
    return list(c.once(("bits", n, x.key()), lambda: _unpacked(c, x, n, f"{name} is below 2^{n}")))


def field_bits(c: Builder, x: Num) -> list[Bit]:
    """x = sum 2^i bit_i, 255 bits, least significant first: the integer they give is x or, if that is below 2^255, x + r.

    Cost: 255 rows in both systems (the equation costs none); a constant costs none.  Asked for twice, they are made once.
    Sound where the bits are hashed and the value is read from them: they determine it, and an alias only gives another hash.
    """
    c.require_own(x)
    if (value := x.constant_value()) is not None:
        return [Bit.trusted(c.num(value >> i & 1)) for i in range(FIELD_BITS)]
    return list(c.once(("bits", FIELD_BITS, x.key()), lambda: _unpacked(c, x, FIELD_BITS, "value has 255 bits")))


def packed(c: Builder, parts: Sequence[Bit]) -> Num:
    """sum 2^i bit_i; whoever asks for the bits of this number, as many as these, gets them.  Cost: no row."""
    x = linear(c, [1 << i for i in range(len(parts))], parts)
    c.once(("bits", len(parts), x.key()), lambda: list(parts))
    return x


def _unpacked(c: Builder, x: Num, n: int, label: str) -> list[Bit]:
    with c.scope(f"bits[{n}]"):
        parts = [c.boolean(x, i, f"bit {i}") for i in range(n)]
        linear(c, [1 << i for i in range(n)], parts).must_equal(x, label)
    return parts


def in_range(c: Builder, x: Num, n: int, name: str = "value") -> None:
    """0 <= x < 2^n, x being called `name` where it fails.  Cost: n rows in both systems.  Sound as `bits`."""
    bits(c, x, n, name)

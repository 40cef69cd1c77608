"""Bits of a value and range checks."""

from ..dsl.builder import Builder
from ..dsl.wires import Bit, Num, linear
from ..errors import CircuitError


def bits(c: Builder, x: Num, n: int, name: str = "value") -> list[Bit]:
    """x = sum 2^i bit_i, least significant first.  Cost: n rows in both systems (the equation costs none); a constant costs none.

    Sound because each bit is 0 or 1, so the sum is an integer in [0, 2^n); for n <= 254 it is below r and no two bit strings give the
    same x.
    """
    if not 1 <= n <= 254:
        raise CircuitError("bits", f"{n} is not in 1 .. 254: beyond that two bit strings give one value")
    if (value := x.constant_value()) is not None:
        if value >> n:
            raise CircuitError("bits", f"the constant {value} is not below 2^{n}; no witness could satisfy this")
        return [Bit.trusted(c.num(value >> i & 1)) for i in range(n)]
    with c.scope(f"bits[{n}]"):
        parts = [c.boolean(x, i, f"bit {i}") for i in range(n)]
        linear(c, [1 << i for i in range(n)], parts).must_equal(x, f"{name} is below 2^{n}")
    return parts


def in_range(c: Builder, x: Num, n: int, name: str = "value") -> None:
    """0 <= x < 2^n, x being called `name` where it fails.  Cost: n rows in both systems.  Sound as `bits`."""
    bits(c, x, n, name)

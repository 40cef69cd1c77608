"""Selection by a position's bits."""

from collections.abc import Sequence

from ..dsl.builder import Builder
from ..dsl.wires import Bit, Num
from ..errors import CircuitError


def mux(c: Builder, bits: Sequence[Bit], values: Sequence[Num], out: Num) -> None:
    """values[position] = out, the position's bits least significant first.  Cost: len(values) - 1 products.

    Sound because each step keeps v0 + b (v1 - v0), which is v0 for b = 0 and v1 for b = 1.
    Raises CircuitError: not 2^len(bits) values, or no bits.
    """
    if not bits or len(values) != 1 << len(bits):
        raise CircuitError("mux", f"{len(values)} values for {len(bits)} bits; n bits select one of 2^n values, n >= 1")
    level = list(values)
    for bit in bits:
        pairs = list(zip(level[::2], level[1::2], strict=True))
        if len(pairs) == 1:
            ((zero, one),) = pairs
            c.must_be_product(bit, one - zero, out - zero, "the selected value")
            return
        level = [zero + c.product(bit, one - zero, "select") for zero, one in pairs]


def demux(c: Builder, bits: Sequence[Bit], value: Num) -> list[Num]:
    """value at the position, 0 elsewhere.  Cost: 2^bits - 1 products.

    Sound because each step splits x into x - b x and b x.
    """
    parts = [value]
    for bit in reversed(bits):
        split: list[Num] = []
        for part in parts:
            high = c.product(bit, part, "distribute")
            split += [part - high, high]
        parts = split
    return parts

"""Tables of constants at booleans: a table is linear in the products of its booleans."""

from collections.abc import Sequence

from bonsai_verifier.parameters import FR_MODULUS as R

from ..dsl.builder import Builder
from ..dsl.wires import Bit, Num, linear
from .boolean import both, times


def monomials(c: Builder, bits: Sequence[Bit]) -> list[Num]:
    """The products of all subsets of the bits, subset i taking bit j for bit j of i.

    Cost: 2^n - 1 - n rows in both systems.  Asked for twice, they are made once.
    """

    def make() -> list[Num]:
        out: list[Num] = [c.num(1)]
        for bit in bits:
            out += [bit if i == 0 else both(c, Bit.trusted(x), bit, "product of bits") for i, x in enumerate(out)]
        return out

    return c.once(("monomials", *(bit.key() for bit in bits)), make)


def interpolated(c: Builder, products: Sequence[Num], values: Sequence[int]) -> Num:
    """values[position] over the monomials of the position's bits.  Cost: no row.

    Sound because the multilinear polynomial through the values is unique; its coefficients are their alternating sums.
    """
    return linear(c, _coefficients(values), products)


class Tables:
    """Several tables over the same bits, least significant first.

    Cost: the monomials of the `low` first bits and those of the others, once; then 2^others - 1 rows a table, in both systems.
    Sound because the table is sum over the monomials m of the other bits of m f_m, f_m a table over the low bits; f_m^2 is one too, so the
    product of the boolean m with f_m is one row in Square R1CS as well (boolean.times).
    """

    def __init__(self, c: Builder, bits: Sequence[Bit], low: int) -> None:
        self._c = c
        self._low = monomials(c, bits[:low])
        self._high = monomials(c, bits[low:])

    def at(self, values: Sequence[int], label: str) -> Num:
        """values[position]."""
        c, size = self._c, len(self._low)
        by_low = [_coefficients(values[i::size]) for i in range(size)]
        total = interpolated(c, self._low, [column[0] for column in by_low])
        for k, monomial in enumerate(self._high[1:], start=1):
            part = [column[k] for column in by_low]
            squares = interpolated(c, self._low, [x * x % R for x in part])
            total = total + times(c, Bit.trusted(monomial), interpolated(c, self._low, part), squares, label)
        return total


def _coefficients(values: Sequence[int]) -> list[int]:
    """Moebius transform: values[p] = sum of coefficient_i over the subsets i of p."""
    out = list(values)
    step = 1
    while step < len(out):
        for i in range(len(out)):
            if i & step:
                out[i] = (out[i] - out[i ^ step]) % R
        step *= 2
    return out

"""Products of booleans, one row in both systems."""

from ..dsl.builder import Builder
from ..dsl.trace import System
from ..dsl.wires import Bit, Num


def both(c: Builder, a: Bit, b: Bit, label: str = "a and b") -> Bit:
    """a b.  Cost: 1 row in both systems, none if one of them is constant.

    Sound because for a, b in {0, 1}: a b is their product (R1CS), and (a + b)^2 = a + b + 2 a b (Square R1CS); either row leaves one value
    for the output, which is 0 or 1.
    """
    c.require_own(a, b)
    if (known := folded(a, b)) is not None:
        return known
    out = c.hint_product(a, b, label)
    with c.only(System.R1CS):
        c.must_be_product(a, b, out, label)
    with c.only(System.SQUARE):
        c.must_be_square(a + b, a + b + 2 * out, label)
    return Bit.trusted(out)


def folded(a: Bit, b: Bit) -> Bit | None:
    """a b if one of them is constant."""
    for x, y in ((a, b), (b, a)):
        if (k := x.constant_value()) is not None:
            return Bit.trusted(y * k)
    return None


def times(c: Builder, bit: Bit, x: Num, x_squared: Num, label: str) -> Num:
    """bit x, where x_squared is x^2.  Cost: 1 row in both systems; x_squared is used in Square R1CS alone.

    Sound because bit^2 = bit, so (bit + x)^2 = bit + x^2 + 2 bit x.
    """
    out = c.hint_product(bit, x, label)
    with c.only(System.R1CS):
        c.must_be_product(bit, x, out, label)
    with c.only(System.SQUARE):
        c.must_be_square(bit + x, bit + x_squared + 2 * out, label)
    return out

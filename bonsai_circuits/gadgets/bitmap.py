"""A leaf that is a bitmap: 128 neighbouring positions in one field element, of which one is taken."""

from bonsai_verifier.parameters import FR_MODULUS as R

from ..dsl.builder import Builder
from ..dsl.trace import System
from ..dsl.wires import Bit, Num, linear
from ..errors import CircuitError
from .boolean import times
from .digit import Digit
from .select import mux

WORD_BITS = 8
WORDS = 16
_HALF, _QUARTER = pow(2, -1, R), pow(4, -1, R)


def take_bit(c: Builder, leaf: Num, digits: tuple[Digit, Digit, Digit], active: Bit | None) -> tuple[Num, Num]:
    """(leaf before, leaf after): the bit at the position is 0 before and 1 after, and no other bit changes.

    In: digits of 3, 2 and 2 bits, the first `shared`: the position is d0 + 8 d1 + 32 d2; leaf, the bitmap before, a private
    input that nothing else reads.  Where `active` is 0 nothing is set, but the bit must be 0 all the same.
    Cost: 128 + 8 booleans, 15 products to select a word, 2^position.
    Sound because the leaf is a sum of 128 booleans, below 2^128 and so not wrapped; the 8 selected flags are booleans, they sum up to the
    word at d1 + 4 d2, both sides are below 2^8, so they are its bits; and the one at d0 is 0.  Hence leaf + 2^position sets that bit alone.
    Raises CircuitError: other digits.
    """
    if [digit.size for digit in digits] != [8, 4, 4] or not digits[0].shared:
        raise CircuitError("bitmap", "expects digits of 3, 2 and 2 bits, the first of them shared")
    with c.scope("bitmap"):
        with c.scope("flags"):
            flags = [c.boolean(leaf, i, f"flag {i}") for i in range(WORD_BITS * WORDS)]
        words = [_packed(c, flags[i : i + WORD_BITS]) for i in range(0, len(flags), WORD_BITS)]
        with c.scope("selected word"):
            selected = _selected_flags(c, words, digits)
            mux(c, [*digits[1].bits, *digits[2].bits], words, _packed(c, selected))
        before = linear(c, [1 << (WORD_BITS * i) for i in range(WORDS)], words)
        before.must_equal(leaf, "the leaf is below 2^128")
        with c.scope("power of two"):
            return before, before + _power_of_two(c, digits, active)


def _packed(c: Builder, bits: list[Bit] | list[Num]) -> Num:
    return linear(c, [1 << j for j in range(len(bits))], bits)


def _selected_flags(c: Builder, words: list[Num], digits: tuple[Digit, Digit, Digit]) -> list[Num]:
    """Free wires, an honest witness has the word at d1 + 4 d2: each a boolean, and 0 at d0.  Cost: 8 rows in both systems.

    d (d + s - 1) = 0: for s = 0 d is a boolean, for s = 1 d^2 = 0.  In Square R1CS (d + s/2)^2 = d + s/4, the same since s^2 = s.
    """
    low, high = digits[1].one_hot(), digits[2].one_hot()
    parts = []
    for i, word in enumerate(words):
        here = c.scratch(c.hint_product(low[i % 4], high[i // 4], f"word {i} is selected"))
        parts.append(c.scratch(c.hint_product(here, word, f"word {i} if selected")))
    word = linear(c, [1] * WORDS, parts)
    selected = []
    for j, s in enumerate(digits[0].one_hot()):
        d, label = (
            c.hint_bit(word, j, f"selected flag {j}"),
            f"flag {j} of the word is 0 or 1, and 0 if it is to be taken",
        )
        with c.only(System.R1CS):
            c.must_be_product(d, d + s - 1, c.num(0), label)
        with c.only(System.SQUARE):
            c.must_be_square(d + s * _HALF, d + s * _QUARTER, label)
        selected.append(d)
    return selected


def _power_of_two(c: Builder, digits: tuple[Digit, Digit, Digit], active: Bit | None) -> Num:
    """2^position, and 0 where not active.  Cost: 2 products, and with `active` one more; in Square R1CS 3 rows, and one more.

    Sound because each factor is a table of constants at a digit.  In Square R1CS the squares of tables are tables, linear in the one-hot
    form, so the first product is one row: (a + b)^2 = a^2 + b^2 + 2 a b.
    """
    low, middle, high = (
        [1 << (step * j) for j in range(digit.size)] for step, digit in zip((1, 8, 32), digits, strict=True)
    )
    p, a, b = (digit.table(values, "power of two") for digit, values in zip(digits, (low, middle, high), strict=True))
    p2, a2, b2 = (
        linear(c, [x * x % R for x in values], digit.one_hot())
        for digit, values in zip(digits, (low, middle, high), strict=True)
    )
    word = c.hint_product(a, b, "2^(8 d1 + 32 d2)")
    with c.only(System.R1CS):
        c.must_be_product(a, b, word, "2^(8 d1 + 32 d2)")
    with c.only(System.SQUARE):
        c.must_be_square(a + b, a2 + b2 + 2 * word, "2^(8 d1 + 32 d2)")
    if active is not None:
        p = times(c, active, p, p2, "2^d0 if active")
    return c.product(word, p, "2^position")

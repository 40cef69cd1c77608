"""The Pedersen hash suite inside a circuit."""

from ..dsl.builder import Builder
from ..dsl.wires import Bit, Num
from ..native.pedersen import ACCOUNT_TAG, AMOUNT_BITS, CHUNK_BITS, FIELD_BITS, RECEIPT_TAG, TAG_BITS
from .boolean import both
from .edwards import Point
from .pedersen import (
    Partial,
    accumulate,
    blinding_points,
    by_segment,
    chunks,
    finish,
    segment_points,
    sum_u,
    tag_chunks,
)
from .range import bits, field_bits, packed

_TAG_CHUNKS = TAG_BITS // CHUNK_BITS
_ROOT_CHUNKS = _TAG_CHUNKS + FIELD_BITS // CHUNK_BITS


class PedersenSuite:
    """Sapling's Pedersen hash with a blinding of its own, equal to native.pedersen.PedersenSuite; two functions by their tags.

    Every value is hashed by its bits; values are unpacked once, and the root's part of an account once for all accounts with that root.
    """

    name = "pedersen"

    def account(self, c: Builder, balance: Num, root: Num, blinding: Num) -> Num:
        """Cost, root and balance unpacked: 87 + 22 chunks, 2 segments, a blinding of 669 rows (753), 4 points to join."""
        c.require_own(balance, root, blinding)
        with c.scope("account"):
            first, second = c.once(("account root", root.key()), lambda: self._root(c, root))
            amount = chunks(c, bits(c, balance, AMOUNT_BITS, "balance"), _ROOT_CHUNKS)
            points = [first, finish(c, accumulate(c, amount, second))]
            return sum_u(c, [*points, *blinding_points(c, blinding)])

    def _root(self, c: Builder, root: Num) -> tuple[Point, Partial]:
        own = [*tag_chunks(c, ACCOUNT_TAG), *chunks(c, field_bits(c, root), _TAG_CHUNKS)]
        first, second = by_segment(own)
        return finish(c, accumulate(c, first)), accumulate(c, second)

    def receipt(self, c: Builder, value: Num, sender: Num, receiver: Num, blinding: Num) -> Num:
        """Cost, all values unpacked: 194 chunks, 4 segments, a blinding of 669 rows (753), 6 points to join."""
        c.require_own(value, sender, receiver, blinding)
        with c.scope("receipt"):
            parties = [*field_bits(c, sender), *field_bits(c, receiver)]
            message = [*parties, *bits(c, value, AMOUNT_BITS, "value")]
            own = [*tag_chunks(c, RECEIPT_TAG), *chunks(c, message, _TAG_CHUNKS)]
            return sum_u(c, [*segment_points(c, own), *blinding_points(c, blinding)])

    def split(self, c: Builder, bit: Bit, amount: Num) -> tuple[Num, Num]:
        """Cost: 64 rows in both systems, and the amount unpacked.

        Sound because bit b_i and b_i - bit b_i are 0 or 1: both amounts come with their bits, so nothing is unpacked again.
        """
        own = bits(c, amount, AMOUNT_BITS, "v")
        taken = [both(c, bit, part, "bit of v received") for part in own]
        left = [Bit.trusted(part - other) for part, other in zip(own, taken, strict=True)]
        return packed(c, taken), packed(c, left)

    def nobody_if(self, c: Builder, bit: Bit, receiver: Num) -> None:
        """bit receiver = 0.  Cost: 1 row, 2 in Square R1CS.

        The bits that are hashed may be those of r as well, the alias of 0: whoever claims that needs identifier 0 just the same.
        """
        c.must_be_product(bit, receiver, c.num(0), "the receiver is 0")

"""Hash suites inside a circuit: the commitments of an account and of a receipt, under one hash."""

from typing import Protocol

from bonsai_verifier.parameters import FR_MODULUS as R

from ..dsl.builder import Builder
from ..dsl.wires import Bit, Num
from ..native.poseidon import ACCOUNT_TAG, RECEIPT_TAG, poseidon_parameters
from .poseidon import entry_constants, poseidon


class HashSuite(Protocol):
    """Com_acct and Com_rec: two different functions, hiding and binding."""

    name: str

    def account(self, c: Builder, balance: Num, root: Num, blinding: Num) -> Num:
        """Com_acct(balance, root; blinding)."""

    def receipt(self, c: Builder, value: Num, sender: Num, receiver: Num, blinding: Num) -> Num:
        """Com_rec(value, sender, receiver; blinding)."""

    def split(self, c: Builder, bit: Bit, amount: Num) -> tuple[Num, Num]:
        """(bit amount, (1 - bit) amount), for an amount whose range is checked."""

    def nobody_if(self, c: Builder, bit: Bit, receiver: Num) -> None:
        """receiver = 0 where bit = 1; `receiver` is the private input that a receipt is made with."""


class PoseidonSuite:
    """Poseidon with the blinding as one more input element; the tags make the two functions different."""

    name = "poseidon"

    def account(self, c: Builder, balance: Num, root: Num, blinding: Num) -> Num:
        with c.scope("account"):
            return poseidon(c, [balance, root, blinding], ACCOUNT_TAG)

    def receipt(self, c: Builder, value: Num, sender: Num, receiver: Num, blinding: Num) -> Num:
        with c.scope("receipt"):
            return poseidon(c, [value, sender, receiver, blinding], RECEIPT_TAG)

    def split(self, c: Builder, bit: Bit, amount: Num) -> tuple[Num, Num]:
        """Cost: 1 row, 2 in Square R1CS."""
        taken = c.product(bit, amount, "v received")
        return taken, amount - taken

    def nobody_if(self, c: Builder, bit: Bit, receiver: Num) -> None:
        """bit (Y - k^5) = 0, Y = (receiver + k)^5 the receiver after its first S-box in a receipt.  Cost: 1 row, 2 in Square R1CS.

        Sound because x -> x^5 is a bijection: Y = k^5 only for receiver = 0.  It leaves the receiver free otherwise, so that its own
        S-box costs nothing.
        """
        constant = entry_constants(poseidon_parameters(4))[2]
        lifted = c.fifth_power(receiver + constant, "lifted receiver")
        c.must_be_product(bit, lifted - pow(constant, 5, R), c.num(0), "the receiver is 0")

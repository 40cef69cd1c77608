"""Hash suites inside a circuit: the commitments of an account and of a receipt, under one hash."""

from typing import Protocol

from ..dsl.builder import Builder
from ..dsl.wires import Num
from ..native.poseidon import ACCOUNT_TAG, RECEIPT_TAG
from .poseidon import poseidon


class HashSuite(Protocol):
    """Com_acct and Com_rec: two different functions, hiding and binding."""

    name: str

    def account(self, c: Builder, balance: Num, root: Num, blinding: Num) -> Num:
        """Com_acct(balance, root; blinding)."""

    def receipt(self, c: Builder, value: Num, sender: Num, receiver: Num, blinding: Num) -> Num:
        """Com_rec(value, sender, receiver; blinding)."""


class PoseidonSuite:
    """Poseidon with the blinding as one more input element; the tags make the two functions different."""

    name = "poseidon"

    def account(self, c: Builder, balance: Num, root: Num, blinding: Num) -> Num:
        with c.scope("account"):
            return poseidon(c, [balance, root, blinding], ACCOUNT_TAG)

    def receipt(self, c: Builder, value: Num, sender: Num, receiver: Num, blinding: Num) -> Num:
        with c.scope("receipt"):
            return poseidon(c, [value, sender, receiver, blinding], RECEIPT_TAG)

"""The functions that the relations are built from, in the clear: the twins of the gadgets' hash suites."""

from dataclasses import dataclass

from .poseidon import ACCOUNT_TAG, RECEIPT_TAG, poseidon


@dataclass(frozen=True, slots=True)
class PoseidonSuite:
    """Com_acct and Com_rec from Poseidon, two functions by their tags.

    The blinding is one more input, uniform in Fr and fresh: hiding is computational, binding is collision resistance.
    Raises InputError: a value that is not in [0, r).
    """

    strengthened: bool = False

    def account(self, balance: int, root: int, blinding: int) -> int:
        """Com_acct(b, root; s) = Poseidon(b, root, s)."""
        return poseidon((balance, root, blinding), ACCOUNT_TAG, self.strengthened)

    def receipt(self, value: int, sender: int, receiver: int, blinding: int) -> int:
        """Com_rec(v, Sen, Rec; t) = Poseidon(v, Sen, Rec, t)."""
        return poseidon((value, sender, receiver, blinding), RECEIPT_TAG, self.strengthened)

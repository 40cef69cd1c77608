"""Writes examples/payments: six payments between three accounts, as input files of the send relation.

    python examples/make_payments.py

Everything is derived from one public label, so that the files are the same on every machine and can be checked; a wallet draws its
identifiers and blindings from secret randomness, fresh for every attempt.
"""

from dataclasses import dataclass, field
from pathlib import Path

from bonsai_circuits.artifacts.atomic import write_atomic
from bonsai_circuits.native.poseidon import merkle_tag, poseidon
from bonsai_circuits.native.suite import PoseidonSuite
from bonsai_circuits.witness.inputs import format_inputs
from bonsai_verifier.parameters import FR_MODULUS
from bonsai_verifier.transcript import derive_key

LABEL = "bonsai-circuits 2026-11-30 example payments v1"
FOLDER = Path(__file__).parent / "payments"
FEE = 10
OPENING_BALANCES = {"alice": 5_000_000, "bob": 1_200_000, "carol": 2**63}
PAYMENTS = (
    ("alice", "bob", 250_000),
    ("bob", "carol", 1_199_990),  # all he has: the change is zero
    ("carol", "alice", 2**62),
    ("alice", "carol", 1),
    ("carol", "bob", 77_777),
    ("alice", "bob", 0),  # a payment of nothing hides that nothing was paid
)

suite = PoseidonSuite()


def field_element(*words: object) -> int:
    """An element of Fr that depends on the label and the words alone."""
    return int.from_bytes(derive_key(LABEL, repr(words).encode(), 64), "little") % FR_MODULUS


def empty_root() -> int:
    """The root of a nullifier tree without a nullifier: 11 levels of 8 children over leaves of 128 positions."""
    node = 0
    for _ in range(11):
        node = poseidon([node] * 8, merkle_tag(8))
    return node


@dataclass
class Account:
    """What a wallet keeps: identifier, balance, root of its nullifier tree, blinding of its commitment."""

    name: str
    balance: int
    root: int
    identifier: int = field(init=False)
    blinding: int = field(init=False)

    def __post_init__(self) -> None:
        self.identifier = field_element(self.name, "identifier")
        self.blinding = field_element(self.name, "blinding", 0)

    def pay(self, number: int, receiver: "Account", value: int) -> dict[str, int]:
        """The inputs of one payment; the account moves on to its new commitment."""
        blinding = field_element(self.name, "blinding", number)
        receipt_blinding = field_element(self.name, "receipt", number)
        change = self.balance - value - FEE
        inputs = {
            "A": self.identifier,
            "com": suite.account(self.balance, self.root, self.blinding),
            "com_new": suite.account(change, self.root, blinding),
            "rho": suite.receipt(value, self.identifier, receiver.identifier, receipt_blinding),
            "fee": FEE,
            "b": self.balance,
            "v": value,
            "root": self.root,
            "rec": receiver.identifier,
            "s": self.blinding,
            "s_new": blinding,
            "t": receipt_blinding,
        }
        self.balance, self.blinding = change, blinding
        return inputs


def history() -> tuple[dict[str, dict[str, int]], dict[str, Account]]:
    """The payments, file name -> inputs in their order; and the accounts as they stand afterwards."""
    root = empty_root()
    accounts = {name: Account(name, balance, root) for name, balance in OPENING_BALANCES.items()}
    payments = {
        f"{number:02d}-send-{sender}-to-{receiver}.json": accounts[sender].pay(number, accounts[receiver], value)
        for number, (sender, receiver, value) in enumerate(PAYMENTS, start=1)
    }
    return payments, accounts


def payments() -> dict[str, dict[str, int]]:
    """File name -> inputs, in the order of the payments."""
    return history()[0]


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, inputs in payments().items():
        write_atomic(FOLDER / name, format_inputs(inputs).encode())
        print(FOLDER / name)


if __name__ == "__main__":
    main()

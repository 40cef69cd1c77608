"""Writes examples/payments: six payments between three accounts, as input files of the send relation; over Pedersen in a folder below.

    python examples/make_payments.py

Everything is derived from one public label, so that the files are the same on every machine and can be checked; a wallet draws its
identifiers and blindings from secret randomness, fresh for every attempt.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bonsai_circuits.artifacts.atomic import write_atomic
from bonsai_circuits.native import jubjub
from bonsai_circuits.native.pedersen import BITMAP_TAG, QUATERNARY_TAG, PedersenSuite, binary_node, quaternary_node
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


class Suite(Protocol):
    """The two commitments of a hash."""

    def account(self, balance: int, root: int, blinding: int) -> int: ...

    def receipt(self, value: int, sender: int, receiver: int, blinding: int) -> int: ...


@dataclass(frozen=True)
class Hash:
    """A hash: its commitments, the bound of a blinding, and the root of a nullifier tree of the wide shape without a nullifier."""

    suite: Suite
    blindings: int
    empty_root: int


def empty_poseidon() -> int:
    """11 levels of 8 children over leaves of 128 positions."""
    node = 0
    for _ in range(11):
        node = poseidon([node] * 8, merkle_tag(8))
    return node


def empty_pedersen() -> int:
    """A level of two children over leaves of 128 positions, and 16 levels of four."""
    node = binary_node(BITMAP_TAG, 0, 0)
    for level in range(16):
        node = quaternary_node(QUATERNARY_TAG + level, [node] * 4)
    return node


def hashes() -> dict[str, Hash]:
    return {
        "poseidon": Hash(PoseidonSuite(), FR_MODULUS, empty_poseidon()),
        "pedersen": Hash(PedersenSuite(), jubjub.ORDER, empty_pedersen()),
    }


def element(bound: int, *words: object) -> int:
    """A number below the bound that depends on the label and the words alone."""
    return int.from_bytes(derive_key(LABEL, repr(words).encode(), 64), "little") % bound


@dataclass
class Account:
    """What a wallet keeps: identifier, balance, root of its nullifier tree, blinding of its commitment."""

    name: str
    balance: int
    hash: Hash
    root: int = field(init=False)
    identifier: int = field(init=False)
    blinding: int = field(init=False)

    def __post_init__(self) -> None:
        self.root = self.hash.empty_root
        self.identifier = element(FR_MODULUS, self.name, "identifier")
        self.blinding = self.fresh("blinding", 0)

    def fresh(self, what: str, number: int) -> int:
        """A blinding for one thing of one operation."""
        return element(self.hash.blindings, self.name, what, number)

    def pay(self, number: int, receiver: "Account", value: int) -> dict[str, int]:
        """The inputs of one payment; the account moves on to its new commitment."""
        blinding, receipt_blinding = self.fresh("blinding", number), self.fresh("receipt", number)
        change, suite = self.balance - value - FEE, self.hash.suite
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


def history(of: Hash) -> tuple[dict[str, dict[str, int]], dict[str, Account]]:
    """The payments, file name -> inputs in their order; and the accounts as they stand afterwards."""
    accounts = {name: Account(name, balance, of) for name, balance in OPENING_BALANCES.items()}
    payments = {
        f"{number:02d}-send-{sender}-to-{receiver}.json": accounts[sender].pay(number, accounts[receiver], value)
        for number, (sender, receiver, value) in enumerate(PAYMENTS, start=1)
    }
    return payments, accounts


def payments() -> dict[str, dict[str, int]]:
    """File below the folder -> inputs, in the order of the payments."""
    of = hashes()
    pedersen = {f"pedersen/{name}": inputs for name, inputs in history(of["pedersen"])[0].items()}
    return history(of["poseidon"])[0] | pedersen


def main() -> None:
    for name, inputs in payments().items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, format_inputs(inputs).encode())
        print(path)


if __name__ == "__main__":
    main()

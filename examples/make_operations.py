"""Writes examples/operations: what the receivers of examples/payments do next, as input files of recv and op.

    python examples/make_operations.py

The six receipts stand at positions 0 to 5 of the receipt tree.  Bob claims the first by recv; carol claims the second by op; alice pays
by op, and nobody can tell her operation from carol's.  The files at the top are over Poseidon in the wide shape; a folder below each is for
another hash and shape.  As in make_payments.py everything is derived from a public label.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bonsai_circuits.artifacts.atomic import write_atomic
from bonsai_circuits.trees.ledger_shapes import SHAPES
from bonsai_circuits.trees.nullifiers import NullifierTree
from bonsai_circuits.trees.receipts import ReceiptArchive

sys.path.insert(0, str(Path(__file__).parent))
from make_payments import FEE, Account, Hash, hashes, history

FOLDER = Path(__file__).parent / "operations"


@dataclass(frozen=True)
class Ledger:
    """Where operations are made: a hash, and the receipt tree as it stands.  No account has claimed anything yet."""

    hash: Hash
    receipts: ReceiptArchive

    def claim(self, account: Account, payment: dict[str, int], pid: int, number: int) -> dict[str, Any]:
        """The inputs by which an account claims the receipt of a payment at position pid: what recv takes."""
        path = NullifierTree(self.receipts.shape).insertion(pid)
        blinding = account.fresh("blinding", number)
        balance = account.balance + payment["v"] - FEE
        return {
            "A": account.identifier,
            "com": self.hash.suite.account(account.balance, path.root, account.blinding),
            "com_new": self.hash.suite.account(balance, path.root_taken, blinding),
            "root_rho": self.receipts.root,
            "fee": FEE,
            "b": account.balance,
            "v": payment["v"],
            "sen": payment["A"],
            "s": account.blinding,
            "s_new": blinding,
            "t": payment["t"],
            **path.inputs(),
            **self.receipts.open(pid).inputs(),
        }

    def received(self, inputs: dict[str, Any], account: Account, number: int) -> dict[str, Any]:
        """The same claim as an operation: it publishes a receipt of nothing to nobody."""
        t = account.fresh("receipt", number)
        rho = self.hash.suite.receipt(0, account.identifier, 0, t)
        return {**inputs, "rho": rho, "receive": 1, "rec": 0, "t_in": inputs["t"], "t": t}

    def sent(self, account: Account, receiver: Account, value: int, number: int) -> dict[str, Any]:
        """A payment as an operation: it shows a free position of its nullifier tree and takes none, and opens no receipt."""
        path, suite = NullifierTree(self.receipts.shape).insertion(0), self.hash.suite
        blinding, t = account.fresh("blinding", number), account.fresh("receipt", number)
        return {
            "A": account.identifier,
            "com": suite.account(account.balance, path.root, account.blinding),
            "com_new": suite.account(account.balance - value - FEE, path.root, blinding),
            "rho": suite.receipt(value, account.identifier, receiver.identifier, t),
            "root_rho": self.receipts.root,
            "fee": FEE,
            "receive": 0,
            "b": account.balance,
            "v": value,
            "sen": 0,
            "rec": receiver.identifier,
            "s": account.blinding,
            "s_new": blinding,
            "t": t,
            "t_in": 0,
            **path.inputs(),
            **ReceiptArchive(self.receipts.shape).open(0).inputs(),
        }


def operations() -> dict[str, dict[str, Any]]:
    """File below the folder -> inputs."""
    made, of = {}, hashes()
    for (hash_name, tree), shape in SHAPES.items():
        payments, accounts = history(of[hash_name])
        paid = list(payments.values())
        ledger = Ledger(of[hash_name], ReceiptArchive(shape))
        ledger.receipts.append_many([payment["rho"] for payment in paid])
        alice, bob, carol = (accounts[name] for name in ("alice", "bob", "carol"))
        folder = "" if (hash_name, tree) == ("poseidon", "wide") else f"{hash_name}-{tree}/"
        made |= {
            f"{folder}01-recv-bob.json": ledger.claim(bob, paid[0], 0, 7),
            f"{folder}02-op-receive-carol.json": ledger.received(ledger.claim(carol, paid[1], 1, 8), carol, 8),
            f"{folder}03-op-send-alice-to-bob.json": ledger.sent(alice, bob, 5_000, 9),
        }
    return made


def as_text(value: Any) -> Any:
    """Numbers as decimal strings, lists element by element."""
    return [as_text(x) for x in value] if isinstance(value, list) else str(value)


def main() -> None:
    for name, inputs in operations().items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({key: as_text(value) for key, value in inputs.items()}, indent=1) + "\n"
        write_atomic(path, text.encode())
        print(path)


if __name__ == "__main__":
    main()

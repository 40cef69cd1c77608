"""Writes examples/operations: what the receivers of examples/payments do next, as input files of recv and op over Poseidon, wide trees.

    python examples/make_operations.py

The six receipts stand at positions 0 to 5 of the receipt tree.  Bob claims the first by recv; carol claims the second by op; alice pays
by op, and nobody can tell her operation from carol's.  As in make_payments.py everything is derived from a public label.
"""

import json
import sys
from pathlib import Path
from typing import Any

from bonsai_circuits.artifacts.atomic import write_atomic
from bonsai_circuits.native.poseidon import merkle_tag, poseidon

sys.path.insert(0, str(Path(__file__).parent))
from make_payments import FEE, Account, field_element, history, suite

FOLDER = Path(__file__).parent / "operations"
RECEIPT_WIDTHS = (3, 2, 2, *[3] * 11)  # bits of a position at each level, from the leaves up
NULLIFIER_WIDTHS = (3,) * 11  # above the leaves, which are bitmaps of 128 positions
BITMAP_BITS = 7


class Tree:
    """A tree whose leaves are 0 unless set; nodes are hashed when they are asked for."""

    def __init__(self, widths: tuple[int, ...], leaves: dict[int, int]) -> None:
        self.widths = widths
        self.levels = [dict(leaves)]
        self.empty = [0]
        for width in widths:
            self.empty.append(poseidon([self.empty[-1]] * 2**width, merkle_tag(2**width)))
            below = self.levels[-1]
            self.levels.append({})
            for parent in {i >> width for i in below}:
                children = [self.node(len(self.levels) - 2, (parent << width) + j) for j in range(2**width)]
                self.levels[-1][parent] = poseidon(children, merkle_tag(2**width))

    def node(self, level: int, index: int) -> int:
        return self.levels[level].get(index, self.empty[level])

    @property
    def root(self) -> int:
        return self.node(len(self.widths), 0)

    def path(self, index: int) -> list[list[int]]:
        """The other children of each node from the leaf up, in order."""
        path = []
        for level, width in enumerate(self.widths):
            first = index >> width << width
            path.append([self.node(level, first + j) for j in range(2**width) if first + j != index])
            index >>= width
        return path


def claim(account: Account, receipts: Tree, payment: dict[str, int], pid: int, number: int) -> dict[str, Any]:
    """The inputs by which an account claims the receipt of a payment at position pid: what recv takes."""
    before, after = (Tree(NULLIFIER_WIDTHS, leaves) for leaves in ({}, {pid >> BITMAP_BITS: 1 << pid % 2**BITMAP_BITS}))
    blinding = field_element(account.name, "blinding", number)
    balance = account.balance + payment["v"] - FEE
    return {
        "A": account.identifier,
        "com": suite.account(account.balance, before.root, account.blinding),
        "com_new": suite.account(balance, after.root, blinding),
        "root_rho": receipts.root,
        "fee": FEE,
        "b": account.balance,
        "v": payment["v"],
        "pid": pid,
        "sen": payment["A"],
        "s": account.blinding,
        "s_new": blinding,
        "t": payment["t"],
        "nullifier_leaf": 0,
        "nullifier_path": before.path(pid >> BITMAP_BITS),
        "receipt_path": receipts.path(pid),
    }


def received(inputs: dict[str, Any], account: Account, number: int) -> dict[str, Any]:
    """The same claim as an operation: it publishes a receipt of nothing to nobody."""
    t = field_element(account.name, "receipt", number)
    rho = suite.receipt(0, account.identifier, 0, t)
    return {**inputs, "rho": rho, "receive": 1, "rec": 0, "t_in": inputs["t"], "t": t}


def sent(account: Account, receiver: Account, value: int, root_rho: int, number: int) -> dict[str, Any]:
    """A payment as an operation: it shows a free position of its nullifier tree and takes none, and opens no receipt."""
    tree = Tree(NULLIFIER_WIDTHS, {})
    blinding, t = field_element(account.name, "blinding", number), field_element(account.name, "receipt", number)
    return {
        "A": account.identifier,
        "com": suite.account(account.balance, tree.root, account.blinding),
        "com_new": suite.account(account.balance - value - FEE, tree.root, blinding),
        "rho": suite.receipt(value, account.identifier, receiver.identifier, t),
        "root_rho": root_rho,
        "fee": FEE,
        "receive": 0,
        "b": account.balance,
        "v": value,
        "pid": 0,
        "sen": 0,
        "rec": receiver.identifier,
        "s": account.blinding,
        "s_new": blinding,
        "t": t,
        "t_in": 0,
        "nullifier_leaf": 0,
        "nullifier_path": tree.path(0),
        "receipt_path": Tree(RECEIPT_WIDTHS, {}).path(0),
    }


def operations() -> dict[str, dict[str, Any]]:
    """File name -> inputs."""
    payments, accounts = history()
    made = list(payments.values())
    receipts = Tree(RECEIPT_WIDTHS, {pid: payment["rho"] for pid, payment in enumerate(made)})
    alice, bob, carol = (accounts[name] for name in ("alice", "bob", "carol"))
    return {
        "01-recv-bob.json": claim(bob, receipts, made[0], 0, 7),
        "02-op-receive-carol.json": received(claim(carol, receipts, made[1], 1, 8), carol, 8),
        "03-op-send-alice-to-bob.json": sent(alice, bob, 5_000, receipts.root, 9),
    }


def as_text(value: Any) -> Any:
    """Numbers as decimal strings, lists element by element."""
    return [as_text(x) for x in value] if isinstance(value, list) else str(value)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, inputs in operations().items():
        text = json.dumps({key: as_text(value) for key, value in inputs.items()}, indent=1) + "\n"
        write_atomic(FOLDER / name, text.encode())
        print(FOLDER / name)


if __name__ == "__main__":
    main()

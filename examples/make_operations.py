"""Writes examples/operations: what the receivers of examples/payments do next, as input files of recv and op.

    python examples/make_operations.py

The six receipts stand at positions 0 to 5 of the receipt tree.  Bob claims the first by recv; carol claims the second by op; alice pays
by op, and nobody can tell her operation from carol's.  The files at the top are over Poseidon in the wide shape; a folder below each is for
another hash and shape.  As in make_payments.py everything is derived from a public label.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from bonsai_circuits.artifacts.atomic import write_atomic
from bonsai_circuits.native.pedersen import BITMAP_TAG, QUATERNARY_TAG, binary_node, quaternary_node
from bonsai_circuits.native.poseidon import merkle_tag, poseidon

sys.path.insert(0, str(Path(__file__).parent))
from make_payments import FEE, Account, Hash, hashes, history

FOLDER = Path(__file__).parent / "operations"
FLAG_LEVELS = 4  # of the classic Pedersen nullifier tree: they lie below what a path shows

Node: TypeAlias = Callable[[int, Sequence[int]], int]  # level, children -> the node above


@dataclass(frozen=True)
class Shape:
    """The two trees of a hash: bits of a position at each level from the leaves up, and how the children of a level are hashed.

    A nullifier leaf holds 2^flag_bits positions, and `leaf` is the node that stands for its flags.
    """

    receipt_widths: tuple[int, ...]
    receipt_node: Node
    nullifier_widths: tuple[int, ...]
    nullifier_node: Node
    flag_bits: int
    leaf: Callable[[int], int]


def poseidon_node(level: int, children: Sequence[int]) -> int:
    return poseidon(list(children), merkle_tag(len(children)))


def pedersen_node(level: int, children: Sequence[int]) -> int:
    return binary_node(level, *children)


def above_flags(level: int, children: Sequence[int]) -> int:
    return binary_node(FLAG_LEVELS + level, *children)


def above_bitmaps(level: int, children: Sequence[int]) -> int:
    return quaternary_node(QUATERNARY_TAG + level - 1, children) if level else binary_node(BITMAP_TAG, *children)


def itself(flags: int) -> int:
    return flags


def over_flags(flags: int) -> int:
    """The node over sixteen leaves that are 0 or 1."""
    nodes = [flags >> i & 1 for i in range(2**FLAG_LEVELS)]
    for level in range(FLAG_LEVELS):
        nodes = [binary_node(level, *nodes[i : i + 2]) for i in range(0, len(nodes), 2)]
    return nodes[0]


BINARY = (1,) * 40
SHAPES = {
    ("poseidon", "wide"): Shape((3, 2, 2, *[3] * 11), poseidon_node, (3,) * 11, poseidon_node, 7, itself),
    ("poseidon", "classic"): Shape(BINARY, poseidon_node, BINARY, poseidon_node, 0, itself),
    ("pedersen", "wide"): Shape(BINARY, pedersen_node, (1, *[2] * 16), above_bitmaps, 7, itself),
    ("pedersen", "classic"): Shape(BINARY, pedersen_node, (1,) * 36, above_flags, 4, over_flags),
}


class Tree:
    """A tree whose leaves are `empty` unless set; nodes are hashed when they are asked for."""

    def __init__(self, widths: tuple[int, ...], node: Node, leaves: dict[int, int], empty: int = 0) -> None:
        self.widths = widths
        self.levels = [dict(leaves)]
        self.empty = [empty]
        for level, width in enumerate(widths):
            self.empty.append(node(level, [self.empty[-1]] * 2**width))
            below = self.levels[-1]
            self.levels.append({})
            for parent in {i >> width for i in below}:
                children = [self.node(level, (parent << width) + j) for j in range(2**width)]
                self.levels[-1][parent] = node(level, children)

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


@dataclass(frozen=True)
class Ledger:
    """Where operations are made: a hash, a shape, and the receipt tree as it stands."""

    hash: Hash
    shape: Shape
    receipts: Tree

    def nullifiers(self, taken: Sequence[int]) -> Tree:
        """The tree of an account that has taken these positions, no two in one leaf."""
        shape = self.shape
        leaves = {pid >> shape.flag_bits: shape.leaf(1 << pid % 2**shape.flag_bits) for pid in taken}
        return Tree(shape.nullifier_widths, shape.nullifier_node, leaves, shape.leaf(0))

    def places(self, pid: int, receipts: Tree) -> dict[str, Any]:
        """Where a position stands in both trees, for an account that has taken none."""
        flag_bits = self.shape.flag_bits
        leaf = {"nullifier_leaf": 0} if flag_bits else {}
        return {
            "pid": pid,
            **leaf,
            "nullifier_path": self.nullifiers([]).path(pid >> flag_bits),
            "receipt_path": receipts.path(pid),
        }

    def claim(self, account: Account, payment: dict[str, int], pid: int, number: int) -> dict[str, Any]:
        """The inputs by which an account claims the receipt of a payment at position pid: what recv takes."""
        before, after = self.nullifiers([]), self.nullifiers([pid])
        blinding = account.fresh("blinding", number)
        balance = account.balance + payment["v"] - FEE
        return {
            "A": account.identifier,
            "com": self.hash.suite.account(account.balance, before.root, account.blinding),
            "com_new": self.hash.suite.account(balance, after.root, blinding),
            "root_rho": self.receipts.root,
            "fee": FEE,
            "b": account.balance,
            "v": payment["v"],
            "sen": payment["A"],
            "s": account.blinding,
            "s_new": blinding,
            "t": payment["t"],
            **self.places(pid, self.receipts),
        }

    def received(self, inputs: dict[str, Any], account: Account, number: int) -> dict[str, Any]:
        """The same claim as an operation: it publishes a receipt of nothing to nobody."""
        t = account.fresh("receipt", number)
        rho = self.hash.suite.receipt(0, account.identifier, 0, t)
        return {**inputs, "rho": rho, "receive": 1, "rec": 0, "t_in": inputs["t"], "t": t}

    def sent(self, account: Account, receiver: Account, value: int, number: int) -> dict[str, Any]:
        """A payment as an operation: it shows a free position of its nullifier tree and takes none, and opens no receipt."""
        root, suite = self.nullifiers([]).root, self.hash.suite
        blinding, t = account.fresh("blinding", number), account.fresh("receipt", number)
        return {
            "A": account.identifier,
            "com": suite.account(account.balance, root, account.blinding),
            "com_new": suite.account(account.balance - value - FEE, root, blinding),
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
            **self.places(0, Tree(self.shape.receipt_widths, self.shape.receipt_node, {})),
        }


def operations() -> dict[str, dict[str, Any]]:
    """File below the folder -> inputs."""
    made, of = {}, hashes()
    for (hash_name, tree), shape in SHAPES.items():
        payments, accounts = history(of[hash_name])
        paid = list(payments.values())
        receipts = {pid: payment["rho"] for pid, payment in enumerate(paid)}
        ledger = Ledger(of[hash_name], shape, Tree(shape.receipt_widths, shape.receipt_node, receipts))
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

"""Every circuit with trees on witnesses that the native trees give: they and the gadgets agree on every root."""

import random
from typing import Any

import pytest

from bonsai_circuits.native.jubjub import ORDER
from bonsai_circuits.native.pedersen import PedersenSuite
from bonsai_circuits.native.suite import PoseidonSuite
from bonsai_circuits.trees.ledger_shapes import SHAPES, TreeShape
from bonsai_circuits.trees.nullifiers import ColdNullifiers, NullifierPath, NullifierTree
from bonsai_circuits.trees.receipts import ReceiptArchive, ReceiptFrontier
from bonsai_circuits.witness.inputs import flatten_inputs
from bonsai_circuits.witness.runner import run
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.support import circuit, refusals
from tests.trees.ledger import KEYS

NATIVE = {"poseidon": PoseidonSuite(), "pedersen": PedersenSuite()}
A, SENDER, VALUE, BALANCE, FEE = 7, 8, 500, 1000, 10


class Wallet:
    """An account whose receipts stand in the middle of others, and which has claimed some already."""

    def __init__(self, shape: TreeShape, claimed: list[int], n: int) -> None:
        rng = random.Random(f"{shape.hash_name} {shape.name}")
        self.shape, self.suite, self.blindings = (
            shape,
            NATIVE[shape.hash_name],
            [rng.randrange(ORDER) for _ in range(4)],
        )
        self.s, self.s_new, self.t, self.t_in = self.blindings
        self.own = self.suite.receipt(VALUE, SENDER, A, self.t_in)
        self.receipts = [rng.randrange(R) for _ in range(n)]
        self.tree = NullifierTree(shape, claimed)

    def ledger(self, position: int) -> tuple[int, ReceiptArchive]:
        """The validators' root, and the archive."""
        receipts = [*self.receipts[:position], self.own, *self.receipts[position + 1 :]]
        frontier, archive = ReceiptFrontier(self.shape), ReceiptArchive(self.shape)
        frontier.append_many(receipts)
        archive.append_many(receipts)
        return frontier.root, archive

    def claim(self, position: int, path: NullifierPath) -> dict[str, Any]:
        """What recv takes; `path` is that of a free position."""
        root, archive = self.ledger(position)
        return (
            path.inputs()
            | archive.open(position).inputs()
            | {
                "A": A,
                "com": self.suite.account(BALANCE, path.root, self.s),
                "com_new": self.suite.account(BALANCE + VALUE - FEE, path.root_taken, self.s_new),
                "root_rho": root,
                "fee": FEE,
                "b": BALANCE,
                "v": VALUE,
                "sen": SENDER,
                "s": self.s,
                "s_new": self.s_new,
                "t": self.t_in,
            }
        )

    def received(self, claim: dict[str, Any]) -> dict[str, Any]:
        """The claim as op takes it."""
        rho = self.suite.receipt(0, A, 0, self.t)
        return claim | {"rho": rho, "receive": 1, "rec": 0, "t": self.t, "t_in": self.t_in}

    def sent(self, claim: dict[str, Any], path: NullifierPath) -> dict[str, Any]:
        """A payment of VALUE from the same account, which shows the free position and takes none."""
        return claim | {
            "com_new": self.suite.account(BALANCE - VALUE - FEE, path.root, self.s_new),
            "rho": self.suite.receipt(VALUE, A, 9, self.t),
            "receive": 0,
            "rec": 9,
            "t": self.t,
            "t_in": self.t_in,
        }


def verdicts(relation: str, shape: TreeShape, inputs: dict[str, Any]) -> list[set[str]]:
    made = circuit(relation, shape.hash_name, shape.name)
    return refusals(made, run(made.tape, flatten_inputs(inputs)))


@pytest.mark.parametrize("key", KEYS, ids=" ".join)
def test_all_circuits_take_what_the_trees_give(key: tuple[str, str]) -> None:
    """recv and both kinds of op; and none of them another root or a path of the tree after the claim."""
    shape, position = SHAPES[key], 20
    wallet = Wallet(shape, [0, 3, 19, 22, 300, 2**39], 41)
    root, path = wallet.tree.root, wallet.tree.insertion(position)
    claim = wallet.claim(position, path)
    assert path.root == root
    assert verdicts("recv", shape, claim) == [set()] * 3
    assert verdicts("op", shape, wallet.received(claim)) == [set()] * 3
    assert verdicts("op", shape, wallet.sent(claim, path)) == [set()] * 3
    wallet.tree.insert(position)
    assert wallet.tree.root == path.root_taken
    for changed in (
        {"com_new": wallet.suite.account(BALANCE + VALUE - FEE, root, wallet.s_new)},
        {"root_rho": wallet.ledger(position - 1)[0]},
        wallet.tree.path(position + 1).inputs(),
        wallet.tree.path(position).inputs() if shape.flag_bits else {"com": claim["com_new"]},
    ):
        assert all(verdicts("recv", shape, claim | changed))


@pytest.mark.parametrize("name", ["wide", "classic"])
def test_recv_takes_what_a_pruned_tree_gives(name: str, tmp_path: Any) -> None:
    """Above the threshold, and below it with a path from the cold file."""
    shape = SHAPES["poseidon", name]
    wallet = Wallet(shape, [0, 3, 130, 300, 2**39], 301)
    cold = ColdNullifiers(shape, tmp_path / "cold")
    wallet.tree.prune(256, cold)
    for position in (299, 131):
        path = wallet.tree.insert(position, cold.path(position) if position < 256 else None)
        assert path.root_taken == wallet.tree.root
        assert verdicts("recv", shape, wallet.claim(position, path)) == [set()] * 3

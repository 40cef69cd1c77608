"""Inputs of receive and operation over Poseidon, and what the oracle says of them."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bonsai_circuits.witness.inputs import flatten_inputs
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.reference.relations import BITMAP_BITS, WIDTHS, operation_outputs, receive_outputs
from tests.reference.trees import SparseTree

POSITIONS = 2**40
SHAPES = ("wide", "classic")
NO_BITS = [2, R - 1, pow(2, -1, R)]
Inputs = dict[str, Any]


@dataclass(frozen=True)
class Account:
    """One account's side of a claim: its nullifiers, and the receipts of the whole ledger."""

    shape: str
    receipts: dict[int, int]
    taken: set[int] = field(default_factory=set)

    @cached_property
    def receipt_tree(self) -> SparseTree:
        return SparseTree(WIDTHS[self.shape], self.receipts)

    def nullifiers(self) -> SparseTree:
        flags, leaves = BITMAP_BITS[self.shape], dict[int, int]()
        for pid in self.taken:
            leaves[pid >> flags] = leaves.get(pid >> flags, 0) | 1 << pid % 2**flags
        return SparseTree(nullifier_widths(self.shape), leaves)

    def claim(self, pid: int) -> Inputs:
        """Where pid stands in both trees."""
        flags, nullifiers = BITMAP_BITS[self.shape], self.nullifiers()
        return {
            "pid": pid,
            "nullifier_leaf": nullifiers.levels[0].get(pid >> flags, 0),
            "nullifier_path": nullifiers.path(pid >> flags),
            "receipt_path": self.receipt_tree.path(pid),
        }


def nullifier_widths(shape: str) -> tuple[int, ...]:
    return tuple(WIDTHS[shape][3 if BITMAP_BITS[shape] else 0 :])


def edge_positions(shape: str) -> list[int]:
    """The first and the last position, neighbours of both, every other bit; and each digit of the wide shape at its largest alone."""
    alternating = POSITIONS // 3
    found = [0, POSITIONS - 1, 1, POSITIONS // 2, POSITIONS - 2, alternating, 2 * alternating]
    at = 0
    for width in WIDTHS[shape] if shape == "wide" else ():
        found.append((2**width - 1) << at)
        at += width
    return found


def secrets(shape: str, seed: int = 1, **change: Any) -> Inputs:
    """A receive: random siblings, and in the wide shape a random leaf that has the position free."""
    rng = random.Random(f"{shape} {seed}")
    w = {name: rng.randrange(R) for name in ("A", "sen", "s", "s_new", "t")} | {"b": 1000, "v": 500, "fee": 10}
    w |= {"pid": rng.randrange(POSITIONS)} | change
    paths = {
        "receipt_path": [[rng.randrange(R) for _ in range(2**width - 1)] for width in WIDTHS[shape]],
        "nullifier_path": [[rng.randrange(R) for _ in range(2**width - 1)] for width in nullifier_widths(shape)],
    }
    leaf = rng.getrandbits(128) & ~(1 << w["pid"] % 128) if BITMAP_BITS[shape] else 0
    return {"nullifier_leaf": leaf, **paths, **w}


def operation_secrets(shape: str, receive: int, seed: int = 1, **change: Any) -> Inputs:
    """An operation of either kind; a send's receipt path leads anywhere."""
    rng = random.Random(f"{shape} {seed} {receive}")
    more = {"receive": receive, "rec": 0 if receive else rng.randrange(1, R), "t_in": rng.randrange(R)}
    return secrets(shape, seed, **more | change)


def flat(shape: str, w: Mapping[str, Any]) -> dict[str, int]:
    """As the circuit names its inputs; the classic shape has no leaf to supply."""
    return flatten_inputs({name: x for name, x in w.items() if name != "nullifier_leaf" or BITMAP_BITS[shape]})


def received(shape: str, w: Mapping[str, Any]) -> dict[str, int]:
    """The public outputs of a receive that the oracle computes."""
    outputs = receive_outputs(shape, w)
    assert outputs is not None
    return dict(zip(("com", "com_new", "root_rho"), outputs, strict=True))


def operated(shape: str, w: Mapping[str, Any]) -> dict[str, int]:
    """The public outputs of an operation that the oracle computes; a send may name any root."""
    outputs = operation_outputs(shape, w)
    assert outputs is not None
    com, com_new, rho, root_rho = outputs
    return {"com": com, "com_new": com_new, "rho": rho, "root_rho": 4711 if root_rho is None else root_rho}

"""The built-in circuits by name: a relation, a hash suite and a tree shape."""

from collections.abc import Callable
from dataclasses import dataclass

from ..dsl.circuit import Relation
from ..dsl.trace import Trace
from ..errors import InputError
from ..gadgets.pedersen_suite import PedersenSuite
from ..gadgets.pedersen_tree import PedersenTrees
from ..gadgets.suite import PoseidonSuite
from ..gadgets.trees import PoseidonTrees
from .operation import operation
from .receive import receive
from .send import send

NO_HASH = NO_TREE = "none"  # of a circuit that has none of its own


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """One built-in circuit; tree is NO_TREE for a relation that opens none."""

    relation: str
    hash: str
    tree: str
    trace: Callable[[], Trace]

    @property
    def name(self) -> str:
        """The folder under compiled/: send-poseidon, recv-poseidon-wide, ..."""
        return "-".join(part for part in (self.relation, self.hash, self.tree) if part != NO_TREE)


def _poseidon(relation: Relation, name: str, tree: str) -> BuiltIn:
    return BuiltIn(name, "poseidon", tree, lambda: relation.trace(name, PoseidonSuite(), PoseidonTrees(tree)))


def _pedersen(relation: Relation, name: str, tree: str) -> BuiltIn:
    return BuiltIn(name, "pedersen", tree, lambda: relation.trace(name, PedersenSuite(), PedersenTrees(tree)))


BUILT_IN = (
    BuiltIn("send", "poseidon", NO_TREE, lambda: send.trace("send", PoseidonSuite())),
    *(_poseidon(receive, "recv", tree) for tree in ("wide", "classic")),
    *(_poseidon(operation, "op", tree) for tree in ("wide", "classic")),
    BuiltIn("send", "pedersen", NO_TREE, lambda: send.trace("send", PedersenSuite())),
    *(_pedersen(receive, "recv", tree) for tree in ("wide", "classic")),
    *(_pedersen(operation, "op", tree) for tree in ("wide", "classic")),
)


def built_in(relation: str, hash_name: str, tree: str) -> BuiltIn:
    """The built-in circuit; for a relation without a tree any shape names the same one.  A whole name, send-poseidon, will do as well.

    Raises InputError with the circuits there are.
    """
    for circuit in BUILT_IN:
        if (circuit.relation, circuit.hash) == (relation, hash_name) and circuit.tree in (NO_TREE, tree):
            return circuit
    for circuit in BUILT_IN:
        if circuit.name == relation:
            return circuit
    known = ", ".join(circuit.name for circuit in BUILT_IN)
    raise InputError(
        "circuit", f"there is no circuit '{relation}' with hash {hash_name} and tree {tree}; built in: {known}"
    )

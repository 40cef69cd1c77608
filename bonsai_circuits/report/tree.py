"""Rows of both systems as a tree: by the scopes that they were made in, or by the lines that made them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..lowering.rules_file import OUTLINE
from ..pipeline import Circuit, Compiled
from ..r1cs.system import Origins
from .count import aligned

OUTLINE_NAME = "outline"
NO_LINE = "(no line)"
_PACKAGE = __name__.partition(".")[0]
_SHOWN_SCOPES = 3  # beside a line

AnyCircuit: TypeAlias = Circuit | Compiled
Path: TypeAlias = tuple[str, ...]


@dataclass(slots=True)
class Node:
    """One scope or line: the rows it has in both systems, those below it included; note: what it is about, in a few words."""

    name: str
    note: str = ""
    r1cs: int = 0
    sr1cs: int = 0
    below: dict[str, "Node"] = field(default_factory=dict)

    def to_json(self, depth: int | None = None) -> dict[str, Any]:
        """{name, r1cs, sr1cs, below}, `depth` levels of it; rows that no node below has are the node's own."""
        value: dict[str, Any] = {"name": self.name, "r1cs": self.r1cs, "sr1cs": self.sr1cs}
        if self.note:
            value["note"] = self.note
        if self.below and depth != 0:
            value["below"] = [node.to_json(None if depth is None else depth - 1) for node in self.below.values()]
        return value

    def walk(self, depth: int | None = None, level: int = 0) -> Iterator[tuple[int, "Node"]]:
        """(level, node) of this node and those at most `depth` levels below it, each before what is below it."""
        yield level, self
        if depth is None or level < depth:
            for node in self.below.values():
                yield from node.walk(depth, level + 1)

    def _add(self, path: Path, r1cs: int, sr1cs: int) -> None:
        node = self
        for name in (None, *path):
            if name is not None:
                node = node.below.setdefault(name, Node(name))
            node.r1cs += r1cs
            node.sr1cs += sr1cs


def by_scope(circuit: AnyCircuit) -> Node:
    """Rows by scope path, in the order in which the scopes were opened; outline rows stand apart."""
    root = Node(circuit.about.name)
    origins = circuit.r1cs.origins
    for (scope,), n in _grouped(origins.scope):
        root._add(_scope_path(origins, scope), n, 0)
    origins, outline = circuit.square.origins, circuit.rules.source == OUTLINE
    for (is_outline, scope), n in _grouped(outline, origins.scope):
        root._add((OUTLINE_NAME,) if is_outline else _scope_path(origins, scope), 0, n)
    return root


def by_source(circuit: AnyCircuit) -> Node:
    """Rows by source: the author's own line, the gadget's line that it led to, the row's label.

    The note of an author's line names the outermost scopes of its rows.
    """
    root = Node(circuit.about.name)
    scopes: dict[str, dict[str, None]] = {}
    outline = circuit.rules.source == OUTLINE
    systems = ((circuit.r1cs.origins, np.zeros(circuit.r1cs.n_rows, np.bool_)), (circuit.square.origins, outline))
    for square, (origins, is_outline) in enumerate(systems):
        columns = (origins.user_file, origins.user_line, origins.file, origins.line, origins.label, origins.scope)
        for (apart, user_file, user_line, file, line, label, scope), n in _grouped(is_outline, *columns):
            strings = origins.strings
            user, maker = _line(strings[user_file], user_line), _line(strings[file], line)
            lines = (user, maker) if user != maker else (user,)
            path = (OUTLINE_NAME,) if apart else tuple(x for x in (*lines, strings[label]) if x)
            root._add(path, 0 if square else n, n if square else 0)
            if not apart:
                scopes.setdefault(user, {}).update(dict.fromkeys(_scope_path(origins, scope)[:1]))
    for line_name, names in scopes.items():
        shown = [*names][:_SHOWN_SCOPES]
        root.below[line_name].note = ", ".join([*shown, *(["..."] if len(names) > len(shown) else [])])
    return root


def scope_table(root: Node, depth: int | None) -> str:
    """The tree as text: a line a node, indented, with its rows in both systems."""
    rows = [("  " * level + node.name, f"{node.r1cs:,}", f"{node.sr1cs:,}") for level, node in root.walk(depth)]
    return aligned([("rows by scope", "R1CS", "SR1CS"), *rows], n_left=1)


def _scope_path(origins: Origins, scope: int) -> Path:
    """The scopes below the outermost one, which is the circuit itself."""
    return tuple(origins.strings[scope].split("/")[1:])


def _line(file: str, line: int) -> str:
    """A line's name; of a file of the toolkit without the toolkit's name."""
    if not line:
        return file or NO_LINE
    return f"{file.removeprefix(f'{_PACKAGE}/')}:{line}"


def _grouped(*columns: NDArray[Any]) -> Iterator[tuple[Sequence[int], int]]:
    """The different rows of these columns in the order in which they first occur, and how often they do."""
    table = np.stack([column.astype(np.int64) for column in columns], axis=1)
    values, first, counts = np.unique(table, axis=0, return_index=True, return_counts=True)
    for i in np.argsort(first):
        yield values[i].tolist(), int(counts[i])

"""A page of HTML that shows where the rows of a circuit are: one file, no outside resources, the same bytes for the same circuit."""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from .count import PUBLISHED
from .tree import AnyCircuit, Node, by_scope, by_source

_TEMPLATE = "profile.html.j2"
_TABLE_DEPTH = 2


def profile_html(circuit: AnyCircuit) -> str:
    """The page: a treemap and a flame graph by gadget and by source line, in both systems; the rules, the counts, the digest."""
    scopes, lines = by_scope(circuit), by_source(circuit)
    rules = circuit.rules.counts()
    return (
        _environment()
        .get_template(_TEMPLATE)
        .render(
            name=circuit.about.name,
            digest=circuit.about.digest.hex(),
            facts=_facts(circuit),
            rules=[(rule, f"{before:,}", f"{after:,}") for rule, (before, after) in rules.items()],
            tables=[
                ("Rows by gadget, as a table", "Scopes, two levels deep", "scope", list(scopes.walk(_TABLE_DEPTH))),
                (
                    "Rows by source line, as a table",
                    "The relation's line, then the gadget's",
                    "line",
                    list(lines.walk(_TABLE_DEPTH)),
                ),
            ],
            data=[_encoded(scopes), _encoded(lines)],
        )
    )


def _facts(circuit: AnyCircuit) -> list[tuple[str, str, str]]:
    """(title, value, note) of each figure on top of the page."""
    counts, r1cs, square = circuit.counts(), circuit.r1cs, circuit.square
    published = PUBLISHED.get((counts["relation"], counts["hash"]), ("", ""))
    notes = [f"published {rows:,}" if rows else "" for rows in published]
    share = 100 * square.n_rows / counts["domain"]
    return [
        ("rows, R1CS", f"{r1cs.n_rows:,}", notes[0]),
        ("rows, Square R1CS", f"{square.n_rows:,}", notes[1]),
        ("Square R1CS per R1CS row", f"{square.n_rows / r1cs.n_rows:.2f}" if r1cs.n_rows else "", ""),
        ("domain", f"{counts['domain']:,}", f"{share:.1f} % used"),
        ("public inputs", f"{counts['public']:,}", ""),
        ("private wires, R1CS", f"{counts['witness']:,}", ""),
        ("entries, R1CS", f"{r1cs.a.nnz + r1cs.b.nnz + r1cs.c.nnz:,}", "A, B and C"),
        ("entries, Square R1CS", f"{square.a.nnz + square.b.nnz:,}", "A and B"),
    ]


def _encoded(node: Node) -> list[Any]:
    """[name, note, rows in R1CS, rows in Square R1CS, [below]], the last only if there is any."""
    value: list[Any] = [node.name, node.note, node.r1cs, node.sr1cs]
    return [*value, [_encoded(child) for child in node.below.values()]] if node.below else value


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("bonsai_circuits", "templates"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )

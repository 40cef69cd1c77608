"""bonsai count."""

from pathlib import Path

import click

from ..errors import InputError
from ..pipeline import Circuit
from ..relations.builtin import BUILT_IN
from ..report.count import count_table, rule_table
from ..report.tree import by_scope, scope_table
from .console import result
from .options import circuit_options, open_circuit

_SHOWN_DEPTH = 2  # levels of scopes that a page of text has room for


@click.command()
@circuit_options(required=False)
@click.option("--by-gadget", is_flag=True, help="Print the rows of each gadget as well, as a tree of scopes.")
@click.option("--by-rule", is_flag=True, help="Print the rows of each rule of the lowering as well.")
@click.option("--depth", type=click.IntRange(min=0), help="Levels of the tree.  [default: 2, with --json all of them]")
def count(
    circuit: str | None,
    hash_name: str,
    tree: str,
    compiled: Path,
    as_json: bool,
    by_gadget: bool,
    by_rule: bool,
    depth: int | None,
) -> None:
    """Print what CIRCUIT, or every compiled built-in circuit, has, beside the published figures."""
    if circuit is not None:
        circuits = [open_circuit(circuit, hash_name, tree, compiled)]
    else:
        folders = [compiled / one.name for one in BUILT_IN if (compiled / one.name).is_dir()]
        if not folders:
            raise InputError("compiled", f"no built-in circuit is compiled in {compiled}; run `bonsai compile`")
        circuits = [Circuit.open(folder) for folder in folders]
    counts = [one.counts() for one in circuits]
    tables = [count_table(counts)]
    for one, value in zip(circuits, counts, strict=True):
        if by_gadget:
            scopes = by_scope(one)
            value["scopes"] = scopes.to_json(depth)
            tables.append(scope_table(scopes, _SHOWN_DEPTH if depth is None else depth))
        if by_rule:
            rules = one.rules.counts()
            value["rules"] = {rule: {"before": before, "after": after} for rule, (before, after) in rules.items()}
            tables.append(rule_table(one.about.name, rules))
    result(counts, "\n\n".join(tables), as_json)

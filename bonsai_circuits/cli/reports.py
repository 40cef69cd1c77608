"""bonsai inputs, bonsai count, bonsai profile, bonsai lint."""

from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from textwrap import indent
from typing import Any

import click

from ..artifacts.atomic import write_atomic
from ..artifacts.json_object import parse_json
from ..errors import InputError
from ..pipeline import Circuit
from ..relations.builtin import BUILT_IN
from ..report.count import count_table, published, rule_table
from ..report.inputs import inputs_of, inputs_table
from ..report.lint import Check, Lint, lint, parse_allowances
from ..report.profile import profile_html
from ..report.tree import by_scope, scope_table
from ..witness.inputs import read_inputs
from .console import EXIT_FAILED, result, say, steps
from .options import built_in_or_folder, circuit_options, open_circuit
from .sources import described, is_source

_FILE = click.Path(dir_okay=False, path_type=Path)
_SHOWN_FINDINGS = 20  # as text; --json has them all
_SHOWN_DEPTH = 2  # levels of scopes that a page of text has room for


@click.command()
@circuit_options()
def inputs(circuit: str, hash_name: str, tree: str, compiled: Path, as_json: bool) -> None:
    """List the inputs of CIRCUIT, compiled or not: names, shapes, public or private.  CIRCUIT may be mine.py:relation as well."""
    if is_source(circuit):
        name, found = circuit, inputs_of(described(circuit))
    else:
        one, folder = built_in_or_folder(circuit, hash_name, tree, compiled)
        with steps(1) as progress:
            progress.start("inputs")
            if one is None or folder.is_dir():
                target = Circuit.open(folder)
                name, found = target.about.name, inputs_of(target)
            else:
                name, found = one.name, inputs_of(one.trace())
            progress.done()
    value = {"circuit": name, "inputs": [asdict(one) for one in found]}
    result(value, inputs_table(found), as_json)


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
    if depth is not None and not by_gadget:
        say("note: --depth is for the tree that --by-gadget prints; without that it changes nothing")
    counts = [{**one.counts(), "published": published(one.about.relation, one.about.hash)} for one in circuits]
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


@click.command()
@circuit_options()
@click.option("--out", type=_FILE, required=True, help="The HTML file to write.")
def profile(circuit: str, hash_name: str, tree: str, compiled: Path, as_json: bool, out: Path) -> None:
    """Write a page of HTML that shows where the rows of CIRCUIT are, by gadget and by source line; it needs no network."""
    target = open_circuit(circuit, hash_name, tree, compiled)
    with steps(1) as progress:
        progress.start("profile")
        page = profile_html(target).encode()
        write_atomic(out, page)
        progress.done()
    value = {"out": str(out), "bytes": len(page), "circuit": target.about.name, "digest": target.about.digest.hex()}
    result(value, f"{out}: {len(page):,} bytes", as_json)


@click.command("lint")
@circuit_options()
@click.option("--input", "input_file", type=_FILE, required=True, help="JSON file of inputs that satisfy the circuit.")
@click.option(
    "--allow", type=_FILE, help='Reviewed findings as JSON: {check: {wire: reason}}, "*" in a wire for any characters.'
)
@click.option("--rank/--no-rank", default=True, help="Look for wires that move together, too.  [default: rank]")
def lint_command(
    circuit: str,
    hash_name: str,
    tree: str,
    compiled: Path,
    as_json: bool,
    input_file: Path,
    allow: Path | None,
    rank: bool,
) -> None:
    """Look for under-constrained wires of CIRCUIT beside an honest witness; exit code 1 if there are any that are not allowed."""
    target = open_circuit(circuit, hash_name, tree, compiled)
    allowed = parse_allowances(_json(allow), str(allow)) if allow else {}
    with steps(1) as progress:
        progress.start("lint")
        found = lint(target, target.witness(read_inputs(input_file)), allowed, rank)
        progress.done()
    value = {
        "ok": not found.faults,
        "circuit": found.circuit,
        "systems": [asdict(size) for size in found.dimensions],
        "findings": [asdict(finding) for finding in found.findings],
        "unneeded": [{"check": check, "wire": wire} for check, wire in found.unneeded],
    }
    for check, wire in found.unneeded:
        say(f"note: allowed, but not found at this witness: {check}: {wire}")
    result(value, _lint_text(found), as_json)
    if found.faults:
        raise click.exceptions.Exit(EXIT_FAILED)


def _lint_text(found: Lint) -> str:
    lines = []
    for size in found.dimensions:
        free = "" if size.solutions is None else f", solutions of dimension {size.solutions:,}"
        free += f", {size.unexplained:,} of it by no input" if size.unexplained else ""
        lines.append(f"{found.circuit}: {size.system} with {size.rows:,} rows, {size.wires:,} wires{free}")
    order = list(Check)
    shown = sorted(found.findings, key=lambda finding: (finding.allowed is not None, order.index(finding.check)))
    for check, group in groupby(shown[:_SHOWN_FINDINGS], key=lambda finding: finding.check):
        lines += [f"{check}:", *(indent(finding.report(), "  ") for finding in group)]
    if len(shown) > _SHOWN_FINDINGS:
        lines.append(f"and {len(shown) - _SHOWN_FINDINGS} more; --json has all of them")
    n_allowed = len(found.findings) - len(found.faults)
    n_faults = len(found.faults)
    total = f"{n_faults} finding{'s' if n_faults != 1 else ''}" + (f", and {n_allowed} allowed" if n_allowed else "")
    return "\n".join([*lines, total])


def _json(path: Path) -> dict[str, Any]:
    try:
        return parse_json(path.read_bytes())
    except OSError as e:
        raise InputError(str(path), f"cannot be read: {e.strerror}") from e
    except ValueError as e:
        raise InputError(str(path), f"is not a JSON object: {e}") from e

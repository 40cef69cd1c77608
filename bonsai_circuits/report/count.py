"""The count table: what each compiled system has, beside the published figures."""

from collections.abc import Mapping, Sequence
from typing import Any

# (R1CS, Square R1CS) rows of the published table, at 2^40 receipts and nullifier positions, from a generic doubling of R1CS.
PUBLISHED = {
    ("send", "poseidon"): (1_647, 3_303),
    ("recv", "poseidon"): (30_729, 61_467),
    ("op", "poseidon"): (31_706, 63_423),
    ("send", "pedersen"): (16_109, 32_227),
    ("recv", "pedersen"): (398_111, 796_231),
    ("op", "pedersen"): (406_460, 812_931),
}
COLUMNS = ("relation", "hash", "tree", "r1cs", "sr1cs", "public", "witness", "domain")
_TITLES = (
    "relation",
    "hash",
    "tree",
    "R1CS",
    "SR1CS",
    "public",
    "private",
    "domain",
    "published R1CS",
    "published SR1CS",
)


def published(relation: str, hash_name: str) -> dict[str, int] | None:
    """The published rows of a relation under a hash, {r1cs, sr1cs}; None for a circuit of one's own."""
    rows = PUBLISHED.get((relation, hash_name))
    return None if rows is None else {"r1cs": rows[0], "sr1cs": rows[1]}


def count_table(counts: Sequence[dict[str, Any]]) -> str:
    """The counts as text, one circuit a line, the published figures in the last two columns."""
    rows = [_TITLES]
    for count in counts:
        published = PUBLISHED.get((count["relation"], count["hash"]))
        own = tuple(_cell(count[column]) for column in COLUMNS)
        rows.append((*own, *(map(_cell, published) if published else ("", ""))))
    return aligned(rows, n_left=3)


def rule_table(circuit: str, rules: Mapping[str, tuple[int, int]]) -> str:
    """The rules that a circuit was lowered by as text, and a total: rows a b = c before, rows of the square system after."""
    total = tuple(map(sum, zip(*rules.values(), strict=True)))
    rows = [("rows by rule", "before", "after"), (circuit, *map(_cell, total))]
    rows += [(f"  {rule}", *map(_cell, counts)) for rule, counts in rules.items()]
    return aligned(rows, n_left=1)


def aligned(rows: Sequence[Sequence[str]], n_left: int) -> str:
    """Rows of cells as text in columns: the first n_left flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        (
            cell.ljust(width) if i < n_left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join("  ".join(line).rstrip() for line in lines)


def _cell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)

"""The count table: what each compiled system has, beside the published figures."""

from collections.abc import Sequence
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


def count_table(counts: Sequence[dict[str, Any]]) -> str:
    """The counts as text, one circuit a line, the published figures in the last two columns."""
    rows = [_TITLES]
    for count in counts:
        published = PUBLISHED.get((count["relation"], count["hash"]))
        own = tuple(_cell(count[column]) for column in COLUMNS)
        rows.append((*own, *(map(_cell, published) if published else ("", ""))))
    widths = [max(len(row[i]) for row in rows) for i in range(len(_TITLES))]
    return "\n".join("  ".join(_aligned(i, cell, widths[i]) for i, cell in enumerate(row)).rstrip() for row in rows)


def _cell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _aligned(column: int, cell: str, width: int) -> str:
    return cell.ljust(width) if column < 3 else cell.rjust(width)

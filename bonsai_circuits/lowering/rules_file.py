"""How each row of a square system came to be, on disk: its rule, and the row that it was lowered from."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..artifacts.sections import open_sections, write_sections
from ..errors import FileDamaged
from .square import RULES, Lowered

KIND = "lowering"
OUTLINE = -1  # source of a row that was lowered from none


@dataclass(frozen=True, slots=True, eq=False)
class RowRules:
    """The part of `Lowered` that reports need: rule (n_rows,) int8 is an index into names, source (n_rows,) int32 a row or OUTLINE."""

    names: tuple[str, ...]
    rule: NDArray[np.int8]
    source: NDArray[np.int32]

    @classmethod
    def of(cls, lowered: Lowered) -> "RowRules":
        return cls(tuple(map(str, RULES)), lowered.rule, lowered.source)

    def counts(self) -> dict[str, tuple[int, int]]:
        """Rule -> (rows that were lowered by it, rows of the square system that they became), for the rules that occur."""
        found = {}
        for number, name in enumerate(self.names):
            rows = self.source[self.rule == number]
            if len(rows):
                found[name] = (len(np.unique(rows[rows != OUTLINE])), len(rows))
        return found


def write_rules(path: Path, rules: RowRules) -> None:
    write_sections(path, KIND, {"names": "\n".join(rules.names), "rule": rules.rule, "source": rules.source})


def open_rules(path: Path, n_rows: int) -> RowRules:
    """Maps the rules of a square system of n_rows rows.  Raises FileDamaged: no such file, damaged, or of another system."""
    sections = open_sections(path, KIND)
    names = tuple(sections.text("names").split("\n"))
    rules = RowRules(names, sections.array("rule", "i1", (n_rows,)), sections.array("source", "<i4", (n_rows,)))
    if n_rows and not (0 <= rules.rule.min() <= rules.rule.max() < len(names) and rules.source.min() >= OUTLINE):
        raise FileDamaged(str(path), "a rule points outside its names; compile the circuit again")
    return rules

"""R1CS -> Square R1CS by named rules, one decision a row.

A row a b = c becomes, by the first rule that applies:

  linear           a or b constant: (a b - c)^2 = 0                                                                1 row
  boolean          a = b = c: a^2 = a                                                                              1 row
  square           b = k a: a^2 = c / k                                                                            1 row
  boolean product  a and b are boolean: (a + b)^2 = a + b + 2 c                                                    1 row
  two squares      a^2 = s and b^2 = t stand already: (a + b)^2 = s + t + 2 c                                      1 row
  square of sum    (a + b)^2 = s stands already: (a - b)^2 = s - 4 c                                               1 row
  square of difference  (a - b)^2 = s stands already: (a + b)^2 = s + 4 c                                          1 row
  general product  h = (a + b)^2, (a - b)^2 = h - 4 c, with one helper wire h                                      2 rows

Squares that stand are those of the rules `boolean` and `square` anywhere in the system: every row holds at once, so order does not
matter.  Each emitted row's residual (left - right) is a fixed combination of residuals of R1CS rows; `check` verifies exactly
that, and tests prove the identities.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.parameters import FR_MODULUS as R

from ..r1cs.linear import ONE, Terms, added, combined, scaled
from ..r1cs.system import R1CS, Origins, SparseRows, SquareR1CS
from .outline import outline_rows, outlined_wire
from .standing import StandingSquares, ratio


class Rule(StrEnum):
    """How a row of the square system came to be."""

    OUTLINE = "outline"
    LINEAR = "linear"
    BOOLEAN = "boolean"
    SQUARE = "square"
    BOOLEAN_PRODUCT = "boolean product"
    TWO_SQUARES = "two squares"
    SQUARE_OF_SUM = "square of sum"
    SQUARE_OF_DIFFERENCE = "square of difference"
    GENERAL = "general product"


RULES = tuple(Rule)


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """The square system and how it came from the R1CS.

    rule (n_rows,) int8: index into RULES; source (n_rows,) int32: the R1CS row, -1 for outline rows.
    of_r1cs (n_r1cs_wires,) int32: the square wire that stands for each R1CS wire in all rows but the outline ones.
    helper_row (n_helpers,) int32: the row a^2 = h that defines each helper wire, and helper (n_helpers,) int32 the wire h.
    """

    system: SquareR1CS
    rule: NDArray[np.int8]
    source: NDArray[np.int32]
    of_r1cs: NDArray[np.int32]
    helper: NDArray[np.int32]
    helper_row: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class _Emitted:
    a: Terms
    b: Terms
    rule: Rule
    source: int


def lower(system: R1CS) -> Lowered:
    """The Square R1CS of an R1CS, outlined.  Deterministic: the same system gives the same rows, in the order of its rows."""
    n_public = len(system.public)
    rows = outlined_rows(system)
    squares = StandingSquares(rows)
    one = outlined_wire(ONE, n_public)
    emitted = [_Emitted(a, b, Rule.OUTLINE, -1) for a, b in outline_rows(n_public)]
    n_wires = outlined_wire(system.n_wires, n_public)
    helpers: list[tuple[int, int]] = []
    for i, (a, b, c) in enumerate(rows):
        rule, (left, right) = _one_row(a, b, c, squares, rows, one) or (Rule.GENERAL, (added(a, scaled(b, -1)), {}))
        if rule is Rule.GENERAL:
            helpers.append((n_wires, len(emitted)))
            emitted.append(_Emitted(added(a, b), {n_wires: 1}, rule, i))
            right = added({n_wires: 1}, scaled(c, -4))
            n_wires += 1
        emitted.append(_Emitted(left, right, rule, i))
    source = np.array([e.source for e in emitted], np.int32)
    names = [*system.wire_names[: n_public + 1], *system.wire_names, *(f"helper#{k}" for k in range(len(helpers)))]
    square = SquareR1CS(
        system.public,
        n_wires,
        SparseRows.from_rows([_canonical(e.a) for e in emitted]),
        SparseRows.from_rows([_canonical(e.b) for e in emitted]),
        tuple(names),
        _origins(system.origins, source),
    )
    return Lowered(
        square,
        np.array([RULES.index(e.rule) for e in emitted], np.int8),
        source,
        np.arange(system.n_wires, dtype=np.int32) + np.int32(n_public + 1),
        np.array([h for h, _ in helpers], np.int32),
        np.array([row for _, row in helpers], np.int32),
    )


_Rows = list[tuple[Terms, Terms, Terms]]


def outlined_rows(system: R1CS) -> _Rows:
    """The rows (a, b, c) of an R1CS over the wires of its square system."""
    shift = outlined_wire(0, len(system.public))
    a, b, c = (
        [{w + shift: k for w, k in row.items()} for row in matrix.rows()] for matrix in (system.a, system.b, system.c)
    )
    return list(zip(a, b, c, strict=True))


def _square_of(x: Terms, squares: StandingSquares, rows: _Rows) -> Terms | None:
    found = squares.find(x)
    return None if found is None else scaled(rows[found.row][2], found.scale)


def _one_row(
    a: Terms, b: Terms, c: Terms, squares: StandingSquares, rows: _Rows, one: int
) -> tuple[Rule, tuple[Terms, Terms]] | None:
    """(rule, (left, right)) with left^2 = right equivalent to a b = c, or None if that takes a helper."""
    for x, y in ((a, b), (b, a)):
        if all(w == one for w in x):
            return Rule.LINEAR, (added(scaled(y, x.get(one, 0)), scaled(c, -1)), {})
    if k := ratio(b, a):
        right = scaled(c, pow(k, -1, R))
        return (Rule.BOOLEAN if right == a else Rule.SQUARE), (a, right)
    total, difference = added(a, b), added(a, scaled(b, -1))
    if (a2 := _square_of(a, squares, rows)) is not None and (b2 := _square_of(b, squares, rows)) is not None:
        rule = Rule.BOOLEAN_PRODUCT if a2 == a and b2 == b else Rule.TWO_SQUARES
        return rule, (total, combined([(1, a2), (1, b2), (2, c)]))
    if (known := _square_of(total, squares, rows)) is not None:
        return Rule.SQUARE_OF_SUM, (difference, added(known, scaled(c, -4)))
    if (known := _square_of(difference, squares, rows)) is not None:
        return Rule.SQUARE_OF_DIFFERENCE, (total, added(known, scaled(c, 4)))
    return None


def _canonical(x: Terms) -> Terms:
    return {w: k % R for w, k in x.items()}


def _origins(origins: Origins, source: NDArray[np.int32]) -> Origins:
    """The origins of the source rows; outline rows get an origin of their own."""
    strings = (*origins.strings, "outline", "")
    outline, nothing = len(strings) - 2, len(strings) - 1

    def pick(column: NDArray[np.int32], default: int) -> NDArray[np.int32]:
        return np.where(source < 0, np.int32(default), column[source]).astype(np.int32)

    return Origins(
        scope=pick(origins.scope, outline),
        file=pick(origins.file, nothing),
        line=pick(origins.line, 0),
        user_file=pick(origins.user_file, nothing),
        user_line=pick(origins.user_line, 0),
        label=pick(origins.label, outline),
        strings=strings,
    )

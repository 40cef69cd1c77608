"""Checks a lowering at a random point: the square system says exactly what the R1CS says.

Write e_i = a_i b_i - c_i for the residual of R1CS row i, and f for that of a square row (left^2 - right).  At a random assignment of the
R1CS wires (helpers follow from their rows) each rule promises

  linear                        left = e_i, right = 0
  boolean, square               b_i f = a_i e_i
  boolean product, two squares  f = 2 e_i + (a_i^2 - s) + (b_i^2 - t)
  square of sum                 f = -4 e_i + ((a_i + b_i)^2 - s)        square of difference   f = 4 e_i + ((a_i - b_i)^2 - s)
  general product               f = 0 in the row of the helper, then f = -4 e_i

where each difference from a standing square is a multiple of the residual of an R1CS row that itself became a square row.  So the two
families of residuals vanish together: a witness of one system is, with its helpers, a witness of the other.  A wrong rule passes with
probability below 2^-250 (Schwartz-Zippel, degree 2 over Fr).
"""

import secrets
from collections.abc import Sequence

import numpy as np

from bonsai_verifier.field import fr_from_ints, fr_to_ints
from bonsai_verifier.parameters import FR_MODULUS as R

from ..errors import CircuitError
from ..kernels.sparse import sparse_rows
from ..r1cs.linear import ONE, Terms, added, scaled
from ..r1cs.system import R1CS, SparseRows
from .outline import outline_rows, outlined_wire
from .square import RULES, Lowered, Rule
from .standing import StandingSquares, ratio

_NOTHING: tuple[Terms, Terms, Terms] = ({}, {}, {})


def check_lowering(system: R1CS, lowered: Lowered) -> None:
    """Raises CircuitError with the first row of the square system that does not follow from the R1CS by its rule."""
    square, n_public = lowered.system, len(system.public)
    _check_structure(system, lowered)
    z = [secrets.randbelow(R) for _ in range(square.n_wires)]
    z[outlined_wire(ONE, n_public)] = 1
    z[: n_public + 1] = z[n_public + 1 : outlined_wire(n_public, n_public) + 1]
    left = _values(square.a, z)
    for wire, row in zip(lowered.helper.tolist(), lowered.helper_row.tolist(), strict=True):
        z[wire] = left[row] * left[row] % R
    left, right = _values(square.a, z), _values(square.b, z)
    r1cs_z = [z[w] for w in lowered.of_r1cs.tolist()]
    a_values, b_values, c_values = (_values(matrix, r1cs_z) for matrix in (system.a, system.b, system.c))
    rows = list(zip(system.a.rows(), system.b.rows(), system.c.rows(), strict=True))
    emitted = dict(zip(lowered.source.tolist(), lowered.rule.tolist(), strict=True))
    kept = {RULES.index(Rule.SQUARE), RULES.index(Rule.BOOLEAN)}  # rows whose square the square system states too
    squares = StandingSquares([row if emitted[i] in kept else _NOTHING for i, row in enumerate(rows)])

    def excess(x: Terms, value: int) -> int:
        """x^2 minus the combination that stands for it."""
        found = squares.find(x)
        if found is None:
            raise CircuitError(
                "lowering", "a square is used that no row of the R1CS states; this is a defect of a rule"
            )
        return (value * value - found.scale * c_values[found.row]) % R

    helper_rows = set(lowered.helper_row.tolist())
    for k, (number, i) in enumerate(zip(lowered.rule.tolist(), lowered.source.tolist(), strict=True)):
        rule = RULES[number]
        residual = (left[k] * left[k] - right[k]) % R
        if rule is Rule.OUTLINE or k in helper_rows:
            holds = residual == 0
        else:
            a, b = a_values[i], b_values[i]
            e = a * b - c_values[i]
            ra, rb, _ = rows[i]
            match rule:
                case Rule.LINEAR:
                    holds = right[k] == 0 and (left[k] - e) % R == 0
                case Rule.BOOLEAN | Rule.SQUARE:
                    holds = ratio(rb, ra) != 0 and (residual * b - e * a) % R == 0
                case Rule.BOOLEAN_PRODUCT | Rule.TWO_SQUARES:
                    holds = (residual - 2 * e - excess(ra, a) - excess(rb, b)) % R == 0
                case Rule.SQUARE_OF_SUM:
                    holds = (residual + 4 * e - excess(added(ra, rb), a + b)) % R == 0
                case Rule.SQUARE_OF_DIFFERENCE:
                    holds = (residual - 4 * e - excess(added(ra, scaled(rb, -1)), a - b)) % R == 0
                case Rule.GENERAL:
                    holds = (residual + 4 * e) % R == 0
                case _:
                    holds = False
        if not holds:
            raise CircuitError("lowering", f"square row {k} (rule '{rule}') does not follow from R1CS row {i}")


def _check_structure(system: R1CS, lowered: Lowered) -> None:
    """The outline rows are the outline rows; every R1CS row has its one square row, a general product its two and a helper of its own."""
    square, n_outline = lowered.system, len(system.public) + 1
    rules, sources = [RULES[k] for k in lowered.rule.tolist()], lowered.source.tolist()
    expected: list[tuple[Rule, int]] = [(Rule.OUTLINE, -1)] * n_outline
    general = {i for rule, i in zip(rules, sources, strict=True) if rule is Rule.GENERAL}
    of_row = dict(zip(sources, rules, strict=True))
    helper_rows = []
    for i in range(system.n_rows):
        if i in general:
            helper_rows.append(len(expected))
            expected.append((Rule.GENERAL, i))
        expected.append((of_row.get(i, Rule.OUTLINE), i))
    outline = [({w: c % R for w, c in a.items()}, b) for a, b in outline_rows(n_outline - 1)]
    a_rows, b_rows = square.a.rows(), square.b.rows()
    first_helper = outlined_wire(system.n_wires, n_outline - 1)
    helpers = list(range(first_helper, square.n_wires))
    used = [w for row in [*a_rows, *b_rows] for w in row if w >= first_helper]
    sound = (
        list(zip(rules, sources, strict=True)) == expected
        and not any(rule is Rule.OUTLINE for rule in rules[n_outline:])
        and list(zip(a_rows, b_rows, strict=True))[:n_outline] == outline
        and lowered.of_r1cs.tolist() == [outlined_wire(w, n_outline - 1) for w in range(system.n_wires)]
        and lowered.helper.tolist() == helpers
        and lowered.helper_row.tolist() == helper_rows
        and all(b_rows[row] == {wire: 1} for wire, row in zip(helpers, helper_rows, strict=True))
        and sorted(used) == sorted(helpers * 2)
    )
    if not sound:
        raise CircuitError(
            "lowering", "rows, helpers or outline of the square system are not those of the R1CS, one for one"
        )


def _values(matrix: SparseRows, z: Sequence[int]) -> list[int]:
    out = np.empty((matrix.n_rows, 4), np.uint64)
    sparse_rows(out, matrix.start, matrix.wire, matrix.coeff, fr_from_ints(z))
    return fr_to_ints(out)

"""Trace -> R1CS: every linear equation expresses one private wire by the others, so it costs no row.

Which wire goes: a private input that occurs in the equation, the newest of them; without one, the newest private wire.  An equation between
public inputs alone stays, as a row (difference) 1 = 0.

Sound because the equations are equivalences of linear algebra: a witness of the R1CS extends to the eliminated wires in exactly one
way, and then satisfies every row and every equation of the trace; and conversely.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.parameters import FR_MODULUS as R

from ..errors import CircuitError
from ..r1cs.linear import ONE, Terms, added, combined, is_constant, scaled
from ..r1cs.system import R1CS, Origins, SparseRows
from .trace import Equation, Origin, Row, System, Trace


@dataclass(frozen=True, slots=True, eq=False)
class Eliminated:
    """The rows, and for each of their wires the wire of the trace that it was: traced (n_wires,) int32.

    solved: the eliminated wires of the trace, as combinations of its other wires.
    """

    system: R1CS
    traced: NDArray[np.int32]
    solved: Mapping[int, Terms]


def to_r1cs(trace: Trace, which: System = System.R1CS) -> Eliminated:
    """The rows a b = c of a trace that belong to one system: the R1CS itself, or what is lowered to the square system.

    Raises CircuitError for equations that contradict each other.
    """
    substitution, kept = _solve(trace, [e for e in trace.equations if e.system in (None, which)])
    rows = [r for r in trace.rows if r.system in (None, which)]
    rows += [Row(added(e.left, scaled(e.right, -1)), {ONE: 1}, {}, e.origin) for e in kept]
    rows = [
        Row(_substituted(r.a, substitution), _substituted(r.b, substitution), _substituted(r.c, substitution), r.origin)
        for r in rows
    ]
    n_fixed = 1 + len(trace.public)
    present = {w for r in rows for terms in (r.a, r.b, r.c) for w in terms}
    traced = [*range(n_fixed), *sorted(w for w in present if w >= n_fixed)]
    _refuse_unheld(trace, which, present, substitution)
    if not rows:
        raise CircuitError(trace.name, "the description has no row, so it restricts nothing")
    index = {w: i for i, w in enumerate(traced)}

    def matrix(side: list[Terms]) -> SparseRows:
        return SparseRows.from_rows([{index[w]: c for w, c in terms.items()} for terms in side])

    system = R1CS(
        trace.public,
        len(traced),
        matrix([r.a for r in rows]),
        matrix([r.b for r in rows]),
        matrix([r.c for r in rows]),
        tuple(trace.wire_names[w] for w in traced),
        origins_of([r.origin for r in rows]),
    )
    return Eliminated(system, np.array(traced, np.int32), substitution)


def _refuse_unheld(trace: Trace, which: System, present: set[int], solved: Mapping[int, Terms]) -> None:
    """Every public input, and every wire that the system's rows and equations name, is in a row or expressed by wires that are."""
    sides = [side for r in trace.rows if r.system in (None, which) for side in (r.a, r.b, r.c)]
    sides += [side for e in trace.equations if e.system in (None, which) for side in (e.left, e.right)]
    named = {w for side in sides for w in side} | set(range(1, 1 + len(trace.public)))
    unheld = sorted(named - present - solved.keys() - {ONE})
    if unheld:
        names = ", ".join(trace.wire_names[w] for w in unheld[:5])
        raise CircuitError(
            names,
            "no row holds this: it is only equated with wires that are free themselves; constrain it or remove it",
        )


def traced_system(trace: Trace) -> R1CS:
    """The trace before elimination as rows over its own wires, equations included as (left) 1 = (right): for diagnosis."""
    rows = [*trace.rows, *(Row(e.left, {ONE: 1}, e.right, e.origin) for e in trace.equations)]
    return R1CS(
        trace.public,
        len(trace.wire_names),
        SparseRows.from_rows([r.a for r in rows]),
        SparseRows.from_rows([r.b for r in rows]),
        SparseRows.from_rows([r.c for r in rows]),
        trace.wire_names,
        origins_of([r.origin for r in rows]),
    )


def origins_of(origins: list[Origin]) -> Origins:
    """Origins as arrays of indices into one table of strings."""
    table: dict[str, int] = {}

    def column(strings: list[str]) -> NDArray[np.int32]:
        return np.array([table.setdefault(s, len(table)) for s in strings], np.int32)

    return Origins(
        scope=column([o.scope for o in origins]),
        file=column([o.file for o in origins]),
        line=np.array([o.line for o in origins], np.int32),
        user_file=column([o.user_file for o in origins]),
        user_line=np.array([o.user_line for o in origins], np.int32),
        label=column([o.label for o in origins]),
        strings=tuple(table),
    )


def _solve(trace: Trace, equations: Sequence[Equation]) -> tuple[dict[int, Terms], list[Equation]]:
    """Each eliminated wire as a combination of wires that stay, and the equations that eliminate none."""
    inputs = set(trace.secret.values())
    n_fixed = 1 + len(trace.public)
    solved: dict[int, Terms] = {}
    users: dict[int, set[int]] = {}  # wire that stays -> the solved wires whose expression has it
    kept: list[Equation] = []
    for equation in equations:
        terms = _substituted(added(equation.left, scaled(equation.right, -1)), solved)
        private = [w for w in terms if w >= n_fixed]
        if not terms:
            continue
        if not private:
            if is_constant(terms):
                raise CircuitError(
                    equation.origin.label,
                    f"contradicts the equations before it ({equation.origin.file}:{equation.origin.line})",
                )
            kept.append(equation)
            continue
        pivot = max([w for w in private if w in inputs] or private)
        factor = -pow(terms[pivot], -1, R)
        expression = {w: c * factor % R for w, c in terms.items() if w != pivot}
        for user in users.pop(pivot, ()):
            solved[user] = _substituted(solved[user], {pivot: expression})
            for w in expression:
                users.setdefault(w, set()).add(user)
        solved[pivot] = expression
        for w in expression:
            users.setdefault(w, set()).add(pivot)
    return solved, kept


def _substituted(x: Terms, solved: dict[int, Terms]) -> Terms:
    hit = [w for w in x if w in solved]
    if not hit:
        return x
    rest = {w: c for w, c in x.items() if w not in solved}
    return combined([(1, rest), *((x[w], solved[w]) for w in hit)])

"""Inputs that stand in no row of a system: how they change when the wires do that stand in rows."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.field import fr_from_ints, fr_inv, fr_mul, fr_sum, fr_to_ints
from bonsai_verifier.parameters import FR_MODULUS as R

from ..dsl.trace import Op
from ..r1cs.linear import ONE, Terms, added, evaluated, scaled
from ..r1cs.system import R1CS, UInt64
from ..witness.runner import Witness

Fifth: TypeAlias = Callable[[UInt64, UInt64], UInt64]  # (change of x^5, x) -> change of x, (1, 4) each


def move_absent_inputs(traced: R1CS, witness: Witness, change: UInt64, held: NDArray[np.bool_], fifth: Fifth) -> None:
    """Gives these inputs the change that the held registers imply, where a linear equation or a fifth power tells it.

    In/Out: change (n_registers, 4), known at the registers that are held (n_registers,).
    """
    unknown = {register for register in witness.tape.inputs.values() if not held[register]}
    known = held.copy()
    known[ONE] = True
    equations = [equation for equation in _equations(traced) if not unknown.isdisjoint(equation)]
    code, start = witness.tape.code, witness.tape.start
    alone = (code[:, 0] == Op.FIFTH) & held[code[:, 1]] & (start[code[:, 3]] == start[code[:, 3] + 1])
    fifths = code[alone, :3].tolist()
    while True:
        found = _by_equation(equations, change, known, unknown)
        found = found or _by_fifth_power(fifths, witness, change, unknown, fifth)
        if not found:
            return
        unknown.remove(found)
        known[found] = True


def _equations(traced: R1CS) -> list[Terms]:
    """The linear equations of a trace, each as a combination that is 0."""
    only_one = np.flatnonzero(np.diff(traced.b.start) == 1).tolist()
    rows = [i for i in only_one if traced.b.wire[traced.b.start[i]] == ONE]
    return [added(dict(traced.a.row(i)), scaled(dict(traced.c.row(i)), -1)) for i in rows]


def _by_equation(equations: Sequence[Terms], change: UInt64, known: NDArray[np.bool_], unknown: set[int]) -> int:
    """Changes an input that is the one unknown wire of an equation, and gives its register; 0 if there is none."""
    for equation in equations:
        rest = [w for w in equation if known[w]]
        if len(rest) == len(equation) - 1:
            (wire,) = equation.keys() - set(rest)
            if wire in unknown:
                changes = dict(zip(rest, fr_to_ints(change[rest]), strict=True))
                total = evaluated({w: equation[w] for w in rest if w != ONE}, changes)
                change[wire] = fr_from_ints([-total * pow(equation[wire], -1, R)])[0]
                return wire
    return 0


def _by_fifth_power(
    fifths: Sequence[Sequence[int]], witness: Witness, change: UInt64, unknown: set[int], fifth: Fifth
) -> int:
    """As _by_equation, for an input x of which (k x + c)^5 is known."""
    tape = witness.tape
    for _, target, combination in fifths:
        terms = slice(int(tape.start[combination]), int(tape.start[combination + 1]))
        read, coeff = tape.register[terms], tape.coeff[terms]
        absent = [e for e, register in enumerate(read.tolist()) if register != ONE]
        if len(absent) == 1 and int(read[absent[0]]) in unknown:
            (e,) = absent
            x = fr_sum(fr_mul(coeff, witness.registers[read]))
            change[read[e]] = fr_mul(fifth(change[target : target + 1], x), fr_inv(coeff[e : e + 1]))[0]
            return int(read[e])
    return 0

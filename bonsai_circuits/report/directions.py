"""In which directions the solutions of a system can move at a witness, and which of them no input explains.

J is the Jacobian of the rows by all wires at the witness z, W the map from inputs to wires that the witness program computes, dW its
derivative.  A direction u of the inputs keeps the rows if J dW u = 0; it then moves the wires by dW u, which lies in ker J.  If those
moves are less than ker J, solutions can move, to first order, in a direction that no input gives.  Both dimensions are exact, by
elimination over Fr.  In each direction that is left over some wire moves otherwise than it is computed from what it depends on: these
wires are named.

Equality proves: whatever solutions near z do, to first order, honest witnesses of other inputs do too; no wire, and no number of wires
together, is left free.  It does not prove that z is the only witness with its inputs: others may lie apart from it (a bit flipped and
made up for elsewhere, the other root of a square).  It speaks of this z: a row that is switched off here may be what holds a wire
elsewhere, so take a witness of each kind.  And less than equality need not be a hole: where x y = 0 at x = y = 0, the first order promises
more than there is.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.field import fr_from_ints, fr_inv, fr_mul, fr_pow, fr_sum, fr_to_ints
from bonsai_verifier.parameters import FR_MODULUS as R

from ..dsl.trace import Op
from ..kernels.sparse import sparse_rows
from ..r1cs.linear import ONE, Terms, added, evaluated, scaled
from ..r1cs.rank import Echelon
from ..r1cs.system import R1CS, Int64, SparseRows, UInt64
from ..witness.runner import Witness
from ..witness.tangent import deviating_registers, input_tangents

_TRACED = 50  # directions without an input that are traced to wires; where there are more, a few say enough


class Kernel:
    """ker J of one system, as a graph over its free wires, and what the inputs explain of it."""

    def __init__(
        self, n_rows: int, jacobian: SparseRows, fixed: NDArray[np.bool_], register: NDArray[np.int32]
    ) -> None:
        """jacobian: by the wires that are not fixed (n_wires,); register: of each wire on the tape."""
        self._n_rows, self._jacobian, self._fixed, self._register = n_rows, jacobian, fixed, register
        self._echelon = Echelon(len(fixed))
        self._echelon.add_matrix(jacobian)
        free = self._echelon.free()
        self._free: Int64 = free[~fixed[free]]
        self._directions: list[tuple[Int64, UInt64]] = []

    @property
    def dimension(self) -> int:
        return len(self._free)

    def explain(self, tangent: UInt64) -> None:
        """Notes a direction dW u, (n_registers, 4): how it moves the free wires, and J dW u."""
        moved = np.ascontiguousarray(tangent[self._register])
        broken = np.empty((self._n_rows, 4), np.uint64)
        sparse_rows(broken, self._jacobian.start, self._jacobian.wire, self._jacobian.coeff, moved)
        entries = np.concatenate([moved[self._free], broken])
        where = np.flatnonzero(entries.any(axis=1))
        self._directions.append((where, entries[where]))

    @cached_property
    def unexplained(self) -> list[int]:
        """Free wires, one for each dimension of ker J that no noted direction gives."""
        explained = Echelon(self.dimension + self._n_rows)  # the last entries go first: J dW u, then the free wires
        start = np.cumsum([0, *(len(where) for where, _ in self._directions)])
        wires, values = (np.concatenate(parts) for parts in zip(*self._directions, strict=True))
        explained.add(start, wires.astype(np.int32), values)
        left = explained.free()
        return [int(self._free[i]) for i in left[left < self.dimension]]

    def deviating(self, traced: R1CS, witness: Witness) -> list[int]:
        """The wires that move otherwise than they are computed, in one of the directions that no input gives."""
        held = np.zeros(len(witness.registers), np.bool_)
        held[self._register[~self._fixed]] = True
        found: set[int] = set()
        for free in self.unexplained[:_TRACED]:
            tangent = np.zeros_like(witness.registers)
            tangent[self._register] = self._echelon.kernel_vector(free)
            _move_absent_inputs(traced, witness, tangent, held)
            found.update(deviating_registers(witness, tangent, held).tolist())
        return [wire for wire in np.flatnonzero(~self._fixed).tolist() if int(self._register[wire]) in found]


def explain(kernels: Sequence[Kernel], witness: Witness) -> None:
    """Notes the direction of every input in every kernel."""
    for _, tangent in input_tangents(witness):
        for kernel in kernels:
            kernel.explain(tangent)


# Inputs that stand in no row of a system -------------------------------------------------------------------------------------


def _move_absent_inputs(traced: R1CS, witness: Witness, tangent: UInt64, held: NDArray[np.bool_]) -> None:
    """Gives these inputs the movement that the held registers imply, where an equation of the trace or a fifth power tells it.

    In/Out: tangent (n, 4), known at the held registers.
    """
    unknown = {register for register in witness.tape.inputs.values() if not held[register]}
    known = held.copy()
    known[ONE] = True
    equations = [equation for equation in _equations(traced) if not unknown.isdisjoint(equation)]
    code, start = witness.tape.code, witness.tape.start
    alone = (code[:, 0] == Op.FIFTH) & held[code[:, 1]] & (start[code[:, 3]] == start[code[:, 3] + 1])
    fifths = code[alone, :3].tolist()
    while True:
        found = _by_equation(equations, tangent, known, unknown) or _by_fifth_power(fifths, witness, tangent, unknown)
        if not found:
            return
        unknown.remove(found)
        known[found] = True


def _equations(traced: R1CS) -> list[Terms]:
    """The linear equations of a trace, each as a combination that is 0."""
    only_one = np.flatnonzero(np.diff(traced.b.start) == 1).tolist()
    rows = [i for i in only_one if traced.b.wire[traced.b.start[i]] == ONE]
    return [added(dict(traced.a.row(i)), scaled(dict(traced.c.row(i)), -1)) for i in rows]


def _by_equation(equations: Sequence[Terms], tangent: UInt64, known: NDArray[np.bool_], unknown: set[int]) -> int:
    """Moves an input that is the one unknown wire of an equation, and gives its register; 0 if there is none."""
    for equation in equations:
        rest = [w for w in equation if known[w]]
        if len(rest) == len(equation) - 1:
            (wire,) = equation.keys() - set(rest)
            if wire in unknown:
                moved = dict(zip(rest, fr_to_ints(tangent[rest]), strict=True))
                total = evaluated({w: equation[w] for w in rest if w != ONE}, moved)
                tangent[wire] = fr_from_ints([-total * pow(equation[wire], -1, R)])[0]
                return wire
    return 0


def _by_fifth_power(fifths: Sequence[Sequence[int]], witness: Witness, tangent: UInt64, unknown: set[int]) -> int:
    """As _by_equation, for an input x of which (k x + c)^5 is known."""
    tape = witness.tape
    for _, target, combination in fifths:
        terms = slice(int(tape.start[combination]), int(tape.start[combination + 1]))
        read, coeff = tape.register[terms], tape.coeff[terms]
        absent = [e for e, register in enumerate(read.tolist()) if register != ONE]
        if len(absent) == 1 and int(read[absent[0]]) in unknown:
            (e,) = absent
            x = fr_sum(fr_mul(coeff, witness.registers[read]))
            slope = fr_mul(fr_mul(fr_pow(x, 4), fr_from_ints([5])), coeff[e : e + 1])
            tangent[read[e]] = fr_mul(tangent[target : target + 1], fr_inv(slope))[0]
            return int(read[e])
    return 0

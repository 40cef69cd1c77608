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

from bonsai_verifier.field import fr_from_ints, fr_inv, fr_mul, fr_pow

from ..kernels.sparse import sparse_rows
from ..r1cs.rank import Echelon
from ..r1cs.system import R1CS, Int64, SparseRows, UInt64
from ..witness.runner import Witness
from ..witness.tangent import deviating_registers, input_tangents
from .absent import move_absent_inputs

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
            move_absent_inputs(traced, witness, tangent, held, _tangent_of_root)
            found.update(deviating_registers(witness, tangent, held).tolist())
        return [wire for wire in np.flatnonzero(~self._fixed).tolist() if int(self._register[wire]) in found]


def explain(kernels: Sequence[Kernel], witness: Witness) -> None:
    """Notes the direction of every input in every kernel."""
    for _, tangent in input_tangents(witness):
        for kernel in kernels:
            kernel.explain(tangent)


def _tangent_of_root(dy: UInt64, x: UInt64) -> UInt64:
    """dx of y = x^5."""
    return fr_mul(dy, fr_inv(fr_mul(fr_pow(x, 4), fr_from_ints([5]))))

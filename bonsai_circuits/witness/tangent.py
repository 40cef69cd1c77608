"""How the wires of a witness move, to first order: with one input, or in a direction that is given."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.field import fr_from_ints

from ..kernels.tangent import tape_tangent
from .runner import Witness


def input_tangents(witness: Witness) -> Iterator[tuple[str, NDArray[np.uint64]]]:
    """(input, derivative of every register by it, (n, 4) Montgomery) for each input but the public ones that are computed.

    In: a witness that was computed from inputs.
    """
    for name, register in witness.tape.inputs.items():
        if name not in witness.tape.computed:
            tangent = np.zeros_like(witness.registers)
            tangent[register] = fr_from_ints([1])[0]
            _run(witness, tangent, np.zeros(len(tangent), np.bool_))
            yield name, tangent


def deviating_registers(witness: Witness, tangent: NDArray[np.uint64], held: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The held registers that the tangent moves otherwise than the witness program would, given what it reads there.

    In: tangent (n, 4) Montgomery at the inputs and at held registers, held (n,).
    """
    return np.flatnonzero(_run(witness, tangent.copy(), held))


def _run(witness: Witness, tangent: NDArray[np.uint64], held: NDArray[np.bool_]) -> NDArray[np.bool_]:
    tape, differs = witness.tape, np.zeros(len(tangent), np.bool_)
    tape_tangent(tangent, differs, held, witness.registers, tape.code, tape.start, tape.register, tape.coeff)
    return differs

"""Runs a tape on inputs: the values of all wires."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.field import fr_from_ints, fr_is_canonical, fr_to_ints

from ..errors import InputError
from ..kernels.tape import run_tape
from .inputs import select_inputs
from .tape import Tape


@dataclass(frozen=True, slots=True, eq=False)
class Witness:
    """The values of all registers of a tape: registers (n, 4) Montgomery.  Secret; never printed.

    from_inputs: every register was computed from inputs; otherwise those of eliminated wires are empty.
    """

    tape: Tape = field(repr=False)
    registers: NDArray[np.uint64] = field(repr=False)
    from_inputs: bool

    def r1cs(self) -> NDArray[np.uint64]:
        """z of the R1CS, (n_wires, 4) Montgomery."""
        return self.registers[self.tape.r1cs]

    def square(self) -> NDArray[np.uint64]:
        """z of the square system, (n_wires, 4) Montgomery."""
        return self.registers[self.tape.square]

    def public(self) -> dict[str, int]:
        """The public inputs by name."""
        names = self.tape.public
        return dict(zip(names, fr_to_ints(self.registers[1 : 1 + len(names)]), strict=True))

    def replaced(self, register: int, value: int) -> "Witness":
        """The same with one register overwritten."""
        registers = self.registers.copy()
        registers[register] = fr_from_ints([value])[0]
        return Witness(self.tape, registers, self.from_inputs)

    def __reduce__(self) -> str:
        raise TypeError("a witness is secret and is not pickled; run its tape again from the inputs")


def run(tape: Tape, inputs: Mapping[str, int]) -> Witness:
    """The witness for these inputs; public inputs that the circuit computes may be left out.

    Whether it satisfies the circuit is `check`'s question: a wrong input gives a witness all the same.
    Raises InputError: an unknown, missing or out-of-range input, with the expected names.
    """
    required = [name for name in tape.inputs if name not in tape.computed]
    values = select_inputs(inputs, required, sorted(tape.computed), tape.below)
    registers = np.zeros((tape.n_registers, 4), np.uint64)
    given = np.zeros(tape.n_registers, np.bool_)
    where = [0, *(tape.inputs[name] for name in values)]
    registers[where] = fr_from_ints([1, *values.values()])
    given[where] = True
    _execute(tape, registers, given, tape.code)
    return Witness(tape, registers, True)


def run_from_r1cs(tape: Tape, z: NDArray[np.uint64]) -> Witness:
    """The witness whose R1CS wires are z, (n_wires, 4) Montgomery: only what the square system has besides is computed.

    Raises InputError: another number of wires, or a wire 0 that is not one.
    """
    if z.shape != (len(tape.r1cs), 4) or z.dtype != np.uint64:
        raise InputError(
            "assignment",
            f"is {z.shape} {z.dtype}; this circuit's R1CS takes ({len(tape.r1cs)}, 4) uint64, one row a wire",
        )
    z = np.ascontiguousarray(z)
    if not fr_is_canonical(z).all():
        raise InputError("assignment", "a value is not below r")
    if not np.array_equal(z[:1], fr_from_ints([1])):
        raise InputError("assignment", "wire 0 is the constant and must be 1")
    registers = np.zeros((tape.n_registers, 4), np.uint64)
    registers[tape.r1cs] = z
    _execute(tape, registers, np.zeros(tape.n_registers, np.bool_), tape.extension)
    return Witness(tape, registers, False)


def _execute(tape: Tape, registers: NDArray[np.uint64], given: NDArray[np.bool_], code: NDArray[np.int32]) -> None:
    run_tape(registers, code, tape.start, tape.register, tape.coeff, given)

"""Small circuits for tests: described by a function, carried through every arrow."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bonsai_circuits.dsl.builder import Builder
from bonsai_circuits.dsl.circuit import Relation
from bonsai_circuits.pipeline import Compiled, build
from bonsai_circuits.r1cs.diagnose import FailedRow, failed_rows
from bonsai_circuits.r1cs.system import R1CS, SquareR1CS
from bonsai_circuits.witness.runner import Witness, run
from bonsai_verifier.field import fr_from_ints, fr_to_ints


def compiled(describe: Callable[..., None], *public: str) -> Compiled:
    """The circuit that describe(builder, p, w) states over these public inputs."""
    return build(Relation("test", public, describe).trace("test"))


def builder(*public: str) -> Builder:
    return Builder("test", public)


def values(w: Witness, wires: NDArray[np.int32]) -> list[int]:
    return fr_to_ints(w.registers[wires])


def broken(circuit: Compiled, w: Witness) -> list[list[FailedRow]]:
    """The failed rows of the trace, the R1CS and the square system."""
    return [
        failed_rows(circuit.traced, w.registers[: circuit.traced.n_wires]),
        failed_rows(circuit.r1cs, w.r1cs()),
        failed_rows(circuit.square, w.square()),
    ]


def satisfied(circuit: Compiled, inputs: Mapping[str, int]) -> bool:
    """The same verdict of all three systems."""
    verdicts = {not rows for rows in broken(circuit, run(circuit.tape, inputs))}
    assert len(verdicts) == 1, "the systems disagree"
    return verdicts.pop()


def forged(circuit: Compiled, inputs: Mapping[str, int], wire: str, value: int) -> list[FailedRow]:
    """The rows of the trace that fail when one wire of an honest witness is overwritten."""
    w = run(circuit.tape, inputs)
    registers = w.registers[: circuit.traced.n_wires].copy()
    registers[circuit.traced.wire_names.index(wire)] = fr_from_ints([value])[0]
    return failed_rows(circuit.traced, registers)


def loose_wires(system: R1CS | SquareR1CS, z: NDArray[np.uint64], first_private: int) -> list[str]:
    """Private wires that can be changed alone without breaking a row."""
    names: list[str] = []
    one = fr_from_ints([12345])
    for wire in range(first_private, system.n_wires):
        changed: Any = z.copy()
        changed[wire] = fr_from_ints([fr_to_ints(z[wire : wire + 1])[0] + 12345])[0] if z[wire].any() else one[0]
        if not failed_rows(system, changed, limit=1):
            names.append(system.wire_names[wire])
    return names

"""A witness program as plain arrays: which register gets which operation of which combinations.

Registers are the wires of the trace, then one for each helper wire of the square system.  Nothing here is code: a tape is data, mapped
from disk, and run by one kernel.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.field import fr_is_canonical
from bonsai_verifier.parameters import FR_MODULUS

from ..artifacts.sections import open_sections, write_sections
from ..dsl.trace import Op
from ..errors import FileDamaged
from ..r1cs.system import are_starts

KIND = "tape"


@dataclass(frozen=True, slots=True, eq=False)
class Tape:
    """The program of the circuit with this digest; the first n_traced registers are the trace's wires, the others helpers.

    code (m, 5) int32: rows (op, target, x, y, immediate), register target := op(combination x, combination y, immediate);
    extension (e, 5) int32: what computes the square system's registers from those of the R1CS alone.
    start (k + 1,) int64, register (nnz,) int32, coeff (nnz, 4) uint64 Montgomery: the combinations.
    inputs: name -> register of each input, public ones first; computed: public inputs that may be left out.
    below: limits of inputs that no row states, by name.
    r1cs, square: the register of each wire of the two systems.
    """

    circuit_digest: bytes
    n_registers: int
    n_traced: int
    n_public: int
    inputs: dict[str, int]
    computed: frozenset[str]
    below: dict[str, int]
    code: NDArray[np.int32]
    extension: NDArray[np.int32]
    start: NDArray[np.int64]
    register: NDArray[np.int32]
    coeff: NDArray[np.uint64]
    r1cs: NDArray[np.int32]
    square: NDArray[np.int32]

    @property
    def public(self) -> tuple[str, ...]:
        return tuple(self.inputs)[: self.n_public]

    @property
    def secret(self) -> tuple[str, ...]:
        return tuple(self.inputs)[self.n_public :]


_ARRAYS: dict[str, tuple[str, tuple[int | None, ...]]] = {
    "code": ("<i4", (None, 5)),
    "extension": ("<i4", (None, 5)),
    "start": ("<i8", (None,)),
    "register": ("<i4", (None,)),
    "coeff": ("<u8", (None, 4)),
    "r1cs": ("<i4", (None,)),
    "square": ("<i4", (None,)),
}


def write_tape(path: Path, tape: Tape) -> None:
    """One file of sections, written beside and renamed."""
    meta = {
        "circuit": tape.circuit_digest.hex(),
        "n_registers": tape.n_registers,
        "n_traced": tape.n_traced,
        "n_public": tape.n_public,
        "inputs": [[name, register] for name, register in tape.inputs.items()],
        "computed": sorted(tape.computed),
        "below": {name: str(limit) for name, limit in tape.below.items()},
    }
    write_sections(path, KIND, {"meta": meta, **{name: getattr(tape, name) for name in _ARRAYS}})


def open_tape(path: Path) -> Tape:
    """Maps a tape and checks that every index in it is inside its array.  Raises FileDamaged naming the file."""
    sections = open_sections(path, KIND)
    meta = sections.json("meta")
    arrays = {name: sections.array(name, dtype, shape) for name, (dtype, shape) in _ARRAYS.items()}
    try:
        inputs = {str(name): int(register) for name, register in meta["inputs"]}
        computed = frozenset(map(str, meta["computed"]))
        tape = Tape(
            circuit_digest=bytes.fromhex(meta["circuit"]),
            n_registers=int(meta["n_registers"]),
            n_traced=int(meta["n_traced"]),
            n_public=int(meta["n_public"]),
            inputs=inputs,
            computed=computed,
            below={str(name): int(limit) for name, limit in meta["below"].items()},
            code=arrays["code"],
            extension=arrays["extension"],
            start=arrays["start"],
            register=arrays["register"],
            coeff=arrays["coeff"],
            r1cs=arrays["r1cs"],
            square=arrays["square"],
        )
    except (AttributeError, KeyError, TypeError, ValueError) as e:
        raise FileDamaged(str(path), "the section meta does not describe a tape; compile the circuit again") from e
    n, k = tape.n_registers, len(tape.start) - 1
    in_range = (
        1 + len(tape.inputs) <= tape.n_traced <= n <= 1 + len(tape.inputs) + len(tape.code)
        and all(_all_within(a, n) for a in (tape.register, tape.r1cs, tape.square))
        and all(len(a) and a[0] == 0 for a in (tape.r1cs, tape.square))
        and all(_code_within(tape, code, n, k) for code in (tape.code, tape.extension))
        and sorted(tape.inputs.values())[: tape.n_public] == list(range(1, 1 + tape.n_public))
        and all(0 < r < tape.n_traced for r in tape.inputs.values())
        and are_starts(tape.start, len(tape.register))
        and len(tape.register) == len(tape.coeff)
        and fr_is_canonical(tape.coeff).all()
    )
    if not in_range:
        raise FileDamaged(str(path), "an index of the tape points outside; compile the circuit again")
    return tape


def _code_within(tape: Tape, code: NDArray[np.int32], n_registers: int, n_combinations: int) -> bool:
    """Every instruction is one, and writes no input: only DEFAULT does, and only one that may be left out."""
    op, target, x, y, immediate = code.T
    selects = op == int(Op.SELECT)
    inputs = set(tape.inputs.values()) | {0}
    may_be_left_out = {tape.inputs.get(name, 0) for name in tape.computed}
    defaults = op == int(Op.DEFAULT)
    return (
        _all_within(op, len(Op))
        and not inputs & set(target[~defaults].tolist())
        and set(target[defaults].tolist()) <= may_be_left_out
        and _all_within(target, n_registers)
        and _all_within(x, n_combinations)
        and _all_within(y, n_combinations)
        and _all_within(immediate[selects], n_combinations)
        and _all_within(immediate[~selects], FR_MODULUS.bit_length())
    )


def _all_within(a: NDArray[np.int32], n: int) -> bool:
    return bool(a.size == 0 or (a.min() >= 0 and a.max() < n))

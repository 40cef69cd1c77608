"""Trace and its two systems -> Tape."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.field import fr_from_ints

from ..dsl.elimination import Eliminated
from ..dsl.trace import Instruction, Op, Trace
from ..lowering.square import Lowered
from ..r1cs.linear import Terms
from .tape import Tape


def compile_tape(trace: Trace, r1cs: Eliminated, squared: Eliminated, lowered: Lowered, circuit_digest: bytes) -> Tape:
    """The program that computes every wire of the trace and every helper of the square system from the inputs.

    squared: the rows that `lowered` was made from.
    """
    n_public, n_traced = len(trace.public), len(trace.wire_names)
    helpers = {int(wire): n_traced + k for k, wire in enumerate(lowered.helper)}
    square = np.zeros(lowered.system.n_wires, np.int32)
    square[: n_public + 1] = np.arange(n_public + 1)
    square[lowered.of_r1cs] = squared.traced
    square[lowered.helper] = np.array(list(helpers.values()), np.int32)
    helping = []
    for wire, row in zip(lowered.helper.tolist(), lowered.helper_row.tolist(), strict=True):
        a = {int(square[w]): c for w, c in lowered.system.a.row(row)}
        helping.append(Instruction(helpers[wire], Op.PRODUCT, a, a))
    combinations = _Combinations()
    code = combinations.encode([*trace.instructions, *helping])
    extension = combinations.encode([*_square_from_r1cs(trace, r1cs, squared), *helping])
    start, register, coeff = combinations.arrays()
    inputs = {name: 1 + j for j, name in enumerate(trace.public)} | trace.secret
    computed = {i.wire for i in trace.instructions if i.op is Op.DEFAULT}
    return Tape(
        circuit_digest=circuit_digest,
        n_registers=n_traced + len(helpers),
        n_traced=n_traced,
        n_public=n_public,
        inputs=inputs,
        computed=frozenset(name for name, register in inputs.items() if register in computed),
        below=dict(trace.below),
        code=code,
        extension=extension,
        start=start,
        register=register,
        coeff=coeff,
        r1cs=r1cs.traced,
        square=square,
    )


def _square_from_r1cs(trace: Trace, r1cs: Eliminated, squared: Eliminated) -> list[Instruction]:
    """What computes the wires that the square system has and the R1CS has not from those of the R1CS."""
    known = set(r1cs.traced.tolist())
    makers = {i.wire: i for i in trace.instructions if i.op is not Op.DEFAULT}
    program: list[Instruction] = []
    stack = [int(w) for w in reversed(squared.traced) if int(w) not in known]
    while stack:
        wire = stack[-1]
        if wire in known:
            stack.pop()
            continue
        maker = Instruction(wire, Op.LINEAR, r1cs.solved[wire], {}) if wire in r1cs.solved else makers.get(wire)
        needed = [] if maker is None else [w for w in maker.reads() if w not in known]
        if needed:
            stack += needed
            continue
        known.add(wire)
        if (
            maker is not None
        ):  # else an input that no row holds: it stays zero, and nothing that is checked depends on it
            program.append(maker)
    return program


class _Combinations:
    """Linear combinations, each stored once."""

    def __init__(self) -> None:
        self._index: dict[tuple[tuple[int, int], ...], int] = {}

    def index(self, x: Terms) -> int:
        return self._index.setdefault(tuple(sorted(x.items())), len(self._index))

    def encode(self, instructions: Iterable[Instruction]) -> NDArray[np.int32]:
        """Instructions as rows (op, target, x, y, immediate), their combinations by index."""
        rows = []
        for i in instructions:
            immediate = i.immediate if i.condition is None else self.index(i.condition)
            rows.append((int(i.op), i.wire, self.index(i.x), self.index(i.y), immediate))
        return np.array(rows, np.int32).reshape(-1, 5)

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        terms = [term for combination in self._index for term in combination]
        start = np.zeros(len(self._index) + 1, np.int64)
        np.cumsum([len(combination) for combination in self._index], out=start[1:])
        return start, np.array([w for w, _ in terms], np.int32), fr_from_ints([c for _, c in terms])

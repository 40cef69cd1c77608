"""Trace and its two systems -> Tape."""

import numpy as np

from bonsai_verifier.field import fr_from_ints

from ..dsl.elimination import Eliminated
from ..dsl.trace import Op, Trace
from ..lowering.square import Lowered
from ..r1cs.linear import Terms
from .tape import Tape


def compile_tape(trace: Trace, r1cs: Eliminated, lowered: Lowered, circuit_digest: bytes) -> Tape:
    """The program that computes every wire of the trace and every helper of the square system from the inputs."""
    n_public, n_traced = len(trace.public), len(trace.wire_names)
    helpers = {int(wire): n_traced + k for k, wire in enumerate(lowered.helper)}
    square = np.zeros(lowered.system.n_wires, np.int32)
    square[: n_public + 1] = np.arange(n_public + 1)
    square[lowered.of_r1cs] = r1cs.traced
    square[lowered.helper] = np.array(list(helpers.values()), np.int32)
    combinations = _Combinations()
    code = [
        (int(i.op), i.wire, combinations.index(i.x), combinations.index(i.y), i.immediate) for i in trace.instructions
    ]
    for wire, row in zip(lowered.helper.tolist(), lowered.helper_row.tolist(), strict=True):
        a = combinations.index({int(square[w]): c for w, c in lowered.system.a.row(row)})
        code.append((int(Op.PRODUCT), helpers[wire], a, a, 0))
    columns = np.array(code, np.int32).reshape(-1, 5).T.copy()
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
        op=columns[0],
        target=columns[1],
        x=columns[2],
        y=columns[3],
        immediate=columns[4],
        start=start,
        register=register,
        coeff=coeff,
        r1cs=r1cs.traced,
        square=square,
    )


class _Combinations:
    """Linear combinations, each stored once."""

    def __init__(self) -> None:
        self._index: dict[tuple[tuple[int, int], ...], int] = {}

    def index(self, x: Terms) -> int:
        return self._index.setdefault(tuple(sorted(x.items())), len(self._index))

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        terms = [term for combination in self._index for term in combination]
        start = np.zeros(len(self._index) + 1, np.int64)
        np.cumsum([len(combination) for combination in self._index], out=start[1:])
        return start, np.array([w for w, _ in terms], np.int32), fr_from_ints([c for _, c in terms])

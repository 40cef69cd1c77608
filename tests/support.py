"""Small circuits for tests: described by a function, carried through every arrow."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from bonsai_circuits.dsl.builder import Builder
from bonsai_circuits.dsl.circuit import Relation
from bonsai_circuits.kernels.sparse import sparse_rows
from bonsai_circuits.kernels.tape import run_tape
from bonsai_circuits.pipeline import Compiled, build
from bonsai_circuits.r1cs.diagnose import FailedRow, failed_rows, sides
from bonsai_circuits.r1cs.system import R1CS, SparseRows, SquareR1CS
from bonsai_circuits.relations.builtin import built_in
from bonsai_circuits.witness.runner import Witness, run
from bonsai_verifier.field import fr_add, fr_from_canonical, fr_from_ints, fr_inv, fr_mul, fr_sub, fr_to_ints
from bonsai_verifier.parameters import FR_MODULUS as R


def compiled(describe: Callable[..., None], *public: str) -> Compiled:
    """The circuit that describe(builder, p, w) states over these public inputs."""
    return build(Relation("test", public, describe).trace("test"))


@cache
def circuit(relation: str, hash_name: str, tree: str) -> Compiled:
    """A built-in circuit, built once for all tests of a run."""
    return build(built_in(relation, hash_name, tree))


def poseidon_circuit(relation: str, tree: str) -> Compiled:
    return circuit(relation, "poseidon", tree)


def builder(*public: str) -> Builder:
    return Builder("test", public)


def values(w: Witness, wires: NDArray[np.int32]) -> list[int]:
    return fr_to_ints(w.registers[wires])


def broken(circuit: Compiled, w: Witness) -> list[list[FailedRow]]:
    """The failed rows of the trace, the R1CS and the square system."""
    return [failed_rows(system, z) for system, z in _systems(circuit, w)]


def satisfied(circuit: Compiled, inputs: Mapping[str, int]) -> bool:
    """The same verdict of all three systems."""
    verdicts = {holds(system, z) for system, z in _systems(circuit, run(circuit.tape, inputs))}
    assert len(verdicts) == 1, "the systems disagree"
    return verdicts.pop()


def holds(system: R1CS | SquareR1CS, z: NDArray[np.uint64]) -> bool:
    return np.array_equal(*sides(system, z))


def _systems(circuit: Compiled, w: Witness) -> list[tuple[R1CS | SquareR1CS, NDArray[np.uint64]]]:
    return [
        (circuit.traced, w.registers[: circuit.traced.n_wires]),
        (circuit.r1cs, w.r1cs()),
        (circuit.square, w.square()),
    ]


def forged(circuit: Compiled, inputs: Mapping[str, int], wire: str, value: int) -> list[FailedRow]:
    """The rows of the trace that fail when one wire of an honest witness is overwritten."""
    w = run(circuit.tape, inputs)
    registers = w.registers[: circuit.traced.n_wires].copy()
    registers[circuit.traced.wire_names.index(wire)] = fr_from_ints([value])[0]
    return failed_rows(circuit.traced, registers)


def cheated(circuit: Compiled, inputs: Mapping[str, int], pinned: Mapping[str, int]) -> Witness:
    """The witness of a prover who sets some wires as they like and computes everything else from them as an honest one does."""
    tape, names = circuit.tape, circuit.traced.wire_names
    targets = [names.index(name) for name in pinned]
    registers, given = np.zeros((tape.n_registers, 4), np.uint64), np.zeros(tape.n_registers, np.bool_)
    where = [0, *(tape.inputs[name] for name in inputs), *targets]
    registers[where] = fr_from_ints([1, *inputs.values(), *pinned.values()])
    given[where] = True
    run_tape(registers, tape.code[~np.isin(tape.code[:, 1], targets)], tape.start, tape.register, tape.coeff, given)
    return Witness(tape, registers, True)


def refusals(circuit: Compiled, w: Witness) -> list[set[str]]:
    """The labels of the rows that the witness breaks in the trace, the R1CS and the square system."""
    return [{row.label for row in failed_rows(system, z, limit=200)} for system, z in _systems(circuit, w)]


@dataclass(frozen=True)
class Influence:
    """Every (row, wire) of a system, ascending by wire: changing that wire alone by d adds `square` d^2 + `linear` d to a row that held."""

    row: NDArray[np.int64]
    wire: NDArray[np.int64]
    square: NDArray[np.uint64]
    linear: NDArray[np.uint64]

    @classmethod
    def of(cls, system: R1CS | SquareR1CS, z: NDArray[np.uint64]) -> "Influence":
        """R1CS, entries f, g, h of a row a b = c: f g and f b + g a - h.  Square R1CS, f, g of a^2 = b: f^2 and 2 f a - g."""
        matrices = (system.a, system.b, system.c) if isinstance(system, R1CS) else (system.a, system.b)
        keys = [m.wire.astype(np.int64) * m.n_rows + np.repeat(np.arange(m.n_rows), np.diff(m.start)) for m in matrices]
        pairs = np.sort(np.concatenate(keys))
        pairs = pairs[np.append(True, np.diff(pairs) != 0)]  # a sort and this, for np.unique hashes, ten times as long
        wire, row = np.divmod(pairs, system.n_rows)
        entries = []
        for matrix, key in zip(matrices, keys, strict=True):
            entry = np.zeros((len(pairs), 4), np.uint64)
            entry[np.searchsorted(pairs, key)] = fr_from_canonical(matrix.coeff)
            entries.append(entry)
        f, g, a = entries[0], entries[1], _times(system.a, z)[row]
        if isinstance(system, R1CS):
            b = _times(system.b, z)[row]
            return cls(row, wire, fr_mul(f, g), fr_sub(fr_add(fr_mul(f, b), fr_mul(g, a)), entries[2]))
        product = fr_mul(f, a)
        return cls(row, wire, fr_mul(f, f), fr_sub(fr_add(product, product), g))

    @property
    def rigid(self) -> NDArray[np.bool_]:
        """Where no d but 0 keeps the row: exactly one of the two coefficients is 0."""
        found: NDArray[np.bool_] = self.square.any(axis=1) != self.linear.any(axis=1)
        return found


def _times(matrix: SparseRows, z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    out = np.empty((matrix.n_rows, 4), np.uint64)
    sparse_rows(out, matrix.start, matrix.wire, matrix.coeff, np.ascontiguousarray(z))
    return out


def loose_wires(system: R1CS | SquareR1CS, z: NDArray[np.uint64], first_private: int) -> list[str]:
    """Private wires that can be changed alone, to any other value at all, without breaking a row.  In: z satisfies the system.

    Each row that holds the wire keeps d = 0 alone (rigid), or d = -linear / square besides, or every d: the wire is loose if some d != 0
    passes all its rows.
    """
    influence = Influence.of(system, z)
    bound = _bound(system, influence.wire[influence.rigid])
    two = influence.square.any(axis=1) & influence.linear.any(axis=1)
    wires = influence.wire[two]
    other = fr_mul(influence.linear[two], fr_inv(influence.square[two]))
    _, first = np.unique(wires, return_index=True)
    same_as_first = (other == other[np.repeat(first, np.diff([*first, len(wires)]))]).all(axis=1)
    bound[wires[~same_as_first]] = True
    return [system.wire_names[wire] for wire in range(first_private, system.n_wires) if not bound[wire]]


def free_wires(system: R1CS | SquareR1CS, z: NDArray[np.uint64], first_private: int) -> list[str]:
    """Private wires that can be changed alone to every other value without breaking a row.  In: z satisfies the system.

    Unlike loose_wires, a wire with a second value is none of these: a bit that nothing reads.
    """
    influence = Influence.of(system, z)
    bound = _bound(system, influence.wire[influence.square.any(axis=1) | influence.linear.any(axis=1)])
    return [system.wire_names[wire] for wire in range(first_private, system.n_wires) if not bound[wire]]


def _bound(system: R1CS | SquareR1CS, wires: NDArray[np.int64]) -> NDArray[np.bool_]:
    bound = np.zeros(system.n_wires, np.bool_)
    bound[wires] = True
    return bound


def passing_pairs(
    system: R1CS | SquareR1CS, z: NDArray[np.uint64], first_private: int, n: int, rng: random.Random
) -> list[tuple[str, str]]:
    """Of n random pairs of private wires that meet in a row, those that can be changed together without breaking a row.

    One wire is changed at random and the other so that this row holds.  (Of two wires that meet in no row, each would be loose alone.)
    """
    passing = []
    while n:
        row = rng.randrange(system.n_rows)
        a, b = (dict(matrix.row(row)) for matrix in (system.a, system.b))
        b, c = (b, dict(system.c.row(row))) if isinstance(system, R1CS) else (a, b)
        wires = sorted(w for w in {*a, *b, *c} if w >= first_private)
        if len(wires) < 2:
            continue
        first, second = rng.sample(wires, 2)
        changed = z.copy()
        changed[first] = fr_from_ints([rng.randrange(R)])[0]
        known = dict(zip(wires, fr_to_ints(changed[wires]), strict=True)) | dict(
            enumerate(fr_to_ints(z[:first_private]))
        )
        left, right, out = (sum(k * known[w] for w, k in terms.items()) for terms in (a, b, c))
        f, g, h = (terms.get(second, 0) for terms in (a, b, c))
        linear = (f * right + g * left - h) % R
        if f * g or not linear:
            continue  # two values, or none, or any: loose_wires looks at those
        d = (out - left * right) * pow(linear, -1, R)
        changed[second] = fr_from_ints([known[second] + d])[0]
        if holds(system, changed):
            passing.append((system.wire_names[first], system.wire_names[second]))
        n -= 1
    return passing


def open_wires(system: R1CS | SquareR1CS, z: NDArray[np.uint64], free: Callable[[str], bool]) -> list[str]:
    """Private wires with more than one value, given the public inputs and those wires whose names are `free`.

    Goes row by row: where one wire of a row is open and the row is rigid in it, that wire has one value.  What is left over is open.
    """
    influence = Influence.of(system, z)
    is_open = np.array([not free(name) for name in system.wire_names])
    is_open[: 1 + len(system.public)] = False
    entries = np.nonzero(is_open[influence.wire])[0]  # ascending by wire
    row, wire, rigid = (column[entries] for column in (influence.row, influence.wire, influence.rigid))
    of_wire = np.searchsorted(wire, np.arange(system.n_wires + 1)).tolist()
    n_open = np.bincount(row, minlength=system.n_rows)
    entry_sum = np.zeros(system.n_rows, np.int64)  # where one wire is open, its entry
    np.add.at(entry_sum, row, np.arange(len(entries)))
    rows, wires, rigids, counts, sums = (x.tolist() for x in (row, wire, rigid, n_open, entry_sum))
    pending = list(range(system.n_rows))
    while pending:
        at = pending.pop()
        if counts[at] == 1 and rigids[sums[at]]:
            known = wires[sums[at]]
            is_open[known] = False
            for entry in range(of_wire[known], of_wire[known + 1]):
                counts[rows[entry]] -= 1
                sums[rows[entry]] -= entry
                pending.append(rows[entry])
    return [system.wire_names[w] for w in np.nonzero(is_open)[0]]

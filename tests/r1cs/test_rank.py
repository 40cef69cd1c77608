"""Elimination of sparse rows against a plain one."""

import random

import numpy as np
import pytest

from bonsai_circuits.r1cs.rank import Echelon
from bonsai_circuits.r1cs.system import SparseRows
from bonsai_verifier.field import fr_to_ints
from bonsai_verifier.parameters import FR_MODULUS as R

Rows = list[dict[int, int]]


def plain_pivots(rows: Rows) -> set[int]:
    """The pivots of the rows, the last wire of each, by elimination on dictionaries."""
    kept: dict[int, dict[int, int]] = {}
    for row in rows:
        row = dict(row)
        while row and (top := max(row)) in kept:
            factor = row[top]
            for wire, value in kept[top].items():
                row[wire] = (row.get(wire, 0) - factor * value) % R
            row = {wire: value for wire, value in row.items() if value}
        if row:
            inverse = pow(row[max(row)], -1, R)
            kept[max(row)] = {wire: value * inverse % R for wire, value in row.items()}
    return set(kept)


def random_rows(rng: random.Random, n_rows: int, n_wires: int) -> Rows:
    """Sparse rows, some of them combinations of others."""
    rows: Rows = []
    for _ in range(n_rows):
        if len(rows) > 1 and rng.random() < 0.3:
            x, y, k = rng.choice(rows), rng.choice(rows), rng.randrange(1, R)
            row = {w: v for w in x.keys() | y.keys() if (v := (x.get(w, 0) + k * y.get(w, 0)) % R)}
        else:
            row = {rng.randrange(n_wires): rng.randrange(1, R) for _ in range(rng.randint(0, 4))}
        rows.append(row)
    return rows


def echelon(rows: Rows, n_wires: int) -> Echelon:
    found = Echelon(n_wires)
    found.add_matrix(SparseRows.from_rows(rows))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_pivots_and_kernel_are_those_of_a_plain_elimination(seed: int) -> None:
    rng = random.Random(seed)
    n_wires = rng.randint(1, 40)
    rows = random_rows(rng, rng.randint(1, 50), n_wires)
    found = echelon(rows, n_wires)
    pivots = plain_pivots(rows)
    assert found.rank == len(pivots)
    assert found.free().tolist() == [w for w in range(n_wires) if w not in pivots]
    for free in found.free():
        v = fr_to_ints(found.kernel_vector(int(free)))
        assert [v[w] for w in found.free()] == [int(w == free) for w in found.free()]
        assert all(sum(k * v[w] for w, k in row.items()) % R == 0 for row in rows)


def test_rows_can_be_added_bit_by_bit_and_the_pool_grows() -> None:
    rng = random.Random(1)
    n_wires = 500
    rows = [{w: rng.randrange(1, R) for w in rng.sample(range(n_wires), 300)} for _ in range(400)]
    whole, parts = echelon(rows, n_wires), Echelon(n_wires)
    for i in range(0, len(rows), 100):
        parts.add_matrix(SparseRows.from_rows(rows[i : i + 100]))
    assert whole.rank == parts.rank == 400
    free = int(whole.free()[0])
    assert np.array_equal(whole.kernel_vector(free), parts.kernel_vector(free))


def test_no_rows_leave_every_wire_free() -> None:
    assert echelon([], 3).free().tolist() == [0, 1, 2]
    assert echelon([{}], 3).rank == 0

"""Products of sparse rows, on both bodies, against sums of integers."""

import numpy as np
import pytest

from bonsai_circuits.kernels import sparse
from bonsai_circuits.keys.domain import Domain
from bonsai_circuits.prover.polynomial import _body
from bonsai_circuits.r1cs.system import SparseRows
from bonsai_verifier.field import fr_from_ints, fr_to_ints
from bonsai_verifier.kernels import cpu
from bonsai_verifier.parameters import FR_MODULUS

R = FR_MODULUS
SHORT = [1, 2, 0, 3, 1, 1, 4, 9, 0, 0, 0, 0, 0, 0, 0, 0]  # rows that have a lane each, and eight empty ones


def matrix(rows: list[dict[int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    m = SparseRows.from_rows(rows)
    return m.start, m.wire, m.coeff


def satisfied(lengths: list[int], seed: int) -> tuple[list[dict[int, int]], list[dict[int, int]], list[int], list[int]]:
    """A of rows that long, B of one entry, z, and the values of A."""
    rng = np.random.default_rng(seed)
    n = len(lengths)
    z = [1, *(int.from_bytes(rng.bytes(40), "little") % R for _ in range(max(lengths)))]
    z[1::5] = [R - 1] * len(z[1::5])
    a = []
    for i, length in enumerate(lengths):
        coefficients = [1, R - 1, int.from_bytes(rng.bytes(40), "little") % R]
        a.append({j: coefficients[(i + j) % 3] for j in range(len(z) - length, len(z))})
    values = [sum(c * z[j] for j, c in row.items()) % R for row in a]
    b = [{n_z: 1} for n_z in range(len(z), len(z) + n)]
    return a, b, z + [v * v % R for v in values], values


@pytest.mark.usefixtures("body")
@pytest.mark.parametrize(
    ("n", "lengths"),
    [(24, [1, 2, 7, 8, 9, 16, 17, 0, 3, 40, 64]), (8, [5] * 8), (16, SHORT), (11, [600, 1]), (8, [3000])],
)
def test_rows_are_the_products_and_failing_ones_are_found(n: int, lengths: list[int]) -> None:
    domain = Domain(n)
    a, b, z, values = satisfied(lengths, n)
    transforms, square_rows = domain.transforms, _body("sparse", domain.transforms).square_rows
    a_values, b_values = np.empty((2, *transforms.shape), np.uint64)
    assert square_rows(transforms, a_values, b_values, matrix(a), matrix(b), fr_from_ints(z), slice(0, n)) == -1
    beyond = [0] * (n - len(values))
    assert fr_to_ints(transforms.write_values(a_values)) == values + beyond
    assert fr_to_ints(transforms.write_values(b_values)) == [v * v % R for v in values] + beyond
    first = len(z) - len(lengths)
    for i in range(len(lengths)):
        wrong = [*z[: first + i], *((x + 1) % R for x in z[first + i :])]
        assert square_rows(transforms, a_values, b_values, matrix(a), matrix(b), fr_from_ints(wrong), slice(0, n)) == i


def test_rows_too_long_for_lanes_take_the_other_body(vector: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from bonsai_circuits.kernels import sparse_lanes

    a, b, z, values = satisfied([3, 30, 2], 1)
    monkeypatch.setattr(sparse_lanes, "MAX_ENTRIES", 29)
    with cpu.use("vector"):
        transforms = Domain(8).transforms
        a_values, b_values = np.empty((2, *transforms.shape), np.uint64)
        arguments = transforms, a_values, b_values, matrix(a), matrix(b), fr_from_ints(z)
        assert sparse_lanes.square_rows(*arguments, slice(0, 8)) == -1
        assert fr_to_ints(transforms.write_values(a_values)) == [*values, *[0] * 5]
        assert sparse_lanes.broken_row(matrix(a), matrix(a), matrix(b), fr_from_ints(z)) == -1


@pytest.mark.usefixtures("body")
@pytest.mark.parametrize("lengths", [[3], SHORT, [*SHORT, 2], [5] * 8, [1, 600, 8, 7, 64, 1, 1, 1, 9]])
def test_the_first_broken_row_is_found(lengths: list[int]) -> None:
    a, squares, z, values = satisfied(lengths, len(lengths))
    b = [{0: 2} if i % 2 else row for i, row in enumerate(a)]  # rows with another factor, and squares
    c = [dict(row) for row in squares]
    for i, value in enumerate(values):
        if i % 2:
            (wire,) = squares[i]
            z[wire] = 2 * value % R
    systems = [matrix(rows) for rows in (a, b, c)]
    assert broken_row(*systems, fr_from_ints(z)) == -1
    first = len(z) - len(lengths)
    for i in range(len(lengths)):
        wrong = [*z[: first + i], *((x + 1) % R for x in z[first + i :])]
        assert broken_row(*systems, fr_from_ints(wrong)) == i


def broken_row(*arguments: object) -> int:
    """Of the body that runs."""
    from bonsai_circuits.kernels import sparse_lanes

    found: int = (sparse_lanes if cpu.vector() else sparse).broken_row(*arguments)
    return found

"""The inner product of a one-hot vector with the children of a Poseidon node, from squares that the node needs anyway."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from bonsai_verifier.parameters import FR_MODULUS as R

from ..dsl.builder import Builder
from ..dsl.wires import Bit, Num, linear
from .poseidon import KnownSquare


def one_hot_inner_product(
    c: Builder, one_hot: Sequence[Bit], children: Sequence[Num], out: Num, known: Sequence[KnownSquare]
) -> None:
    """sum_j s_j y_j = out, for one-hot s and n children.  Cost: n - 1 rows; for Square R1CS.

    `known` are the n + 1 squares x_i^2, x_i = k_i + sum_j m_ij y_j, of the node's round 1.  Algebra, z_j = y_j - y_(n-1):

      sum_i d_i (x_i - k_i)^2 = sum_p w_p P_p^2,    P_p = z_p + sum_(q > p) l_pq z_q                        (`_diagonal`)

    where the left side is linear in wires that stand, D = sum_i d_i (x_i^2 - 2 k_i x_i + k_i^2).  With sigma such that
    sum_p sigma_p P_p = sum_j s_j z_j, and t_p = sigma_p / (2 w_p), linear in s:

      sum_p w_p (P_p + t_p)^2 = D + (sum_j s_j y_j - y_(n-1)) + sum_p w_p t_p^2

    and t_p^2 is linear in s as well, since s is one-hot: (sum c_j s_j)^2 = sum c_j^2 s_j.  The rows are the n - 1 squares on the left, the
    last with the equation solved for it and `out` in the place of the inner product.
    Sound because all of this are identities for one-hot s and true squares: the last row holds if and only if the inner product is `out`.
    """
    diagonal = _diagonal(tuple(square.weights for square in known))
    n = len(children)
    differences = [y - children[-1] for y in children[:-1]]
    standing = linear(
        c,
        [factor for d, square in zip(diagonal.factors, known, strict=True) for factor in (d, -2 * square.constant * d)],
        [num for square in known for num in (square.square, square.x)],
        sum(d * square.constant**2 for d, square in zip(diagonal.factors, known, strict=True)) % R,
    )
    right = standing + out - children[-1]
    forms: list[Num] = []
    for weight, form, sigma in zip(diagonal.weights, diagonal.forms, diagonal.sigmas, strict=True):
        half = pow(2 * weight, -1, R)
        t = [x * half % R for x in sigma]
        forms.append(linear(c, form, differences) + linear(c, t, one_hot[: n - 1]))
        right = right + linear(c, [weight * x * x for x in t], one_hot[: n - 1])
    for weight, shifted in zip(diagonal.weights[:-1], forms[:-1], strict=True):
        right = right - c.square(shifted, "shifted square") * weight
    c.must_be_square(forms[-1], right * pow(diagonal.weights[-1], -1, R), "the selected child")


@dataclass(frozen=True, slots=True)
class _Diagonal:
    """factors d_i; then for each p: w_p, the coefficients of P_p over z, and those of sigma_p over s."""

    factors: tuple[int, ...]
    weights: tuple[int, ...]
    forms: tuple[tuple[int, ...], ...]
    sigmas: tuple[tuple[int, ...], ...]


@cache
def _diagonal(matrix: tuple[tuple[int, ...], ...]) -> _Diagonal:
    """Factors d with sum_i d_i m_i m_i^T (1, ..., 1) = 0, and the completed squares of that form in the differences z.

    d_i = e_i / u_i, u_i the sum of row i, e in the left kernel of the (n + 1) x n matrix.
    """
    n = len(matrix[0])
    kernel = _left_kernel(matrix)
    d = [e * pow(sum(row), -1, R) % R for e, row in zip(kernel, matrix, strict=True)]
    m = n - 1
    s = [[sum(x * row[a] * row[b] for x, row in zip(d, matrix, strict=True)) % R for b in range(m)] for a in range(m)]
    weights, forms = [], []
    for j in range(m):
        w = s[j][j]
        inverse = pow(w, -1, R)
        form = [int(k == j) if k <= j else s[j][k] * inverse % R for k in range(m)]
        weights.append(w)
        forms.append(form)
        s = [[(s[a][b] - w * form[a] * form[b]) % R for b in range(m)] for a in range(m)]
    sigmas: list[list[int]] = []
    for k in range(m):
        sigma = [int(q == k) for q in range(m)]
        for j in range(k):
            sigma = [(x - forms[j][k] * y) % R for x, y in zip(sigma, sigmas[j], strict=True)]
        sigmas.append(sigma)
    return _Diagonal(tuple(d), tuple(weights), tuple(map(tuple, forms)), tuple(map(tuple, sigmas)))


def _left_kernel(matrix: tuple[tuple[int, ...], ...]) -> list[int]:
    """The e, up to a factor, with sum_i e_i m_ij = 0 for every column j of an (n + 1) x n matrix of rank n."""
    n_rows, n_columns = len(matrix), len(matrix[0])
    rows = [[matrix[i][j] for i in range(n_rows)] for j in range(n_columns)]
    for column in range(n_columns):
        pivot = next(i for i in range(column, n_columns) if rows[i][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        inverse = pow(rows[column][column], -1, R)
        rows[column] = [x * inverse % R for x in rows[column]]
        for i in range(n_columns):
            if i != column and (factor := rows[i][column]):
                rows[i] = [(x - factor * y) % R for x, y in zip(rows[i], rows[column], strict=True)]
    return [*(-rows[i][n_rows - 1] % R for i in range(n_columns)), 1]

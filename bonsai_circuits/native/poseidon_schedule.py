"""Poseidon's permutation as sums of few products: what kernels/poseidon.py runs, and the constants it runs on.

Partial rounds.  Write the state as (x, u), u of n = t - 1 elements, and M = [[m, w], [a, B]].  A partial round is

    s = x^5        x' = m s + w u + c        u' = a s + B u + c_u

The constants c_u can be pushed into later c, and with them gone x_(k+1) = sum_(j <= k) h_j s_(k-j) + w B^k u_0 + e_k, where h_0 = m and
h_j = w B^(j-1) a.  B satisfies its characteristic polynomial, B^n = p_1 B^(n-1) + ... + p_n, so from k = n on

    x_(k+1) = q_0 s_k + sum_(j=1)^n (p_j x_(k+1-j) + q_j s_(k-j)) + e'_k,        q_j = h_j - sum_(i=1)^j p_i h_(j-i):

u is never computed.  A sparse matrix, the usual form, takes as many products, 2 t - 1, but gives t results to reduce where this gives one.
For the first n rounds w B^k u_0 come out of the last matrix before them in place of u_0.  After the last, u_N is a sum over the last n
of x and of s, for the rows w B^j, j < n, are linearly independent.

Scale.  Instead of an element z of the state, b z is kept, which S-boxes turn into b^5 z^5; with every constant divided accordingly the
factor b is free, and is chosen so that one factor of each sum becomes 1.  In a partial round that is q_0.  At the door b undoes the
Montgomery form: an input a is read as the form of a / R, and the digest is made so.

Everything is thus a list of *rows*, of a constant k, factors f_j, and elements v_j that lie at equal distances in memory:
k + sum f_j v_j, plus one more element whose factor is 1.  `schedule` is the list, in the order of kernels/poseidon.py.
"""

from collections.abc import Sequence

from ..errors import InputError
from ..kernels.poseidon import LEAST_FACTORS
from .poseidon_instance import PoseidonParameters

Matrix = list[list[int]]
Vector = list[int]


class _Field:
    """Vectors and matrices modulo r."""

    def __init__(self, r: int) -> None:
        self.r = r

    def dot(self, x: Sequence[int], y: Sequence[int]) -> int:
        return sum(a * b for a, b in zip(x, y, strict=True)) % self.r

    def times(self, row: Sequence[int], matrix: Matrix) -> Vector:
        """row matrix."""
        return [self.dot(row, column) for column in zip(*matrix, strict=True)]

    def apply(self, matrix: Matrix, x: Sequence[int]) -> Vector:
        return [self.dot(row, x) for row in matrix]

    def solve(self, matrix: Matrix, right: Matrix) -> Matrix:
        """matrix^-1 right.  The matrix is invertible."""
        n, r = len(matrix), self.r
        rows = [[*a, *b] for a, b in zip(matrix, right, strict=True)]
        for i in range(n):
            pivot = next(j for j in range(i, n) if rows[j][i])
            rows[i], rows[pivot] = rows[pivot], rows[i]
            inverse = pow(rows[i][i], -1, r)
            rows[i] = [x * inverse % r for x in rows[i]]
            for j in range(n):
                if j != i and (factor := rows[j][i]):
                    rows[j] = [(x - factor * y) % r for x, y in zip(rows[j], rows[i], strict=True)]
        return [row[n:] for row in rows]


class _Partial:
    """The partial rounds of one instance; letters as on top of this file."""

    def __init__(self, p: PoseidonParameters, f: _Field) -> None:
        r, n = f.r, p.t - 1
        self.m, self.w = p.mds[0][0], list(p.mds[0][1:])
        self.a = [row[0] for row in p.mds[1:]]
        self.b = [list(row[1:]) for row in p.mds[1:]]
        self.observed = [self.w]  # w B^j, j < n
        self.moved = [self.a]  # B^j a, j < n
        while len(self.observed) < n:
            self.observed.append(f.times(self.observed[-1], self.b))
            self.moved.append(f.apply(self.b, self.moved[-1]))
        self.h = [self.m, *(f.dot(self.w, v) for v in self.moved)]
        # w B^n = sum_j p_j w B^(n-j), and the w B^j are a basis
        last = f.times(self.observed[-1], self.b)
        columns = [list(column) for column in zip(*self.observed, strict=True)]
        self.p = [x for (x,) in f.solve(columns, [[x] for x in last])][::-1]
        self.q = [(self.h[j] - f.dot(self.p[:j], self.h[:j][::-1])) % r for j in range(n + 1)]
        first = p.r_f // 2
        self.e, pushed = [], [0] * n
        for k in range(p.r_p):
            c, *c_u = p.round_constants[first + k + 1]
            self.e.append((f.dot(self.w, pushed) + c) % r)
            pushed = [(x + y) % r for x, y in zip(f.apply(self.b, pushed), c_u, strict=True)]
        self.left = pushed  # what is left to add to u_N

    def end(self, f: _Field, n_rounds: int) -> tuple[Matrix, Vector]:
        """u_N = E (s_(N-n), x_(N-n+1), s_(N-n+1), ..., s_(N-1), x_N) + constant, as rows of E and the constant."""
        r, n = f.r, len(self.a)
        # w B^j u_(N-n) = x_(N-n+1+j) - e - sum_(i <= j) h_i s_(N-n+j-i)
        seen = [[0] * (2 * n) for _ in range(n)]
        offset = []
        for j in range(n):
            seen[j][2 * j + 1] = 1
            for i in range(j + 1):
                seen[j][2 * (j - i)] = -self.h[i] % r
            offset.append([-self.e[n_rounds - n + j] % r])
        u = f.solve(self.observed, [[*s, *o] for s, o in zip(seen, offset, strict=True)])
        for _ in range(n):
            u = [[f.dot(row, column) for column in zip(*u, strict=True)] for row in self.b]
        for j in range(n):
            for i, x in enumerate(self.moved[n - 1 - j]):
                u[i][2 * j] = (u[i][2 * j] + x) % r
        return [row[:-1] for row in u], [(row[-1] + x) % r for row, x in zip(u, self.left, strict=True)]


def schedule(p: PoseidonParameters, capacity: int, radix: int) -> tuple[int, ...]:
    """The constants of an instance for this first element of the state, for a body whose Montgomery form is x radix; integers in [0, r).

    First t - 1 plain integers, to add to the inputs; then the rows, each k, f_0, f_1, ..., of numbers whose Montgomery form is to be used.
    Raises InputError: an instance whose rounds are too few to leave u out.
    """
    r, n, half = p.modulus, p.t - 1, p.r_f // 2
    f = _Field(r)
    part = _Partial(p, f)
    if p.r_p <= n:
        raise InputError("arity", f"{p.r_p} partial rounds are too few for {n} inputs")
    rows: list[int] = []

    def inverse(x: int) -> int:
        assert x  # no factor that is chosen as 1 is 0
        return pow(x, -1, r)

    def matrix(m: Sequence[Sequence[int]], constants: Sequence[int], scales: Vector) -> Vector:
        """Rows whose last factor is 1, for inputs so scaled; the scales of the results."""
        out = []
        for row, constant in zip(m, constants, strict=True):
            divided = [x * inverse(scale) % r for x, scale in zip(row, scales, strict=True)]
            out.append(inverse(divided[-1]))
            rows.extend(x * out[-1] % r for x in (constant, *divided[:-1]))
        return out

    def fifths(scales: Vector) -> Vector:
        return [pow(x, 5, r) for x in scales]

    # The first round: an input a is a / radix, times radix; its S-box is that of a + c
    scales = fifths([inverse(radix % r)] * n)
    known = pow(capacity + p.round_constants[0][0], 5, r)
    at_once = [(row[0] * known + c) % r for row, c in zip(p.mds, p.round_constants[1], strict=True)]
    m: Sequence[Sequence[int]] = [row[1:] for row in p.mds]
    for i in range(1, half):
        scales = fifths(matrix(m, at_once if i == 1 else p.round_constants[i], scales))
        m = p.mds
    # Into the partial rounds: x_0, and w B^k u_0 + e_k for k < n
    _, *to_u = p.mds
    c, *c_u = p.round_constants[half]
    enter = [p.mds[0], *(f.times(row, [list(x) for x in to_u]) for row in part.observed)]
    constants = [c, *((f.dot(row, c_u) + e) % r for row, e in zip(part.observed, part.e[:n], strict=True))]
    alpha, *seen = matrix(enter, constants, scales)
    x_scales, s_scales = [alpha], [pow(alpha, 5, r)]
    for k in range(n):
        x_scales.append(seen[k])
        rows.extend([0, *(part.h[k - j] * seen[k] * inverse(s_scales[j]) % r for j in range(k + 1))])
        s_scales.append(pow(seen[k], 5, r))
    for k in range(n, p.r_p):
        scale = s_scales[k] * inverse(part.q[0]) % r
        constant = part.e[k] - sum(part.p[j] * part.e[k - 1 - j] for j in range(n))
        rows.append(constant * scale % r)
        rows.extend([0] * (LEAST_FACTORS - 2 * n))
        for j in range(n, 0, -1):  # s_(k-j), x_(k+1-j)
            rows.append(part.q[j] * scale * inverse(s_scales[k - j]) % r)
            rows.append(part.p[j - 1] * scale * inverse(x_scales[k + 1 - j]) % r)
        x_scales.append(scale)
        s_scales.append(pow(scale, 5, r))
    # Out of them
    end, constants = part.end(f, p.r_p)
    window = [scale for pair in zip(s_scales[-n - 1 : -1], x_scales[-n:], strict=True) for scale in pair]
    scales = fifths([x_scales[-1], *matrix(end, constants, window)])
    for i in range(half - 1):
        scales = fifths(matrix(p.mds, p.round_constants[half + p.r_p + 1 + i], scales))
    last = [x * inverse(scale * radix) % r for x, scale in zip(p.mds[p.output], scales, strict=True)]
    return *p.round_constants[0][1:], *rows, 0, *last

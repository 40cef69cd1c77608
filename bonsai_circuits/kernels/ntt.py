"""The discrete Fourier transform over Fr for lengths of small prime factors, in place, one radix after the other.  The portable body.

Let w be a primitive n-th root of unity, n = p q.  A stage of radix p takes n numbers x to p sequences of q numbers, k = 0 .. p - 1:

    y[k q + j] = w^(j k) sum_i x[j + q i] w^(q i k)                                                              j < q

and sequence k, transformed in turn, is X[k + p t] for t < q.  So after all stages X stands in an *order* of its own, digits reversed, in
which values are made, squared and read; the inverse runs the stages backwards, and its numbers come out in natural order.
Source: Gentleman, Sande, "Fast Fourier Transforms for Fun and Profit" (AFIPS 1966); the inverse is Cooley and Tukey's.

Multiplications.  A radix of 4 costs 4 for four numbers, as two stages of 2 would, but half the way through memory: -1 has no root for
free here.  An odd radix p takes pairs, with h = (p - 1)/2, c_ik = (w^ik + w^-ik)/2 and s_ik = (w^ik - w^-ik)/2 for a p-th root w:

    E_k = x_0 + sum_(i <= h) (x_i + x_(p-i)) c_ik      O_k = sum_(i <= h) (x_i - x_(p-i)) s_ik      X_k, X_(p-k) = E_k +- O_k

(p - 1)^2/2 products instead of (p - 1)^2, of which only the sums are reduced (a vector body adds products before it reduces): p - 1.
Twiddle factors w^jk are all 1 in the last stage, so the odd radices, which have the most of them a stage, come last.

Memory.  Stages of more than CHUNK_BYTES run through everything; what they leave is transformed to the end chunk by chunk, within a cache.
"""

from typing import NamedTuple

import numpy as np

from bonsai_verifier import field
from bonsai_verifier.kernels.cache import inner, kernel
from bonsai_verifier.kernels.fr import FR_BYTES, FR_WORDS, fr_add, fr_copy, fr_mul, fr_mul_many, fr_powers, fr_sub
from bonsai_verifier.kernels.intrinsics import formula
from bonsai_verifier.kernels.limbs import row, stack
from bonsai_verifier.parameters import FR_MODULUS

ODD_RADICES = (3, 11, 19)  # the primes of the odd parts of domains
CHUNK_BYTES = 512 << 10  # half of a level-2 cache of today


# Plans -----------------------------------------------------------------------------------------------------------------------


def radices(n):
    """Of the stages of length n, in order; their product is n.  Raises ValueError: another prime factor."""
    twos = (n & -n).bit_length() - 1
    odd = [p for p in ODD_RADICES if n % p == 0]
    out = [*[4] * (twos // 2), *[2] * (twos % 2), *odd]
    if n != np.prod(out, dtype=object):
        raise ValueError(f"{n} has a factor other than 2^k and once each of {ODD_RADICES}")
    return out


def order(n):
    """Of each position after the stages, which X stands there."""
    out = np.zeros(1, np.int64)
    for p in reversed(radices(n)):
        out = (np.arange(p)[:, None] + p * out[None, :]).reshape(-1)
    return out


class Plan(NamedTuple):
    """Of one direction: a row (radix, length n, first twiddle, first constant) a stage, and where rows of `table` are meant.

    Twiddles w^jk, k < p, of j = 0, 1, ...: p - 1 rows each.  Constants: w^q for radix 4, (c_ik, s_ik) of k = 1, i = 1, ... for odd ones.
    """

    stages: np.ndarray  # (number, 4) int64
    table: np.ndarray  # (size, 4) Montgomery


def plan(powers, sign):
    """In: powers (n, 4), the w^i, i < n; sign 1, or -1 for the inverse transform."""
    n = len(powers)
    stages, parts, first = [], [], 0
    half = field.fr_from_ints([pow(2, -1, FR_MODULUS)])
    length = n
    for p in radices(n):
        q = length // p
        j, k = np.arange(q)[:, None], np.arange(1, p)[None, :]
        twiddles = powers[sign * (n // length) * j * k % n].reshape(-1, FR_WORDS)
        if p == 2:
            constants = powers[:0]
        elif p == 4:
            constants = powers[[sign * (n // 4) % n]]
        else:
            i = np.arange(1, p // 2 + 1)
            roots = (i[:, None] * i[None, :]).reshape(-1) * sign * (n // p)
            one, other = (field.fr_mul(powers[s * roots % n], half) for s in (1, -1))
            constants = np.stack([field.fr_add(one, other), field.fr_sub(one, other)], axis=1).reshape(-1, FR_WORDS)
        stages.append((p, length, first, first + len(twiddles)))
        parts += [twiddles, constants]
        first += len(twiddles) + len(constants)
        length = q
    table = np.concatenate(parts) if parts else powers[:0]
    return Plan(np.array(stages, np.int64).reshape(-1, 4), np.ascontiguousarray(table))


def outer_stages(stages, element_bytes):
    """How many stages are too long for the cache."""
    return int((stages[:, 1] * element_bytes > CHUNK_BYTES).sum())


def powers(base, n, first=1):
    """first, first base, ..., n of them: (n, 4) Montgomery."""
    out = np.empty((n, FR_WORDS), np.uint64)
    fr_powers(out, field.fr_from_ints([base]), field.fr_from_ints([first]))
    return out


# Stages ----------------------------------------------------------------------------------------------------------------------


@formula
def _dif_2(x0, x1, w):
    t = stack(4)
    fr_sub(t, x0, x1)
    fr_add(x0, x0, x1)
    fr_mul(x1, t, w)


@formula
def _dit_2(x0, x1, w):
    t = stack(4)
    fr_mul(t, x1, w)
    fr_sub(x1, x0, t)
    fr_add(x0, x0, t)


@formula
def _cross(x0, x1, x2, x3, i4):
    """The transform of four numbers, in place; i4 = w_4."""
    t, u = stack(4), stack(4)
    fr_sub(t, x0, x2)
    fr_add(x0, x0, x2)
    fr_sub(u, x1, x3)
    fr_mul(u, u, i4)
    fr_add(x1, x1, x3)
    fr_sub(x2, x0, x1)
    fr_add(x0, x0, x1)
    fr_add(x1, t, u)
    fr_sub(x3, t, u)


@formula
def _dif_4(x0, x1, x2, x3, w, i4):
    _cross(x0, x1, x2, x3, i4)
    fr_mul(x1, x1, w)
    fr_mul(x2, x2, w + 32)
    fr_mul(x3, x3, w + 64)


@formula
def _dit_4(x0, x1, x2, x3, w, i4):
    fr_mul(x1, x1, w)
    fr_mul(x2, x2, w + 32)
    fr_mul(x3, x3, w + 64)
    _cross(x0, x1, x2, x3, i4)


@inner
def _odd(x, step, p, constants):
    """The transform of p <= 19 numbers `step` bytes apart, in place."""
    h = p // 2
    sums, differences, first = stack(36), stack(36), stack(4)
    even, odd, t = stack(4), stack(4), stack(4)
    fr_copy(first, x)
    for i in range(h):
        a, b = x + step * (i + 1), x + step * (p - 1 - i)
        fr_add(sums + FR_BYTES * i, a, b)
        fr_sub(differences + FR_BYTES * i, a, b)
        fr_add(x, x, sums + FR_BYTES * i)
    for k in range(h):
        fr_copy(even, first)
        for i in range(h):
            c = constants + 2 * FR_BYTES * (h * k + i)
            fr_mul(t, sums + FR_BYTES * i, c)
            fr_add(even, even, t)
            if i == 0:
                fr_mul(odd, differences, c + FR_BYTES)
            else:
                fr_mul(t, differences + FR_BYTES * i, c + FR_BYTES)
                fr_add(odd, odd, t)
        fr_add(x + step * (k + 1), even, odd)
        fr_sub(x + step * (p - 1 - k), even, odd)


@inner
def _twist(x, step, p, w):
    """Numbers 1 .. p - 1 times their twiddle factors."""
    for k in range(1, p):
        fr_mul(x + step * k, x + step * k, w + FR_BYTES * (k - 1))


@inner
def _forward(x, p, n, twiddles, constants):
    """One stage on the n numbers from x on."""
    q = n // p
    step = FR_BYTES * q
    for j in range(q):
        a, w = x + FR_BYTES * j, twiddles + FR_BYTES * (p - 1) * j
        if p == 4 and q > 1:
            _dif_4(a, a + step, a + 2 * step, a + 3 * step, w, constants)
        elif p == 4:
            _cross(a, a + step, a + 2 * step, a + 3 * step, constants)
        elif p == 2:
            _dif_2(a, a + step, w)
        else:
            _odd(a, step, p, constants)
            if q > 1:
                _twist(a, step, p, w)


@inner
def _backward(x, p, n, twiddles, constants):
    q = n // p
    step = FR_BYTES * q
    for j in range(q):
        a, w = x + FR_BYTES * j, twiddles + FR_BYTES * (p - 1) * j
        if p == 4 and q > 1:
            _dit_4(a, a + step, a + 2 * step, a + 3 * step, w, constants)
        elif p == 4:
            _cross(a, a + step, a + 2 * step, a + 3 * step, constants)
        elif p == 2:
            _dit_2(a, a + step, w)
        else:
            if q > 1:
                _twist(a, step, p, w)
            _odd(a, step, p, constants)


@kernel
def ntt_forward(x, stages, table, outer):
    """All stages, in place.  In: x (n, 4) Montgomery, of a plan with sign 1; the number of its outer stages."""
    n, chunk = len(x), len(x)
    for s in range(outer):
        p, length = stages[s, 0], stages[s, 1]
        for start in range(0, n, length):
            _forward(row(x, start), p, length, row(table, stages[s, 2]), row(table, stages[s, 3]))
        chunk = length // p
    for first in range(0, n, chunk):
        for s in range(outer, len(stages)):
            p, length = stages[s, 0], stages[s, 1]
            for start in range(first, first + chunk, length):
                _forward(row(x, start), p, length, row(table, stages[s, 2]), row(table, stages[s, 3]))


@kernel
def ntt_backward(x, stages, table, outer):
    """All stages of a plan with sign -1 backwards, in place: n times the inverse of `ntt_forward`."""
    n, chunk = len(x), len(x)
    if outer:
        chunk = stages[outer - 1, 1] // stages[outer - 1, 0]
    for first in range(0, n, chunk):
        for s in range(len(stages) - 1, outer - 1, -1):
            p, length = stages[s, 0], stages[s, 1]
            for start in range(first, first + chunk, length):
                _backward(row(x, start), p, length, row(table, stages[s, 2]), row(table, stages[s, 3]))
    for s in range(outer - 1, -1, -1):
        p, length = stages[s, 0], stages[s, 1]
        for start in range(0, n, length):
            _backward(row(x, start), p, length, row(table, stages[s, 2]), row(table, stages[s, 3]))


@kernel
def ntt_less_few(out, x, few, inverses):
    """out_i = x_i - sum_j few_j w^(-i j): Horner.  In: x (n, 4), few (m, 4), m >= 1, inverses (n, 4), the w^-i."""
    acc = stack(4)
    m = len(few)
    for i in range(len(x)):
        fr_copy(acc, row(few, m - 1))
        for j in range(m - 2, -1, -1):
            fr_mul(acc, acc, row(inverses, i))
            fr_add(acc, acc, row(few, j))
        fr_sub(row(out, i), row(x, i), acc)


# Transforms ------------------------------------------------------------------------------------------------------------------

FEW = 16  # values whose polynomial costs less by Horner than by a transform


class Transforms:
    """Between the coefficients of f, of degree below n, and its values on H = {w^i} or on the coset c H.  The portable body.

    Vectors are (n, 4) in Montgomery form: coefficients in natural order, values in the plan's.  Everything works in place, on vectors
    that belong to the caller.
    """

    in_lanes = False

    def __init__(self, n, root, shift):
        """In: root, a primitive n-th root of unity; shift, the c of the coset."""
        w = powers(root, n)
        self.size = n
        self.order = order(n)
        self.places = np.argsort(self.order)  # where each value stands
        self._forward, self._backward = plan(w, 1), plan(w, -1)
        self._outer = outer_stages(self._forward.stages, FR_BYTES)
        self._inverses = np.ascontiguousarray(w[-np.arange(n) % n])
        self._shifts = powers(shift, n)
        self._shifts_back = powers(pow(shift, -1, FR_MODULUS), n, pow(n, -1, FR_MODULUS))
        self._scale = field.fr_from_ints([pow(n, -1, FR_MODULUS)])

    @property
    def shape(self):
        """Of a vector of uint64."""
        return self.size, FR_WORDS

    def evaluate(self, x, coset=False):
        """Coefficients -> values."""
        if coset:
            fr_mul_many(x, x, self._shifts)
        ntt_forward(x, *self._forward, self._outer)

    def interpolate(self, x, coset=False):
        """Values -> coefficients."""
        ntt_backward(x, *self._backward, self._outer)
        fr_mul_many(x, x, self._shifts_back if coset else self._scale)

    def interpolate_twice(self, x, less, few):
        """Values -> coefficients of f; less: those of f - g, where g has the values few_j at w^j and 0 elsewhere.

        In: few (m, 4) Montgomery, 1 <= m <= n.
        """
        if len(few) > FEW:
            less[:] = x
            places = self.places[: len(few)]
            less[places] = field.fr_sub(less[places], few)
            self.interpolate(less)
            self.interpolate(x)
        else:
            self.interpolate(x)
            ntt_less_few(less, x, field.fr_mul(few, self._scale), self._inverses)

    def read_coefficients(self, words):
        """A vector of (n, 4) in natural order."""
        return np.array(words, order="C")

    def write_coefficients(self, x):
        return x.copy()

    def read_values(self, words):
        return np.ascontiguousarray(words[self.order])

    def write_values(self, x):
        return np.ascontiguousarray(x[self.places])

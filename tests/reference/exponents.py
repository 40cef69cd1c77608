"""Masked Pari decided exactly and without a pairing, from bytes: for points whose discrete logarithms are known.

Who knows the trapdoors and the logarithms t, u of T = [t], U = [u] checks  delta t = (tau - r) u + alpha v + v_p  over the integers
modulo r: the pairing equation in the exponents, without an error.  `Book` makes the points and remembers their logarithms.  Bytes that
encode no point of the book are decided by plain integers as far as that goes: flags, x < p, curve, subgroup.  That leaves points of G1
with unknown logarithm, which nobody finds by chance; for those `verify` raises.  Nothing here shares code with the verifier or py_ecc.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.reference.pari import COMPRESSED, INFINITY, LARGER, PROOF_BYTES, P, R, hash_to_scalar, lagrange_sum

Affine = tuple[int, int]
Jacobian = tuple[int, int, int]  # (X : Y : Z), x = X/Z^2, y = Y/Z^3; Z = 0 is infinity

GENERATOR: Affine = (
    0x17F1D3A73197D7942695638C4FA9AC0FC3688C4F9774B905A14E3A3F171BAC586C55E83FF97A1AEFFB3AF00ADB22C6BB,
    0x08B3F481E3AAA0F1A09E30ED741D8AE4FCF5E095D5D00AF600DB18CB2C04B3EDD03CC744A2888AE40CAA232946C5E7E1,
)
_INFINITE: Jacobian = (1, 1, 0)
_WINDOW = 8


# The curve y^2 = x^3 + 4, on integers -----------------------------------------------------------------------------------------


def double(a: Jacobian) -> Jacobian:
    """2 a."""
    x, y, z = a
    yy = y * y % P
    s = 4 * x * yy % P
    m = 3 * x * x % P
    x2 = (m * m - 2 * s) % P
    return x2, (m * (s - x2) - 8 * yy * yy) % P, 2 * y * z % P


def add_affine(a: Jacobian, b: Affine) -> Jacobian:
    """a + b."""
    x, y, z = a
    if z == 0:
        return b[0], b[1], 1
    zz = z * z % P
    h, n = (b[0] * zz - x) % P, (b[1] * zz * z - y) % P
    if h == 0:
        return double(a) if n == 0 else _INFINITE
    hh = h * h % P
    hhh, v = h * hh % P, x * hh % P
    x2 = (n * n - hhh - 2 * v) % P
    return x2, (n * (v - x2) - y * hhh) % P, z * h % P


def multiple(k: int, a: Affine) -> Jacobian:
    """k a, by doubling and adding."""
    out = _INFINITE
    for bit in f"{k:b}":
        out = double(out)
        if bit == "1":
            out = add_affine(out, a)
    return out


def affine(a: Jacobian) -> Affine:
    """(X/Z^2, Y/Z^3), for a finite a."""
    z = pow(a[2], -1, P)
    zz = z * z % P
    return a[0] * zz % P, a[1] * zz * z % P


def lift(x: int, larger: bool = False) -> Affine | None:
    """The point with this x and the larger or smaller y; None where there is none."""
    square = (x**3 + 4) % P
    y = pow(square, (P + 1) // 4, P)
    if y * y % P != square:
        return None
    return x, y if (y > P // 2) == larger else P - y


def encode(a: Affine) -> bytes:
    """48 bytes."""
    return (COMPRESSED | (LARGER if a[1] > P // 2 else 0) | a[0]).to_bytes(48, "big")


def decode(data: bytes) -> Affine | None:
    """48 bytes -> a point of the curve other than infinity; None for whatever else."""
    head = int.from_bytes(data, "big")
    x = head % LARGER
    if len(data) != 48 or not head & COMPRESSED or head & INFINITY or x >= P:
        return None
    return lift(x, bool(head & LARGER))


# Points with known logarithms -------------------------------------------------------------------------------------------------


class Book:
    """Multiples of the generator, and whose they are."""

    def __init__(self) -> None:
        self._log: dict[bytes, int] = {}
        self._table: list[list[Affine]] = []  # row w, entry j - 1: j 2^(8 w) G
        step = GENERATOR
        for _ in range(0, R.bit_length(), _WINDOW):
            row = [step]
            for _ in range((1 << _WINDOW) - 2):
                row.append(affine(add_affine((*row[-1], 1), step)))
            self._table.append(row)
            step = affine(add_affine((*row[-1], 1), step))

    def point(self, k: int) -> bytes:
        """[k], for k other than 0 modulo r."""
        k %= R
        total = _INFINITE
        for w, row in enumerate(self._table):
            if digit := k >> (_WINDOW * w) & ((1 << _WINDOW) - 1):
                total = add_affine(total, row[digit - 1])
        x, y = affine(total)
        data = encode((x, y))
        self._log[data], self._log[encode((x, P - y))] = k, R - k
        return data

    def log(self, data: bytes) -> int | None:
        """The logarithm of a point of the book, or of its opposite."""
        return self._log.get(data)


# The verifier -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trapdoors:
    """A key from which everything about its proofs follows."""

    digest: bytes
    n: int
    n_public: int
    alpha: int
    tau: int
    delta: int

    def challenge(self, inputs: Sequence[int], t: bytes, context: bytes) -> int:
        return hash_to_scalar(self.digest, context, inputs, t)

    def residue(self, inputs: Sequence[int], r: int, t: int, u: int, v: int) -> int:
        """delta t - (tau - r) u - alpha v - v_p: 0 if and only if the equation holds."""
        v_p = (v + lagrange_sum([1, *inputs], self.n, r)) ** 2
        return (self.delta * t - (self.tau - r) * u - self.alpha * v - v_p) % R

    def true_u(self, inputs: Sequence[int], r: int, t: int, v: int) -> int:
        """The one u that makes (t, u, v) true."""
        return self.residue(inputs, r, t, 0, v) * pow(self.tau - r, -1, R) % R


def verify(book: Book, key: Trapdoors, inputs: Sequence[int], proof: bytes, context: bytes) -> bool | None:
    """True, False, or None for malformed.  Raises LookupError: a point of G1 with unknown logarithm."""
    if len(inputs) != key.n_public or any(not 0 <= x < R for x in inputs) or len(proof) != PROOF_BYTES:
        return None
    v = int.from_bytes(proof[96:], "little")
    logs = []
    for data in (proof[:48], proof[48:96]):
        log = book.log(data)
        if log is None:
            a = decode(data)
            if a is None or multiple(R, a)[2] != 0:
                return None
            raise LookupError("a point of G1 that the book does not know")
        logs.append(log)
    if v >= R:
        return None
    r = key.challenge(inputs, proof[:48], context)
    return pow(r, key.n, R) != 1 and key.residue(inputs, r, *logs, v) == 0

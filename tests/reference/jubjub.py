"""Jubjub as section 5.4.9.3 of the Zcash protocol specification writes it: an oracle, slow and plain.

Points are affine (u, v); sums are kept as fractions (U : V : Z) so that one inversion a scalar is enough.
"""

from functools import cache
from hashlib import blake2s

Q = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
R_J = 6554484396890773809930967563523245729705921265872317281365359162392183254199
D = (-10240) * pow(10241, Q - 2, Q) % Q
URS = b"096b36a5804bfacef1691e173c366a47ff5ba84a44f26ddd7e8d9f79d5b42df0"

Point = tuple[int, int]
Fraction = tuple[int, int, int]
ZERO: Fraction = (0, 1, 1)


def plus(p: Fraction, q: Fraction) -> Fraction:
    """u = (u1 v2 + v1 u2) / (1 + d u1 u2 v1 v2), v = (v1 v2 + u1 u2) / (1 - d u1 u2 v1 v2), with u = U/Z and v = V/Z."""
    (u1, v1, z1), (u2, v2, z2) = p, q
    zz = z1 * z2 % Q
    square, product = zz * zz % Q, D * u1 * u2 % Q * v1 % Q * v2 % Q
    u, v = (u1 * v2 + v1 * u2) * zz, (v1 * v2 + u1 * u2) * zz
    return u * (square - product) % Q, v * (square + product) % Q, (square + product) * (square - product) % Q


@cache
def doubled(p: Point, n: int) -> Fraction:
    """[2^n] P, remembered: what is asked for are the same few generators again and again."""
    if n == 0:
        return (*p, 1)
    half = doubled(p, n - 1)
    return plus(half, half)


def times(n: int, p: Point) -> Fraction:
    """[n] P by doubling and adding; n may be negative."""
    if n < 0:
        return times(-n, (-p[0] % Q, p[1]))
    out = ZERO
    for i in range(n.bit_length()):
        if n >> i & 1:
            out = plus(out, doubled(p, i))
    return out


def affine(p: Fraction) -> Point:
    return p[0] * pow(p[2], Q - 2, Q) % Q, p[1] * pow(p[2], Q - 2, Q) % Q


def root(a: int) -> int | None:
    """A square root modulo q by Cipolla: (t + sqrt(t^2 - a))^((q + 1) / 2) in the field of q^2 elements."""
    a %= Q
    if pow(a, (Q - 1) // 2, Q) == Q - 1:
        return None
    t = 1
    while pow(t * t - a, (Q - 1) // 2, Q) != Q - 1:
        if t * t % Q == a:
            return t
        t += 1
    w = (t * t - a) % Q

    def product(x: Point, y: Point) -> Point:
        return (x[0] * y[0] + x[1] * y[1] % Q * w) % Q, (x[0] * y[1] + x[1] * y[0]) % Q

    out, power, n = (1, 0), (t, 1), (Q + 1) // 2
    while n:
        if n % 2:
            out = product(out, power)
        power = product(power, power)
        n //= 2
    return out[0]


def abst(data: bytes) -> Point | None:
    """The point of 32 bytes: v in the lower 255 bits, the parity of u above."""
    number = int.from_bytes(data, "little")
    v, u_parity = number % 2**255, number >> 255
    if v >= Q:
        return None
    u = root((1 - v * v) * pow(-1 - D * v * v, Q - 2, Q))
    if u is None or (u == 0 and u_parity == 1):
        return None
    return (u, v) if u % 2 == u_parity else ((Q - u) % Q, v)


def find_group_hash(personalisation: bytes, message: bytes) -> Point:
    for i in range(256):
        p = abst(blake2s(URS + message + bytes([i]), person=personalisation).digest())
        if p is not None and affine(times(8, p)) != (0, 1):
            return affine(times(8, p))
    raise AssertionError("no point")

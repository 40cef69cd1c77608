"""Jubjub: the curve -u^2 + v^2 = 1 + d u^2 v^2 over Fr of BLS12-381, and its Montgomery form y^2 = x^3 + 40962 x^2 + x.

Points are affine pairs (u, v) of integers in [0, r), the identity is (0, 1).  The group has order 8 r_J, r_J prime.

Sources: Zcash protocol specification, sections 5.4.9.3 "Jubjub", 5.4.9.5 "Group Hash into Jubjub", appendix A.2 "Montgomery form".
"""

from collections.abc import Iterable
from functools import cache
from hashlib import blake2s
from typing import TypeAlias

from bonsai_verifier.parameters import FR_MODULUS as R

from ..errors import InputError

Point: TypeAlias = tuple[int, int]

IDENTITY: Point = (0, 1)
D = -10240 * pow(10241, -1, R) % R
ORDER = 0x0E7DB4EA6533AFA906673B0101343B00A6682093CCC81082D0970E5ED6F72CB7  # r_J, of the prime subgroup
COFACTOR = 8
MONTGOMERY_A = 40962  # 2 (a + d) / (a - d) for a = -1
GROUP_HASH_URS = b"096b36a5804bfacef1691e173c366a47ff5ba84a44f26ddd7e8d9f79d5b42df0"  # Zcash's beacon, as 64 characters

_TWO_ADICITY = 32  # r - 1 = 2^32 odd
_ODD = (R - 1) >> _TWO_ADICITY
_ROOT_OF_UNITY = pow(7, _ODD, R)  # of order 2^32: 7 generates the multiplicative group


def square_root(a: int) -> int | None:
    """A root of x^2 = a, or None if there is none (Tonelli-Shanks)."""
    a %= R
    if a == 0:
        return 0
    root, left = pow(a, (_ODD + 1) // 2, R), pow(a, _ODD, R)  # root^2 = a left, left of order dividing 2^32
    step, order = _ROOT_OF_UNITY, _TWO_ADICITY
    while left != 1:
        i, power = 0, left
        while power != 1:
            i, power = i + 1, power * power % R
        if i == order:
            return None
        step, order = pow(step, 1 << (order - i - 1), R), i
        root, step = root * step % R, step * step % R
        left = left * step % R
    return root


MONTGOMERY_SCALE = square_root(-MONTGOMERY_A - 2) or 0  # sqrt(4 / (a - d)) = sqrt(-40964), with either sign


def negate(p: Point) -> Point:
    return -p[0] % R, p[1]


def add(p: Point, q: Point) -> Point:
    """P + Q, complete: d is not a square."""
    (a, b), (c, e) = p, q
    ae, bc = a * e % R, b * c % R
    k = D * ae % R * bc % R
    inverse = pow((1 + k) * (1 - k), -1, R)
    return (ae + bc) * (1 - k) % R * inverse % R, (b * e + a * c) * (1 + k) % R * inverse % R


def add_all(points: Iterable[Point]) -> Point:
    """The sum, with one inversion: extended coordinates u = U/Z, v = V/Z, T = U V / Z (Hisil et al., ePrint 2008/522, a = -1)."""
    total = (0, 1, 1, 0)
    for u, v in points:
        total = _add_mixed(total, u, v)
    return _affine(total)


def multiply(p: Point, n: int) -> Point:
    """[n] P."""
    if n < 0:
        return multiply(negate(p), -n)
    total = (0, 1, 1, 0)
    for bit in f"{n:b}":
        total = _double(total)
        if bit == "1":
            total = _add_mixed(total, *p)
    return _affine(total)


_Extended: TypeAlias = tuple[int, int, int, int]


def _add_mixed(p: _Extended, u: int, v: int) -> _Extended:
    x, y, z, t = p
    a, b = (y - x) * (v - u) % R, (y + x) * (v + u) % R
    c, e = t * (2 * D * u * v % R) % R, 2 * z
    f, g, h, i = b - a, e - c, e + c, b + a
    return f * g % R, h * i % R, g * h % R, f * i % R


def _double(p: _Extended) -> _Extended:
    x, y, z, _ = p
    a, b = x * x % R, y * y % R
    g, h = b - a, -a - b
    e, f = (x + y) * (x + y) + h, g - 2 * z * z
    return e * f % R, g * h % R, f * g % R, e * h % R


def _affine(p: _Extended) -> Point:
    inverse = pow(p[2], -1, R)
    return p[0] * inverse % R, p[1] * inverse % R


def is_on_curve(p: Point) -> bool:
    u2, v2 = p[0] * p[0] % R, p[1] * p[1] % R
    return (v2 - u2 - 1 - D * u2 * v2) % R == 0


def to_montgomery(p: Point) -> Point:
    """(x, y) = ((1 + v) / (1 - v), scale x / u), for a point with u != 0: every one of odd order but the identity.

    Raises InputError: u = 0.
    """
    u, v = p
    if u == 0:
        raise InputError("point", "has no affine Montgomery form; the identity and the point of order 2 are left out")
    inverse = pow((1 - v) * u, -1, R)
    x = (1 + v) * u * inverse % R
    return x, MONTGOMERY_SCALE * x * (1 - v) * inverse % R


def from_montgomery(q: Point) -> Point:
    """(u, v) = (scale x / y, (x - 1) / (x + 1)), for y != 0."""
    x, y = q
    return MONTGOMERY_SCALE * x * pow(y, -1, R) % R, (x - 1) * pow(x + 1, -1, R) % R


def decode(data: bytes) -> Point | None:
    """The point with these 32 bytes: v little-endian, the lowest bit of u on top; None if there is none."""
    number = int.from_bytes(data, "little")
    v, sign = number & ((1 << 255) - 1), number >> 255
    if v >= R:
        return None
    u = square_root((v * v - 1) * pow(1 + D * v * v, -1, R))
    if u is None or (u == 0 and sign):
        return None
    return (u if u & 1 == sign else R - u), v


@cache
def group_hash(personalisation: bytes, message: bytes) -> Point:
    """FindGroupHash: a generator of the prime subgroup whose relation to all others nobody knows.

    [8] decode(BLAKE2s-256(URS, message, i)) for the first byte i that gives a point which is not the identity.
    Raises InputError: a personalisation that is not 8 bytes long, or (never seen) no such i.
    """
    if len(personalisation) != 8:
        raise InputError("personalisation", f"{len(personalisation)} bytes; BLAKE2s takes 8")
    for i in range(256):
        found = decode(blake2s(GROUP_HASH_URS + message + bytes([i]), person=personalisation).digest())
        if found is not None and (point := multiply(found, COFACTOR)) != IDENTITY:
            return point
    raise InputError("message", "hashes to no point of the curve; take another one")

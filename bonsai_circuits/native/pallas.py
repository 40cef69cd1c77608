"""Pallas, y^2 = x^3 + 5: points, their 32 bytes, and the group hash of Orchard.

Points are affine pairs of integers in [0, p), or None for infinity.  The group's order q is a prime.

Sources: Zcash protocol specification, sections 5.4.9.6 "Pallas and Vesta" and 5.4.9.8 "Group Hash into Pallas and Vesta"; RFC 9380,
sections 5.2 and 5.3.1 (from bytes to field elements).
"""

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from typing import TypeAlias

import numpy as np

from bonsai_verifier.field import Words, ints_from_limbs, limbs_from_ints

from ..errors import InputError
from ..kernels import pallas as kernels

Point: TypeAlias = tuple[int, int]

P = kernels.PALLAS_MODULUS
ORDER = 0x40000000000000000000000000000000224698FC0994A8DD8C46EB2100000001  # q
ENCODED_BYTES = 32

_BLOCK, _ELEMENT = 128, 64  # bytes: a block of BLAKE2b; what one field element is reduced from, one digest
_WORDS = kernels.PALLAS_WORDS


def is_on_curve(p: Point) -> bool:
    x, y = p
    return (y * y - x * x * x - kernels.CURVE_B) % P == 0


def negate(p: Point | None) -> Point | None:
    return p and (p[0], -p[1] % P)


def add(p: Point | None, q: Point | None) -> Point | None:
    """P + Q, complete."""
    if p is None or q is None:
        return p or q
    (a, b), (c, d) = p, q
    if a != c:
        slope = (d - b) * pow(c - a, -1, P) % P
    elif b == d:
        slope = 3 * a * a * pow(2 * b, -1, P) % P
    else:
        return None
    x = (slope * slope - a - c) % P
    return x, (slope * (a - x) - b) % P


def multiply(p: Point | None, n: int) -> Point | None:
    """[n] P."""
    n %= ORDER
    if p is None or n == 0:
        return None
    x, y, z = p[0], p[1], 1  # Jacobian coordinates: (x / z^2, y / z^3), z = 0 for infinity
    for bit in f"{n:b}"[1:]:
        yy = y * y % P
        s, m = 4 * x * yy % P, 3 * x * x % P
        x, y, z = (m * m - 2 * s) % P, 0, 2 * y * z % P
        y = (m * (s - x) - 8 * yy * yy) % P
        if bit == "1":
            # n < q: the multiple so far is neither P nor -P nor infinity, as 1 < m < q - 1
            zz = z * z % P
            h, r = (p[0] * zz - x) % P, (p[1] * zz * z - y) % P
            hh = h * h % P
            v, hhh = x * hh % P, h * hh % P
            x, y, z = (r * r - hhh - 2 * v) % P, y * hhh, z * h % P
            y = (r * (v - x) - y) % P
    inverse = pow(z, -1, P)
    square = inverse * inverse % P
    return x * square % P, y * square * inverse % P


# Bytes -----------------------------------------------------------------------------------------------------------------------


def encode_point(p: Point | None) -> bytes:
    """repr_P: 32 bytes, x little-endian with the lowest bit of y on top; zeros for infinity."""
    if p is None:
        return bytes(ENCODED_BYTES)
    return (p[0] | (p[1] & 1) << 255).to_bytes(ENCODED_BYTES, "little")


def decode_point(data: bytes, name: str = "point") -> Point | None:
    """abst_P.  Raises InputError: another length, x not below p, no point over x; a sign without y."""
    if len(data) != ENCODED_BYTES:
        raise InputError(name, f"{len(data)} bytes; a point of Pallas has {ENCODED_BYTES}")
    number = int.from_bytes(data, "little")
    if number == 0:
        return None
    x, sign = number & (1 << 255) - 1, number >> 255
    if x >= P:
        raise InputError(name, "x is not below p")
    points, found = np.empty((1, kernels.POINT_WORDS), np.uint64), np.empty(1, np.bool_)
    kernels.lift_x_many(points, found, words_from_ints([x]))
    if not found[0]:
        raise InputError(name, "no point of the curve has this x")
    ((x, y),) = points_from_words(points)
    return x, y if y & 1 == sign else P - y


# Rows of words ---------------------------------------------------------------------------------------------------------------


def words_from_ints(values: Sequence[int]) -> Words:
    """Integers in [0, p) -> (n, 4) in Montgomery form."""
    out = np.empty((len(values), _WORDS), np.uint64)
    kernels.pallas_to_mont_many(out, limbs_from_ints(values, _WORDS))
    return out


def ints_from_words(a: Words) -> list[int]:
    """(n, 4) in Montgomery form -> integers in [0, p)."""
    out = np.empty_like(a)
    kernels.pallas_from_mont_many(out, a)
    return ints_from_limbs(out)


def words_from_points(points: Sequence[Point]) -> Words:
    """n points -> (n, 8), as kernels read them."""
    return words_from_ints([x for p in points for x in p]).reshape(-1, kernels.POINT_WORDS)


def points_from_words(a: Words) -> list[Point]:
    """(n, 8) -> n points."""
    values = ints_from_words(a.reshape(-1, _WORDS))
    return list(zip(values[::2], values[1::2], strict=True))


# The group hash --------------------------------------------------------------------------------------------------------------


@cache
def group_hash(domain: bytes, message: bytes) -> Point:
    """GroupHash^P(D, M): a point whose relation to all others nobody knows.  Raises InputError as `group_hash_many`."""
    return points_from_words(group_hash_many(domain, [message]))[0]


def group_hash_many(domain: bytes, messages: Sequence[bytes]) -> Words:
    """The group hashes of n messages, (n, 8) words.  Cost: 15 us each.

    Raises InputError: a domain whose suite does not fit a byte of length; a message that hashes to infinity (never seen).
    """
    elements = [u for message in messages for u in hash_to_field(domain, message)]
    out = np.empty((len(messages), kernels.POINT_WORDS), np.uint64)
    done = kernels.map_pairs_many(out, words_from_ints(elements))
    if done < len(messages):
        raise InputError(f"messages[{done}]", "hashes to infinity; take another one")
    return out


def hash_to_field(domain: bytes, message: bytes) -> tuple[int, int]:
    """Two elements of Fp: hash_to_field of RFC 9380 with expand_message_xmd over BLAKE2b-512 without personalisation."""
    suite = domain + b"-pallas_XMD:BLAKE2b_SSWU_RO_"
    if len(suite) > 255:
        raise InputError(
            "domain", f"{len(domain)} bytes; at most {255 - len(suite) + len(domain)} fit the suite's length"
        )
    tag = suite + bytes([len(suite)])
    first = blake2b(bytes(_BLOCK) + message + (2 * _ELEMENT).to_bytes(2, "big") + b"\0" + tag).digest()
    b_1 = blake2b(first + b"\x01" + tag).digest()
    b_2 = blake2b(bytes(x ^ y for x, y in zip(first, b_1, strict=True)) + b"\x02" + tag).digest()
    return int.from_bytes(b_1, "big") % P, int.from_bytes(b_2, "big") % P

"""Sapling's Pedersen hash as section 5.4.1.7 of the Zcash protocol specification writes it: one scalar a segment."""

from collections.abc import Sequence
from functools import cache

from .jubjub import ZERO, Fraction, Point, affine, find_group_hash, plus, times

C = 63


@cache
def i(segment: int) -> Point:
    return find_group_hash(b"Zcash_PH", segment.to_bytes(4, "little"))


@cache
def blinding_base() -> Point:
    return find_group_hash(b"Bonsai_R", b"")


def enc(m: Sequence[int]) -> int:
    """(1 - 2 s2) (1 + s0 + 2 s1)."""
    return (1 - 2 * m[2]) * (1 + m[0] + 2 * m[1])


def pedersen_hash_to_point(bits: Sequence[int]) -> Fraction:
    """sum over segments of [<M_i>] I(i), <M> = sum enc(m_j) 2^(4 j)."""
    m = list(bits)
    while len(m) % 3:
        m.append(0)
    chunks = [m[k : k + 3] for k in range(0, len(m), 3)]
    out = ZERO
    for s in range(0, len(chunks), C):
        scalar = sum(enc(chunk) * 2 ** (4 * j) for j, chunk in enumerate(chunks[s : s + C]))
        out = plus(out, times(scalar, i(s // C)))
    return out


def i2lebsp(n: int, x: int) -> list[int]:
    return [x >> k & 1 for k in range(n)]


def merkle_crh(tag: int, left: int, right: int) -> int:
    """MerkleCRH^Sapling with l = tag: a node of two children."""
    return affine(pedersen_hash_to_point(i2lebsp(6, tag) + i2lebsp(255, left) + i2lebsp(255, right)))[0]


def quaternary_crh(tag: int, children: Sequence[int]) -> int:
    """A node of four children: the tag, or six zeros, before each of them, and zeros up to two segments of 63 chunks behind."""
    message: list[int] = []
    for k, child in enumerate(children):
        message += i2lebsp(6, tag if k == 0 else 0) + i2lebsp(255, child) + [0] * (2 * 63 * 3 - 261)
    return affine(pedersen_hash_to_point(message))[0]


def commitment(tag: int, bits: Sequence[int], sigma: int) -> int:
    """u(PedersenHash(tag, m) + [sigma] R)."""
    return affine(plus(pedersen_hash_to_point(i2lebsp(6, tag) + list(bits)), times(sigma, blinding_base())))[0]


def com_acct(b: int, root: int, s: int) -> int:
    return commitment(61, i2lebsp(255, root) + i2lebsp(64, b), s)


def com_rec(v: int, sen: int, rec: int, t: int) -> int:
    return commitment(62, i2lebsp(255, sen) + i2lebsp(255, rec) + i2lebsp(64, v), t)

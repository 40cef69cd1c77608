"""G1 and G2 of BLS12-381: single points as values, many points as arrays, and the ZCash / IETF bytes of both.

Arrays: (n, 12) and (n, 24) uint64, affine, Montgomery form; infinity is the row of zeros (kernels/weierstrass.py).
Arrays of another shape or type raise TypeError or ValueError.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from .field import Octets, Words, fp_from_ints, fp_to_ints
from .kernels import encoding as _encoding
from .kernels import g1 as _g1
from .kernels import g2 as _g2
from .kernels import msm as _msm
from .kernels.cpu import vector
from .kernels.fp import FP_WORDS
from .kernels.g1 import G1_AFFINE_WORDS
from .kernels.g2 import G2_AFFINE_WORDS
from .kernels.limbs import rows
from .kernels.msm import G1Sum, Run
from .parameters import G1_BYTES, G1_GENERATOR, G2_BYTES, G2_GENERATOR

# What a status of the kernels means, said to whoever sent the bytes
POINT_ERRORS = {
    _encoding.POINT_INFINITY: "the point at infinity",
    _encoding.POINT_NOT_COMPRESSED: "the compression flag is unset; points travel compressed",
    _encoding.POINT_BAD_FLAGS: "the infinity flag is set beside other bits",
    _encoding.POINT_NOT_CANONICAL: "a coordinate is not below p",
    _encoding.POINT_NOT_ON_CURVE: "not on the curve",
    _encoding.POINT_NOT_IN_SUBGROUP: "on the curve, but outside the subgroup of order r",
}
# Proofs from which the bit planes of two sums (kernels/msm.py) tell sooner whether all points lie in G1 than a test of each
PLANES_FROM = 128
POINT_OK: int = _encoding.POINT_OK
POINT_NOT_IN_SUBGROUP: int = _encoding.POINT_NOT_IN_SUBGROUP


@dataclass(frozen=True, slots=True)
class G1:
    """An affine point (x, y) of G1; infinity is (0, 0), which is not on the curve.  Made by decode_g1 (wire.py): not checked here."""

    x: int
    y: int

    @classmethod
    def from_words(cls, row: Words) -> "G1":
        """(12,) words -> point."""
        x, y = fp_to_ints(row.reshape(-1, FP_WORDS))
        return cls(x, y)

    def to_words(self) -> Words:
        """Point -> (12,) words."""
        return fp_from_ints([self.x, self.y]).reshape(G1_AFFINE_WORDS)

    def __neg__(self) -> "G1":
        return G1.from_words(negate_g1(self.to_words()[None])[0])

    @property
    def is_infinity(self) -> bool:
        return self.x == self.y == 0


@dataclass(frozen=True, slots=True)
class G2:
    """An affine point (x, y) of G2, x = x[0] + x[1] u; infinity is ((0, 0), (0, 0)).  Made by decode_g2 (wire.py): not checked here."""

    x: tuple[int, int]
    y: tuple[int, int]

    @classmethod
    def from_words(cls, row: Words) -> "G2":
        """(24,) words -> point."""
        x0, x1, y0, y1 = fp_to_ints(row.reshape(-1, FP_WORDS))
        return cls((x0, x1), (y0, y1))

    def to_words(self) -> Words:
        """Point -> (24,) words."""
        return fp_from_ints([*self.x, *self.y]).reshape(G2_AFFINE_WORDS)

    def __neg__(self) -> "G2":
        out = np.empty((1, G2_AFFINE_WORDS), np.uint64)
        _g2.g2_neg_many(out, rows(self.to_words()[None], G2_AFFINE_WORDS))
        return G2.from_words(out[0])

    @property
    def is_infinity(self) -> bool:
        return self.x == self.y == (0, 0)


ONE_1 = G1(*G1_GENERATOR)
ONE_2 = G2(*G2_GENERATOR)


@cache
def one_words() -> tuple[Words, Words]:
    """[1]_1 as (12,) and [1]_2 as (24,) words, read-only."""
    words = ONE_1.to_words(), ONE_2.to_words()
    for w in words:
        w.flags.writeable = False
    return words


def decode_g1_many(data: Octets, subgroup: bool = True) -> tuple[Words, Octets]:
    """(n, 48) bytes -> (n, 12) points and (n,) status: POINT_OK for points of G1 other than infinity, or a key of POINT_ERRORS.

    Without `subgroup` POINT_OK says only that the point is on the curve: whoever asks so checks the rest.
    """
    points, status = np.empty((len(data), G1_AFFINE_WORDS), np.uint64), np.empty(len(data), np.uint8)
    _g1_body().g1_decode_many(points, rows(data, G1_BYTES, np.uint8), status)
    if subgroup:
        _g1_body().g1_check_subgroup_many(status, rows(points, G1_AFFINE_WORDS))
    return points, status


def in_g1_many(points: Words) -> NDArray[np.bool_]:
    """(n, 12) points on the curve -> (n,) whether [r]P is O; so it is for infinity."""
    status = np.full(len(points), POINT_OK, np.uint8)
    _g1_body().g1_check_subgroup_many(status, rows(points, G1_AFFINE_WORDS))
    member: NDArray[np.bool_] = status == POINT_OK
    return member


def _g1_body() -> ModuleType:
    """The kernels for many points that run here."""
    return _g1_bodies(vector())


@cache
def _g1_bodies(lanes: bool) -> ModuleType:
    if not lanes:
        return _g1
    from .kernels import g1_lanes

    return g1_lanes


def decode_g2_many(data: Octets) -> tuple[Words, Octets]:
    """(n, 96) bytes -> (n, 24) points and (n,) status, as decode_g1_many."""
    points, status = np.empty((len(data), G2_AFFINE_WORDS), np.uint64), np.empty(len(data), np.uint8)
    _g2.g2_decode_many(points, rows(data, G2_BYTES, np.uint8), status)
    _g2.g2_check_subgroup_many(status, rows(points, G2_AFFINE_WORDS))
    return points, status


def encode_g1_many(points: Words) -> Octets:
    """(n, 12) points -> (n, 48) bytes."""
    data = np.empty((len(points), G1_BYTES), np.uint8)
    _g1.g1_encode_many(data, rows(points, G1_AFFINE_WORDS))
    return data


def encode_g2_many(points: Words) -> Octets:
    """(n, 24) points -> (n, 96) bytes."""
    data = np.empty((len(points), G2_BYTES), np.uint8)
    _g2.g2_encode_many(data, rows(points, G2_AFFINE_WORDS))
    return data


def negate_g1(points: Words) -> Words:
    """-P_i."""
    out = np.empty_like(points := rows(points, G1_AFFINE_WORDS))
    _g1.g1_neg_many(out, points)
    return out


def g1_sum(points: Words, scalars: Words, *, in_g1: bool = False) -> Words:
    """sum k_i P_i as (12,).  In: points (n, 12), of G1 if in_g1; scalars (n, 4), plain integers, not Montgomery.  More: kernels/msm.py."""
    out: Words = _msm.g1_msm(points, scalars, in_g1=in_g1)
    return out


def g1_total(points: Sequence[Words]) -> Words:
    """The sum of some points, (12,) each, at least one."""
    out: Words = _msm.g1_total(points)
    return out


def g1_sums(
    points: Sequence[Words],
    scalars: Sequence[Words],
    sums: Sequence[tuple[int, int]],
    *,
    planes: bool = False,
    in_g1: bool = False,
    run: Run = map,
) -> list[G1Sum]:
    """The sums of scalars[s]_i points[p]_i for the pairs (p, s) of `sums`, in one go, and with `planes` their bit planes.

    If the scalars are random below 2^128 and the planes lie in G1 (in_g1_many), so does each point that they meet, but for
    probability 2^-128 a sum (docs/protocol.md, 11).  run(f, jobs) is map or that of threads.py.  More: kernels/msm.py.
    """
    return _msm.g1_sums(points, scalars, sums, planes=planes, in_g1=in_g1, run=run)

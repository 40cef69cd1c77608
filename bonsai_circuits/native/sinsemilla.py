"""Sinsemilla over Pallas: hashes and commitments of Orchard, and its tree's node hash, one at a time or thousands side by side.

A message is a sequence of bits, cut into words of ten, zeros filling up the last; the hash starts at a point Q of its domain and takes
Acc = (Acc + S[word]) + Acc for each word, S of 1,024 points.  Two evaluations give the same bytes (docs/hashes.md):

  literal     that recurrence
  weighted    messages of up to 52 words, a tree's node among them: additions of points from a table of 2^(51 - i) S[j], made at first use.
              Longer ones are evaluated literally.

Both fail where an addition of the recurrence is not defined, which nobody can bring about without a relation between the points of S and Q.
`checked=False` lets the weighted evaluation pass over such a case.

Sources: Zcash protocol specification, sections 5.4.1.9 "Sinsemilla Hash Function", 5.4.8.4 "Sinsemilla commitments" and 5.4.1.3
"MerkleCRH^Orchard Hash Function".
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.field import Octets, Words
from bonsai_verifier.kernels import cpu
from bonsai_verifier.kernels.limbs import rows
from bonsai_verifier.threads import is_count

from ..errors import InputError
from ..kernels import sinsemilla as kernels
from ..kernels.pallas import POINT_WORDS, pallas_canonical_many
from . import pallas
from .pallas import ORDER, P, Point, group_hash

Bits: TypeAlias = Sequence[int] | NDArray[Any]

WORD_BITS = kernels.WORD_BITS
MAX_BITS = 2530  # of a message: 253 words keep all sums of distinct weights below q
MERKLE_DOMAIN = b"z.cash:Orchard-MerkleCRH"
MERKLE_LEVELS = 2**WORD_BITS
NODE_BYTES = 32

_HASH_OF_Q, _HASH_OF_S = b"z.cash:SinsemillaQ", b"z.cash:SinsemillaS"
_CHUNK = kernels.BATCH
_NOT_BELOW_P = "not below p; reduce it modulo p first"
_to_bytes = int.to_bytes  # not a subclass's own: the kernel reads 64 bytes


# The table -------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Table:
    """The points 2^(52 - r) S[j], r = 0 .. 52: made once in a process, by `table()`."""

    rows: kernels.Rows = field(repr=False)
    n_bytes: int
    seconds: float  # to hash to S and to double


_making = threading.Lock()


def table() -> Table:
    """The table of the body that runs now, made at the first call.  Cost: `seconds`; 3.3 MiB, as much again for the vector body."""
    with _making:
        return _table(cpu.vector())


@cache
def generators() -> tuple[Point, ...]:
    """S: the group hashes of 0 .. 1023."""
    return tuple(pallas.points_from_words(_generator_words()))


@cache
def domain_point(domain: bytes) -> Point:
    """Q of a domain."""
    return group_hash(_HASH_OF_Q, domain)


@cache
def _generator_words() -> Words:
    return pallas.group_hash_many(_HASH_OF_S, [j.to_bytes(4, "little") for j in range(kernels.GENERATORS)])


@cache
def _table(vector: bool) -> Table:
    start = time.perf_counter()
    points = _neutral_table()
    packed = _body().packed(points)
    n_bytes = points.nbytes + (packed.nbytes if packed is not points else 0)
    return Table(kernels.Rows(points, packed), n_bytes, time.perf_counter() - start)


@cache
def _neutral_table() -> Words:
    points = np.empty((kernels.TABLE_ROWS * kernels.GENERATORS, POINT_WORDS), np.uint64)
    points[-kernels.GENERATORS :] = _generator_words()
    kernels.fill_table(points)
    return points


def _body() -> ModuleType:
    if cpu.vector():
        from ..kernels import sinsemilla_lanes

        return sinsemilla_lanes
    return kernels


def _rows(points: Words) -> kernels.Rows:
    return kernels.Rows(points, _body().packed(points))


@lru_cache(maxsize=256)
def _start(domain: bytes, n_words: int, vector: bool) -> kernels.Rows:
    """2^n Q."""
    point = pallas.multiply(domain_point(domain), pow(2, n_words, ORDER))
    assert point is not None  # the order is odd
    return _rows(pallas.words_from_points([point]))


@lru_cache(maxsize=64)
def _level(level: int, vector: bool) -> kernels.Rows:
    """2^52 Q + 2^51 S[level] + 2^50 S[j] for all j: where the hashes of a level start, by their next word.  128 KiB."""
    n = kernels.GENERATORS
    names = np.stack([np.zeros(n), np.full(n, n + level), 2 * n + np.arange(n)]).astype(np.int32)
    points, failed = np.empty((n, POINT_WORDS), np.uint64), np.empty(n, np.uint8)
    start = _start(MERKLE_DOMAIN, kernels.MAX_WORDS, vector)
    kernels.sums_together(points, failed, table().rows.points, start.points, names, True)
    assert not failed.any()  # a test goes through all levels
    return _rows(points)


# Hashes ----------------------------------------------------------------------------------------------------------------------


def hash_to_point(domain: bytes, bits: Bits, *, checked: bool = True, literal: bool = False) -> Point | None:
    """SinsemillaHashToPoint(D, M); None where an addition fails.

    Raises InputError: bits that are not 0 or 1, or more than 2,530 of them; a domain that is no bytes.
    """
    points, failed = hash_words(domain, _words(bits)[None], checked=checked, literal=literal)
    return None if failed[0] else pallas.points_from_words(points)[0]


def sinsemilla_hash(domain: bytes, bits: Bits, *, checked: bool = True, literal: bool = False) -> int | None:
    """SinsemillaHash(D, M): the point's x; None where an addition fails.  Raises InputError as `hash_to_point`."""
    point = hash_to_point(domain, bits, checked=checked, literal=literal)
    return point and point[0]


def commit(domain: bytes, bits: Bits, r: int, *, checked: bool = True) -> Point | None:
    """SinsemillaCommit_r(D, M) = SinsemillaHashToPoint(D || "-M", M) + [r] GroupHash(D || "-r", ""); None where an addition fails.

    The last addition is complete; infinity, which nobody can bring about either, is None as well.
    Raises InputError: r not in [0, q), a domain of more than 225 bytes, otherwise as `hash_to_point`.
    """
    _check_domain(domain)
    if not (is_count(r) and r < ORDER):
        raise InputError("r", "not an integer in [0, q); draw it uniformly below the order of Pallas")
    point = hash_to_point(domain + b"-M", bits, checked=checked)
    return point and pallas.add(point, pallas.multiply(group_hash(domain + b"-r", b""), r))


def short_commit(domain: bytes, bits: Bits, r: int, *, checked: bool = True) -> int | None:
    """SinsemillaShortCommit_r(D, M): the commitment's x.  Raises InputError as `commit`."""
    point = commit(domain, bits, r, checked=checked)
    return point and point[0]


def hash_words(
    domain: bytes, words: NDArray[np.uint16], *, checked: bool = True, literal: bool = False
) -> tuple[Words, NDArray[np.bool_]]:
    """Many messages of one length: words (n, k) uint16 -> points (n, 8), for `pallas.points_from_words`, and failed (n,).

    A point of a message that failed means nothing.
    Raises InputError: another shape or type, a word not below 1,024, more than 253 words; a domain that is no bytes.
    """
    _check_domain(domain)
    if not (_is_array(words, np.uint16) and words.ndim == 2):
        raise InputError("words", "an array (n, k) of uint16 is needed")
    n, k = words.shape
    if k * WORD_BITS > MAX_BITS:
        raise InputError("words", f"{k} a message; at most {MAX_BITS // WORD_BITS} are allowed")
    if n and k and words.max() >= kernels.GENERATORS:
        raise InputError("words", f"the largest is {words.max()}; words have ten bits")
    literal = literal or k > kernels.MAX_WORDS
    points, failed = np.empty((n, POINT_WORDS), np.uint64), np.empty(n, np.uint8)
    words, vector = rows(words, k, np.uint16), cpu.vector()
    starts = _start(domain, 0 if literal else k, vector)
    for at in range(0, n, _CHUNK):
        part = slice(at, min(n, at + _CHUNK))
        names = np.empty((k + 1, part.stop - at), np.int32)
        kernels.name_words(names, words[part], 0 if literal else kernels.TABLE_ROWS - k)
        if literal:
            kernels.literal(points[part], failed[part], _generator_words(), starts.points, names)
        else:
            _body().sums(points[part], failed[part], table().rows, starts, names, checked)
    return points, failed.astype(np.bool_)


def _check_domain(domain: bytes) -> None:
    if not isinstance(domain, bytes):
        raise InputError("domain", f"bytes are needed, not {type(domain).__name__}")


def _words(bits: Bits) -> NDArray[np.uint16]:
    """The words of a message, its first bit the lowest of the first."""
    try:
        array = np.asarray(bits)
    except ValueError:
        array = np.empty((0, 0))
    if array.size == 0 and array.ndim == 1:
        return np.zeros(0, np.uint16)
    if array.ndim != 1 or array.dtype.kind not in "bui" or not ((array == 0) | (array == 1)).all():
        raise InputError("bits", "a sequence of 0 and 1 is needed")
    if len(array) > MAX_BITS:
        raise InputError("bits", f"{len(array)} of them; at most {MAX_BITS} are allowed")
    padded = np.zeros(-(-len(array) // WORD_BITS) * WORD_BITS, np.uint16)
    padded[: len(array)] = array
    words: NDArray[np.uint16] = (padded.reshape(-1, WORD_BITS) << np.arange(WORD_BITS, dtype=np.uint16)).sum(
        1, dtype=np.uint16
    )
    return words


# Nodes of Orchard's tree -----------------------------------------------------------------------------------------------------


def merkle_hash(level: int, left: int, right: int, *, checked: bool = False, literal: bool = False) -> int:
    """MerkleCRH^Orchard of two nodes `level` levels above the leaves: the specification's layer 31 - level.  0 where an addition fails.

    Raises InputError: a level not in [0, 1024), a node not in [0, p).
    """
    try:
        data = bytearray(_to_bytes(left, NODE_BYTES, "little") + _to_bytes(right, NODE_BYTES, "little"))
    except (OverflowError, TypeError):
        raise InputError("node", "left and right are integers in [0, p)") from None
    if checked and not literal:
        for name, x in (("left", left), ("right", right)):
            if x >= P:
                raise InputError(name, _NOT_BELOW_P)
        children = np.frombuffer(data, np.uint8).reshape(1, 2, NODE_BYTES)
        return int.from_bytes(merkle_hash_many(level, children, checked=True).tobytes(), "little")
    try:
        hash_one, *read = _node(level, cpu.vector(), literal)
    except TypeError:  # a level that cannot be looked up
        _check_level(level)
        raise
    code = hash_one(*read, data)
    if code == kernels.VANISHED:
        return merkle_hash(level, left, right, checked=True)
    if code >= kernels.TOO_LARGE:
        raise InputError(("left", "right")[code - kernels.TOO_LARGE], _NOT_BELOW_P)
    return int.from_bytes(data, "little")


@lru_cache(maxsize=128, typed=True)  # 1.0 is no level
def _node(level: int, vector: bool, literal: bool) -> tuple[Any, ...]:
    """The kernel that hashes one node of a level, and what it reads."""
    _check_level(level)
    if literal:
        return kernels.literal_node, _generator_words(), _start(MERKLE_DOMAIN, 0, vector).points, level
    return _body().node, table().rows.packed, _level(level, vector).packed


def _check_level(level: int) -> None:
    if not (is_count(level) and level < MERKLE_LEVELS):
        raise InputError("level", f"not an integer in [0, {MERKLE_LEVELS})")


def merkle_hash_many(level: int, children: Octets, *, checked: bool = False, literal: bool = False) -> Octets:
    """As `merkle_hash`, for nodes as 32 bytes, little-endian: children (n, 2, 32) uint8 -> (n, 32) uint8.

    Raises InputError: another shape or type, a level not in [0, 1024), a node not below p, by its index.
    """
    _check_level(level)
    if not (_is_array(children, np.uint8) and children.shape[1:] == (2, NODE_BYTES)):
        raise InputError("children", "an array (n, 2, 32) of uint8 is needed")
    nodes = check_nodes(children.reshape(-1, NODE_BYTES), "children").reshape(-1, 8)
    n = len(nodes)
    out, vector = np.empty((n, 4), np.uint64), cpu.vector()
    for at in range(0, n, _CHUNK):
        part = nodes[at : at + _CHUNK]
        points, failed = np.empty((len(part), POINT_WORDS), np.uint64), np.empty(len(part), np.uint8)
        names = np.empty((kernels.MERKLE_WORDS, len(part)), np.int32)
        kernels.name_children(names, np.array(part.T, order="C"))
        if literal:
            whole = np.empty((len(names) + 2, len(part)), np.int32)
            whole[0], whole[1], whole[2:] = 0, level, names
            starts = _start(MERKLE_DOMAIN, 0, vector)
            kernels.literal(points, failed, _generator_words(), starts.points, whole)
        else:
            _body().sums(points, failed, table().rows, _level(int(level), vector), names, checked)
        kernels.abscissas(out[at : at + _CHUNK], points, failed)
    return out.view(np.uint8)


def check_nodes(nodes: Octets, name: str) -> Words:
    """(n, 32) bytes as (n, 4) words.  Raises InputError: another shape or type, a node not below p, by its index."""
    if not (_is_array(nodes, np.uint8) and nodes.shape[1:] == (NODE_BYTES,)):
        raise InputError(name, "an array (n, 32) of uint8 is needed")
    words: Words = rows(np.ascontiguousarray(nodes).view("<u8").astype(np.uint64, copy=False), NODE_BYTES // 8)
    canonical = np.empty(len(words), np.bool_)
    pallas_canonical_many(canonical, words)
    if not canonical.all():
        raise InputError(f"{name}[{int(np.argmin(canonical))}]", _NOT_BELOW_P)
    return words


def _is_array(a: object, dtype: Any) -> bool:
    return isinstance(a, np.ndarray) and a.dtype == dtype

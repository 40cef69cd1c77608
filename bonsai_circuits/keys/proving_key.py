"""The prover's key: the points of docs/protocol.md, in the order in which two sums run through them.

    T = sum over commit [(alpha a_j(tau) + b_j(tau)) / delta]   for every private wire j
             quotient   [tau^i Z(tau) / delta]                  i = 0 .. N + 2
             mask       [alpha tau^i Z(tau) / delta]            i = 0, 1
    U = sum over open_alpha [alpha tau^i]                       i = 0 .. N
             open_tau       [tau^i]                             i = 0 .. 2N + 1

The ranges are the degrees: A = a + (s0 + s1 X) Z has degree N + 1, so A^2 has 2N + 2 and (A^2 - b)/Z has N + 2; dividing by X - r
takes one off.

Beside the points stand multiples of them, 2^(sj) P (verifier/bonsai_verifier/kernels/fixed.py): sums with them take fewer additions
(docs/kernels.md).  How many: as the memory allows that is given for them when the key is made, and again, for fewer, when it is read.

A key's file is mapped, and only its head is read at once.  The digests of the points are checked when points are first taken, by the first
proof or check, which copies them into the form of the sums: what is not as written gives no proof.
"""

import os
from collections.abc import Iterator
from dataclasses import InitVar, dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.curve import POINT_ERRORS, POINT_OK, one_words
from bonsai_verifier.field import Words
from bonsai_verifier.kernels.encoding import POINT_INFINITY
from bonsai_verifier.kernels.fixed import ROW_BYTES, FixedPoints, Windows, choose_windows, is_windows, multiples
from bonsai_verifier.kernels.g1 import G1_AFFINE_WORDS, g1_check_many
from bonsai_verifier.wire import VerifyingKey, decode_verifying_key, encode_verifying_key

from ..artifacts.sections import Content, Sections, open_sections, write_sections
from ..errors import CircuitMismatch, FileDamaged, InputError, KeyRefused

KIND = "proving key"
N_MASKS = 2
Rows: TypeAlias = NDArray[Any]  # one for each point
T, U = 0, 1  # the sums of a proof
# Bytes for points and multiples where nothing else is said; but two rows a point are always allowed
MEMORY = 128 << 20
_LEAST_ROWS = 2
_POINTS = "t points", "u points"
_MULTIPLES = "t multiples", "u multiples"
_HEAD = "shape", "verifying key"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Multiples:
    """2^(sj) P for j = 1 .. M - 1: t (M - 1, points, 12), u likewise, in the windows that they are for."""

    windows: Windows
    t: Words
    u: Words


class _Loaded:
    """What a key keeps for its next proof; a copy or a pickle of the key begins anew."""

    __slots__ = ("lock", "points", "sections")

    def __init__(self) -> None:
        self.lock = Lock()
        self.sections: Sections | None = None
        self.points: FixedPoints | None = None

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return _Loaded, ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProvingKey:
    """The points of one circuit's key, affine and in Montgomery form, mapped when read from a file; and its verifying key.

    t_points (n_private + N + 5, 12) is commit | quotient | mask, u_points (3N + 3, 12) is open_alpha | open_tau.
    A wire that no row uses has the point at infinity in `commit`; infinity anywhere else is refused, here or, in a file, when points are
    taken.

    Raises InputError: another number of points.  KeyRefused: a point at infinity, a trivial trapdoor, points of another verifying key.
    """

    verifying_key: VerifyingKey
    n_private: int
    t_points: Words
    u_points: Words
    multiples: Multiples | None = None
    sections: InitVar[Sections | None] = None
    _loaded: _Loaded = field(default_factory=_Loaded, init=False)

    def __post_init__(self, sections: Sections | None) -> None:
        self._loaded.sections = sections
        shapes = _shapes(self.domain_size, self.n_private)
        for name, points, shape in zip(("t_points", "u_points"), (self.t_points, self.u_points), shapes, strict=True):
            if points.dtype != np.uint64 or points.shape != shape or not points.flags.c_contiguous:
                raise InputError(name, f"expected {shape} contiguous uint64, got {points.shape} {points.dtype}")
        if (more := self.multiples) is not None:
            for name, words, shape in zip(_MULTIPLES, (more.t, more.u), shapes, strict=True):
                wanted = more.windows.multiples - 1, *shape
                if words.dtype != np.uint64 or words.shape != wanted or not all(w.flags.c_contiguous for w in words):
                    raise InputError(name, f"expected {wanted} contiguous uint64, got {words.shape} {words.dtype}")
        if sections is None:
            self._refuse_infinity(*((points == 0).all(axis=1) for points in (self.t_points, self.u_points)))
        alpha, one, tau = self.open_alpha[0], self.open_tau[0], self.open_tau[1]
        if not np.array_equal(one, one_words()[0]):
            raise KeyRefused("open_tau[0]", "is not the generator of G1; make the key again")
        if not np.array_equal(alpha, self.verifying_key.alpha.to_words()):
            raise KeyRefused("open_alpha[0]", "is not the verifying key's alpha; the two are of different setups")
        if any(np.array_equal(p, q) for p, q in ((alpha, one), (tau, one), (alpha, tau))):
            raise KeyRefused("open_tau[1]", "a trapdoor is 1, or two are equal; make the key again")

    def __repr__(self) -> str:
        digest = self.circuit_digest.hex()
        return f"ProvingKey(circuit {digest}, N = {self.domain_size}, {self.n_public} public, {self.n_private} private)"

    @property
    def circuit_digest(self) -> bytes:
        return self.verifying_key.circuit_digest

    @property
    def domain_size(self) -> int:
        return self.verifying_key.domain_size

    @property
    def n_public(self) -> int:
        return self.verifying_key.n_public

    @property
    def commit(self) -> Words:
        return self.t_points[: self.n_private]

    @property
    def quotient(self) -> Words:
        return self.t_points[self.n_private : -N_MASKS]

    @property
    def mask(self) -> Words:
        return self.t_points[-N_MASKS:]

    @property
    def open_alpha(self) -> Words:
        return self.u_points[: self.domain_size + 1]

    @property
    def open_tau(self) -> Words:
        return self.u_points[self.domain_size + 1 :]

    @property
    def _parts(self) -> dict[str, Words]:
        return self._split(self.t_points, self.u_points)

    def _split(self, t: Rows, u: Rows) -> dict[str, Rows]:
        """Rows of T and of U by the parts of the key."""
        n, p = self.domain_size, self.n_private
        return {
            "commit": t[:p],
            "quotient": t[p:-N_MASKS],
            "mask": t[-N_MASKS:],
            "open_alpha": u[: n + 1],
            "open_tau": u[n + 1 :],
        }

    def _refuse_infinity(self, t: Rows, u: Rows) -> None:
        """In: which points of T and U are infinity.  Raises KeyRefused."""
        for name, infinite in self._split(t, u).items():
            if name != "commit" and infinite.any():
                raise KeyRefused(f"{name}[{infinite.argmax()}]", "is the point at infinity; make the key again")

    @property
    def windows(self) -> Windows:
        """Of the sums that are taken with this key."""
        if self.multiples is not None:
            return self.multiples.windows
        return choose_windows([len(self.t_points), len(self.u_points)], 0)

    @property
    def memory(self) -> int:
        """Bytes that the points and multiples take while proofs are made."""
        return (len(self.t_points) + len(self.u_points)) * self.windows.multiples * ROW_BYTES

    def check_file(self) -> None:
        """What was mapped is as it was written, every byte.  Raises FileDamaged."""
        if (sections := self._loaded.sections) is not None:
            sections.check(*sections.table)

    def points(self) -> FixedPoints:
        """The points T and U in the form of sums: made once, when first asked for, from contents whose digests are checked then.

        Raises FileDamaged: a file that is not as written.  KeyRefused: a point at infinity.
        """
        loaded = self._loaded
        with loaded.lock:
            if loaded.points is None:
                lengths = [len(self.t_points), len(self.u_points)]
                points = FixedPoints(lengths, [self._table(T), self._table(U)], self.windows, rooms=os.cpu_count() or 1)
                self._refuse_infinity(points.absent[T], points.absent[U])
                loaded.points = points
            return loaded.points

    def _table(self, which: int) -> Iterator[Words]:
        """The points and their multiples of T or U, for as long as each is read; their pages are given back."""
        sections, more = self._loaded.sections, self.multiples
        yield self._checked(_POINTS[which], (self.t_points, self.u_points)[which])
        if more is not None:
            for words in self._checked(_MULTIPLES[which], (more.t, more.u)[which]):
                yield words
                if sections is not None:
                    sections.forget(_MULTIPLES[which])
        if sections is not None:
            sections.forget(_POINTS[which])

    def _checked(self, name: str, words: Words) -> Words:
        if (sections := self._loaded.sections) is not None:
            sections.check(name)
            sections.forget(name)
        return words

    def check_points(self) -> None:
        """Every point lies on the curve and in the subgroup, and the file is as written.  Cost: about two 64-bit multiples a point.

        Raises KeyRefused, naming the first point that does not.  FileDamaged.
        """
        self.check_file()
        for name, points in self._parts.items():
            status = np.empty(len(points), np.uint8)
            g1_check_many(status, points)
            bad = (status != POINT_OK) & ((status != POINT_INFINITY) | (name != "commit"))
            if bad.any():
                i = int(bad.argmax())
                raise KeyRefused(f"{name}[{i}]", f"{POINT_ERRORS[int(status[i])]}; make the key again")


def with_multiples(key: ProvingKey, memory: int | None = None) -> ProvingKey:
    """The key with as many multiples of its points as `memory` bytes hold; None: MEMORY, or what two rows a point take if that is more.

    Cost: 255 doublings a point, fewer if there are few multiples.
    Raises FileDamaged: a mapped key that is not as written.
    """
    key.check_file()
    lengths = [len(key.t_points), len(key.u_points)]
    if memory is None:
        memory = max(MEMORY, sum(lengths) * _LEAST_ROWS * ROW_BYTES)
    windows = choose_windows(lengths, memory)
    if windows.multiples == 1:
        return replace(key, multiples=None)
    tables = []
    for points in (key.t_points, key.u_points):
        table = np.empty((windows.multiples - 1, *points.shape), np.uint64)
        for row, more in zip(table, multiples(points, windows), strict=True):
            row[:] = more
        table.flags.writeable = False
        tables.append(table)
    return replace(key, multiples=Multiples(windows, *tables))


def check_multiples(key: ProvingKey) -> None:
    """Every stored multiple is that of its point: they are made again.  Cost: with_multiples'.  Raises KeyRefused, naming the first."""
    if (more := key.multiples) is None:
        return
    for name, points, table in zip(_MULTIPLES, (key.t_points, key.u_points), (more.t, more.u), strict=True):
        for j, (found, expected) in enumerate(zip(table, multiples(points, more.windows), strict=True)):
            if (wrong := (found != expected).any(axis=1)).any():
                raise KeyRefused(
                    f"{name}[{j}, {wrong.argmax()}]", "is not the multiple of its point; make the key again"
                )


def write_proving_key(path: Path, key: ProvingKey) -> bytes:
    """Writes the file whole or not at all.  Out: the digest of the file's content."""
    shape: dict[str, Any] = {"private": key.n_private}
    tables = dict(zip(_POINTS, (key.t_points, key.u_points), strict=True))
    if (more := key.multiples) is not None:
        shape |= {"window bits": more.windows.bits, "bucket sets": more.windows.sets}
        tables |= dict(zip(_MULTIPLES, (more.t, more.u), strict=True))
    head: dict[str, Content] = dict(zip(_HEAD, (shape, encode_verifying_key(key.verifying_key)), strict=True))
    return write_sections(path, KIND, {**head, **tables})


def read_proving_key(
    path: Path, circuit_digest: bytes, *, check: bool = False, memory: int | None = None
) -> ProvingKey:
    """Maps the key of the circuit with this digest, in milliseconds.

    check: tests the digests and every point (keys.consistency tests what they mean); else digests of points are checked with the first
    proof.  memory: bytes that points and multiples may take while proofs are made, None: whatever the file has.
    Raises FileDamaged: a byte read here that is not as written, another length.  CircuitMismatch: a key of another circuit.  KeyRefused:
    see ProvingKey.
    """
    sections = open_sections(path, KIND, verify=False)
    sections.check(*_HEAD)
    verifying_key = decode_verifying_key(sections.data("verifying key"), allow_development=True)
    if verifying_key.circuit_digest != circuit_digest:
        found, wanted = verifying_key.circuit_digest.hex(), circuit_digest.hex()
        raise CircuitMismatch(
            str(path), f"the key is for the circuit {found}, this circuit is {wanted}; run the setup again"
        )
    shape = sections.json("shape")
    n_private = shape.get("private")
    if not isinstance(n_private, int) or n_private < 0:
        raise FileDamaged(f"{path}: section shape", "the number of private wires is missing")
    t_shape, u_shape = _shapes(verifying_key.domain_size, n_private)
    t_points, u_points = sections.array("t points", "<u8", t_shape), sections.array("u points", "<u8", u_shape)
    more, names = None, {*_HEAD, *_POINTS}
    if any(name in sections.table for name in _MULTIPLES):
        names |= set(_MULTIPLES)
        more = _read_multiples(path, sections, shape, (t_shape, u_shape), memory)
    if extra := set(sections.table) - names:
        raise FileDamaged(str(path), f"holds more than a proving key: {', '.join(sorted(extra))}")
    try:
        key = ProvingKey(verifying_key, n_private, t_points, u_points, more, sections)
    except KeyRefused:
        sections.check(*sections.table)  # of a damaged file the damage is told
        raise
    if check:
        key.check_points()
    return key


def _read_multiples(
    path: Path, sections: Sections, shape: dict[str, Any], shapes: tuple[tuple[int, int], ...], memory: int | None
) -> Multiples | None:
    """Those of the file, or every t-th of them, so that they fit."""
    bits, sets = shape.get("window bits"), shape.get("bucket sets")
    if bits is None or sets is None or not is_windows(bits, sets):
        raise FileDamaged(f"{path}: section shape", "the windows of the multiples are missing")
    stored = Windows(bits, sets)
    t, u = (
        sections.array(name, "<u8", (stored.multiples - 1, *points))
        for name, points in zip(_MULTIPLES, shapes, strict=True)
    )
    if memory is None:
        return Multiples(stored, t, u)
    used = stored.at_most(memory // (sum(n for n, _ in shapes) * ROW_BYTES))
    if used.multiples == 1:
        return None
    step = used.sets // stored.sets
    return Multiples(used, t[step - 1 :: step], u[step - 1 :: step])


def _shapes(n: int, n_private: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Of t_points and u_points."""
    return (n_private + (n + 3) + N_MASKS, G1_AFFINE_WORDS), ((n + 1) + (2 * n + 2), G1_AFFINE_WORDS)

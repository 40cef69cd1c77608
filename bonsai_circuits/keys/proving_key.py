"""The prover's key: the points of docs/protocol.md, in the order in which two sums run through them.

    T = sum over commit [(alpha a_j(tau) + b_j(tau)) / delta]   for every private wire j
             quotient   [tau^i Z(tau) / delta]                  i = 0 .. N + 2
             mask       [alpha tau^i Z(tau) / delta]            i = 0, 1
    U = sum over open_alpha [alpha tau^i]                       i = 0 .. N
             open_tau       [tau^i]                             i = 0 .. 2N + 1

The ranges are the degrees: A = a + (s0 + s1 X) Z has degree N + 1, so A^2 has 2N + 2 and (A^2 - b)/Z has N + 2; dividing by X - r
takes one off.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bonsai_verifier.curve import POINT_ERRORS, POINT_OK, one_words
from bonsai_verifier.field import Words
from bonsai_verifier.kernels.encoding import POINT_INFINITY
from bonsai_verifier.kernels.g1 import G1_AFFINE_WORDS, g1_check_many
from bonsai_verifier.wire import VerifyingKey, decode_verifying_key, encode_verifying_key

from ..artifacts.sections import open_sections, write_sections
from ..errors import CircuitMismatch, FileDamaged, InputError, KeyRefused

KIND = "proving key"
N_MASKS = 2
_SECTIONS = "shape", "verifying key", "t points", "u points"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProvingKey:
    """The points of one circuit's key, affine and in Montgomery form, mapped when read from a file; and its verifying key.

    t_points (n_private + N + 5, 12) is commit | quotient | mask, u_points (3N + 3, 12) is open_alpha | open_tau.
    A wire that no row uses has the point at infinity in `commit`; infinity anywhere else is refused.

    Raises InputError: another number of points.  KeyRefused: a point at infinity, a trivial trapdoor, points of another verifying key.
    """

    verifying_key: VerifyingKey
    n_private: int
    t_points: Words
    u_points: Words

    def __post_init__(self) -> None:
        shapes = _shapes(self.domain_size, self.n_private)
        for name, points, shape in zip(("t_points", "u_points"), (self.t_points, self.u_points), shapes, strict=True):
            if points.dtype != np.uint64 or points.shape != shape or not points.flags.c_contiguous:
                raise InputError(name, f"expected {shape} contiguous uint64, got {points.shape} {points.dtype}")
        for name, points in self._parts.items():
            if name != "commit" and (at_infinity := ~points.any(axis=1)).any():
                raise KeyRefused(f"{name}[{at_infinity.argmax()}]", "is the point at infinity; make the key again")
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
        names = "commit", "quotient", "mask", "open_alpha", "open_tau"
        return {name: getattr(self, name) for name in names}

    def check_points(self) -> None:
        """Every point lies on the curve and in the subgroup.  Cost: about two 64-bit multiples a point.

        Raises KeyRefused, naming the first point that does not.
        """
        for name, points in self._parts.items():
            status = np.empty(len(points), np.uint8)
            g1_check_many(status, points)
            bad = (status != POINT_OK) & ((status != POINT_INFINITY) | (name != "commit"))
            if bad.any():
                i = int(bad.argmax())
                raise KeyRefused(f"{name}[{i}]", f"{POINT_ERRORS[int(status[i])]}; make the key again")


def write_proving_key(path: Path, key: ProvingKey) -> bytes:
    """Writes the file whole or not at all.  Out: the digest of the file's content."""
    contents = {"private": key.n_private}, encode_verifying_key(key.verifying_key), key.t_points, key.u_points
    return write_sections(path, KIND, dict(zip(_SECTIONS, contents, strict=True)))


def read_proving_key(path: Path, circuit_digest: bytes, *, check: bool = False) -> ProvingKey:
    """Maps the key of the circuit with this digest; `check` also tests every point (keys.consistency tests what they mean).

    Raises FileDamaged: any byte that is not as written.  CircuitMismatch: a key of another circuit.  KeyRefused: see ProvingKey.
    """
    sections = open_sections(path, KIND)
    verifying_key = decode_verifying_key(sections.data("verifying key"), allow_development=True)
    if verifying_key.circuit_digest != circuit_digest:
        found, wanted = verifying_key.circuit_digest.hex(), circuit_digest.hex()
        raise CircuitMismatch(
            str(path), f"the key is for the circuit {found}, this circuit is {wanted}; run the setup again"
        )
    if extra := set(sections.table) - set(_SECTIONS):
        raise FileDamaged(str(path), f"holds more than a proving key: {', '.join(sorted(extra))}")
    n_private = sections.json("shape").get("private")
    if not isinstance(n_private, int) or n_private < 0:
        raise FileDamaged(f"{path}: section shape", "the number of private wires is missing")
    t_shape, u_shape = _shapes(verifying_key.domain_size, n_private)
    t_points, u_points = sections.array("t points", "<u8", t_shape), sections.array("u points", "<u8", u_shape)
    key = ProvingKey(verifying_key, n_private, t_points, u_points)
    if check:
        key.check_points()
    return key


def _shapes(n: int, n_private: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Of t_points and u_points."""
    return (n_private + (n + 3) + N_MASKS, G1_AFFINE_WORDS), ((n + 1) + (2 * n + 2), G1_AFFINE_WORDS)

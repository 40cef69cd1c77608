"""Keys from trapdoors that this process draws and forgets: for development, and marked so inside the verifying key.

Whoever knows alpha, tau or delta of a circuit forges its proofs, and nobody can see that they were forgotten: real use takes the ceremony.
"""

from collections.abc import Callable
from dataclasses import dataclass
from secrets import randbelow
from typing import TypeAlias

import numpy as np

from bonsai_verifier.curve import G1, G2, one_words
from bonsai_verifier.field import (
    Words,
    fr_add,
    fr_from_ints,
    fr_is_canonical,
    fr_mul,
    fr_to_canonical,
    limbs_from_ints,
)
from bonsai_verifier.kernels.fr import FR_WORDS, fr_powers
from bonsai_verifier.kernels.g2 import g2_mul_many
from bonsai_verifier.kernels.msm import g1_fixed_base_many
from bonsai_verifier.parameters import DIGEST_BYTES, FR_MODULUS
from bonsai_verifier.wire import VerifyingKey

from ..errors import CircuitError, InputError
from ..kernels.sparse import sparse_columns
from ..r1cs.system import SparseRows, SquareR1CS
from .domain import Domain, smallest_domain
from .proving_key import N_MASKS, ProvingKey, with_multiples

R = FR_MODULUS
_DRAWS = 8
Randbelow: TypeAlias = Callable[[int], int]


@dataclass(frozen=True, slots=True, repr=False)
class _Trapdoors:
    """alpha, tau, delta: distinct, neither 1 nor -1, tau outside H.  The default repr shows an address, not the values."""

    alpha: int
    tau: int
    delta: int


def development_setup(
    square: SquareR1CS, circuit_digest: bytes, *, rng: Randbelow = randbelow, memory: int | None = None
) -> ProvingKey:
    """The keys of a square system, from trapdoors drawn from the operating system's randomness.

    In: circuit_digest, 32 bytes, goes into the verifying key.  rng(n), uniform in [0, n), is for reproducible tests alone: a key from a
    known source of randomness proves nothing.  memory: bytes for points and their multiples (proving_key.with_multiples).
    Cost: n_private + 4 N + 8 multiples of one point, and 255 doublings of each.
    Raises CircuitError: the system is not outlined, or too large.  InputError: a random source that repeats itself.
    """
    if len(circuit_digest) != DIGEST_BYTES:
        raise InputError("circuit_digest", f"expected {DIGEST_BYTES} bytes, got {len(circuit_digest)}")
    require_outlined(square)
    domain = smallest_domain(square.n_rows)
    try:
        key = _make_key(square, circuit_digest, domain, _draw(domain, rng))
    except BaseException as error:
        # The frames below hold trapdoors; a traceback that shows locals must not see them.
        raise error.with_traceback(None) from None
    return with_multiples(key, memory)


def require_outlined(square: SquareR1CS) -> None:
    """Row j <= l is x_j - w_j = 0, and wires 0 .. l, the verifier's, occur nowhere else.

    Sound because then the verifier's share of A z is sum_j x_j L_j, which it can compute, and B z has no such share.
    Raises CircuitError, naming the row.
    """
    n_instance = len(square.public) + 1
    if square.n_rows < n_instance or square.n_wires < 2 * n_instance:
        raise CircuitError(
            "rows", f"{n_instance} rows and as many wires must be private copies; outline the system first"
        )
    for name, matrix in (("A", square.a), ("B", square.b)):
        _require_well_formed(name, matrix, square)
    a, b = square.a, square.b
    expected = SparseRows.from_rows([{j: 1, n_instance + j: R - 1} for j in range(n_instance)])
    wrong = a.start[1 : n_instance + 1] != expected.start[1:]
    if not wrong.any():
        wires, coeffs = a.wire[: 2 * n_instance], a.coeff[: 2 * n_instance]
        wrong = (wires != expected.wire).reshape(-1, 2).any(axis=1)
        wrong |= (coeffs != expected.coeff).reshape(-1, 8).any(axis=1)
    wrong |= b.start[1 : n_instance + 1] != 0
    if wrong.any():
        i = int(wrong.argmax())
        raise CircuitError(f"row {i}", f"is not x_{i} - w_{i} = 0; outline the system first")
    for name, matrix, first in (("A", a, 2 * n_instance), ("B", b, 0)):
        touching = np.flatnonzero(matrix.wire[first:] < n_instance)
        if touching.size:
            entry = first + int(touching[0])
            row = int(np.searchsorted(matrix.start, entry, side="right")) - 1
            raise CircuitError(
                f"row {row}", f"{name} touches the public wire {matrix.wire[entry]}; use its private copy"
            )


def _require_well_formed(name: str, matrix: SparseRows, square: SquareR1CS) -> None:
    """What the kernels rely on: they check no bounds, and read these arrays by their addresses."""
    start, wire, coeff = matrix.start, matrix.wire, matrix.coeff
    for what, array, dtype in (
        ("starts", start, np.int64),
        ("wires", wire, np.int32),
        ("coefficients", coeff, np.uint64),
    ):
        if array.dtype != dtype or not array.flags.c_contiguous:
            raise CircuitError(name, f"its {what} must be contiguous {np.dtype(dtype)}, not {array.dtype}")
    if matrix.n_rows != square.n_rows or coeff.shape != (len(wire), 4):
        raise CircuitError(name, f"{matrix.n_rows} rows of {len(wire)} wires and {coeff.shape} coefficients do not fit")
    if start[0] != 0 or start[-1] != len(wire) or (start[1:] < start[:-1]).any():
        raise CircuitError(name, "the starts of its rows do not ascend from 0 to the number of entries")
    if len(wire) and (wire.min() < 0 or wire.max() >= square.n_wires):
        raise CircuitError(name, f"a wire is not in [0, {square.n_wires})")
    if not fr_is_canonical(coeff).all():
        raise CircuitError(name, "a coefficient is not below r")


def _draw(domain: Domain, rng: Randbelow) -> _Trapdoors:
    """Raises InputError: _DRAWS times values that chance brings once in 2^230, so the source is none."""
    for _ in range(_DRAWS):
        secrets = [1 + rng(R - 1) for _ in range(3)]
        alpha, tau, delta = secrets
        if len({*secrets, 1, R - 1}) == len(secrets) + 2 and not domain.contains(tau):
            return _Trapdoors(alpha, tau, delta)
    raise InputError("trapdoors", "the random source repeats itself: no key was made; replace it")


def _make_key(square: SquareR1CS, circuit_digest: bytes, domain: Domain, secret: _Trapdoors) -> ProvingKey:
    """Every element of the module proving_key, as a multiple of the generator."""
    n, first_private = domain.size, len(square.public) + 1
    alpha, tau, delta_inverse = secret.alpha, secret.tau, pow(secret.delta, -1, R)
    z = domain.vanishing(tau)
    lagrange = domain.lagrange(tau)
    a, b = (_columns(matrix, lagrange, square.n_wires)[first_private:] for matrix in (square.a, square.b))
    t_scalars = [
        fr_mul(fr_add(fr_mul(a, fr_from_ints([alpha])), b), fr_from_ints([delta_inverse])),
        _powers(z * delta_inverse, tau, n + 3),
        _powers(alpha * z * delta_inverse, tau, N_MASKS),
    ]
    u_scalars = [_powers(alpha, tau, n + 1), _powers(1, tau, 2 * n + 2)]
    one_1, one_2 = one_words()
    t_points, u_points = (
        g1_fixed_base_many(one_1, fr_to_canonical(np.concatenate(scalars))) for scalars in (t_scalars, u_scalars)
    )
    for points in (t_points, u_points):
        points.flags.writeable = False
    tau_2, delta_2 = g2_mul_many(one_2[None].copy(), limbs_from_ints([tau, secret.delta], FR_WORDS))
    verifying_key = VerifyingKey(
        circuit_digest=circuit_digest,
        domain_size=n,
        n_public=len(square.public),
        alpha=G1.from_words(u_points[0]),
        tau=G2.from_words(tau_2),
        delta=G2.from_words(delta_2),
        development=True,
    )
    return ProvingKey(verifying_key, len(t_scalars[0]), t_points, u_points)


def _columns(matrix: SparseRows, lagrange: Words, n_wires: int) -> Words:
    """a_j(tau) = sum_i A_ij L_i(tau) for every wire j."""
    out = np.empty((n_wires, 4), np.uint64)
    sparse_columns(out, matrix.start, matrix.wire, matrix.coeff, lagrange)
    return out


def _powers(first: int, base: int, n: int) -> Words:
    """first, first base, ..., first base^(n - 1)."""
    out = np.empty((n, 4), np.uint64)
    fr_powers(out, fr_from_ints([base]), fr_from_ints([first]))
    return out

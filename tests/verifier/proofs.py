"""Proofs to verify, true, false and malformed, made from known trapdoors by the slow reference; and what each verifier says of them."""

import random
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from py_ecc.fields import optimized_bls12_381_FQ as FQ
from py_ecc.optimized_bls12_381.optimized_curve import G1, add, multiply, neg

import bonsai_verifier as bv
from tests.reference import pari

R = pari.R
INFINITY = b"\xc0" + bytes(47)
TORSION = (FQ(0), FQ(2), FQ(1))  # of order 3
ALPHA, TAU, DELTA = (pow(3, 1000 + k, R) for k in range(3))
CONTEXT = bytes(range(32))

# (1, x1, x2, w) with w^2 = x1 and (w + x2)^2 = x1 + x2: so x2 is 0 or 1 - 2 w
SYSTEM = pari.SquareSystem(2, 4, ({3: 1}, {3: 1, 2: 1}), ({1: 1}, {1: 1, 2: 1}))
OUTLINED = SYSTEM.outline()


class Claim(NamedTuple):
    inputs: list[int]
    proof: bytes


@cache
def curve_key(n: int = 6, delta: int = DELTA, circuit: bytes = bytes(32)) -> pari.CurveKey:
    return pari.CurveKey(OUTLINED, n, alpha=ALPHA, tau=TAU, delta=delta, circuit_digest=circuit)


@cache
def key(n: int = 6, delta: int = DELTA, circuit: bytes = bytes(32)) -> bv.VerifyingKey:
    return bv.decode_verifying_key(curve_key(n, delta, circuit).vk_bytes, allow_development=True)


@cache
def claim(w: int, context: bytes = bytes(32), maker: Callable[[], pari.CurveKey] = curve_key) -> Claim:
    inputs = [w * w % R, (1 - 2 * w) % R]
    z = SYSTEM.outline_assignment([1, *inputs, w])
    rng = random.Random(w)
    return Claim(inputs, maker().prove(z, (rng.randrange(R), rng.randrange(R)), context))


def claims(n: int) -> list[Claim]:
    return [claim(3 + w) for w in range(n)]


def check(chosen: list[Claim], **named: bytes) -> bv.Verdict:
    return bv.verify_batch(key(), [c.proof for c in chosen], [c.inputs for c in chosen], **named)


def outcome(c: Claim, context: bytes = bytes(32)) -> bool | str:
    """True, False, or the field that is malformed."""
    try:
        return bv.verify(key(), c.inputs, c.proof, context)
    except (bv.WireError, bv.InputError) as error:
        return error.field


def slow_outcome(c: Claim, context: bytes = bytes(32)) -> bool | None:
    """True, False, or None for malformed."""
    try:
        return pari.verify(curve_key().vk_bytes, c.inputs, c.proof, context)
    except (ValueError, OverflowError):
        return None


def point(data: bytes) -> pari.PointG1:
    return pari.decode_g1(data, "point")


def with_t(c: Claim, t: bytes) -> Claim:
    return Claim(c.inputs, t + c.proof[48:])


def with_u(c: Claim, u: bytes) -> Claim:
    return Claim(c.inputs, c.proof[:48] + u + c.proof[96:])


def with_v(c: Claim, v: int) -> Claim:
    return Claim(c.inputs, c.proof[:96] + v.to_bytes(32, "little"))


def flipped(data: bytes, i: int, bit: int = 1) -> bytes:
    return data[:i] + bytes([data[i] ^ bit]) + data[i + 1 :]


def challenge_of(c: Claim) -> int:
    return pari.hash_to_scalar(key().digest, bytes(32), c.inputs, c.proof[:48])


def scaled(c: Claim, k: int) -> Claim:
    t, u = point(c.proof[:48]), point(c.proof[48:96])
    return Claim(c.inputs, pari.encode_g1(multiply(t, k)) + pari.encode_g1(multiply(u, k)) + c.proof[96:])


FALSE: dict[str, Callable[[Claim], Claim]] = {
    "-T": lambda c: with_t(c, pari.encode_g1(neg(point(c.proof[:48])))),
    "-U": lambda c: with_u(c, pari.encode_g1(neg(point(c.proof[48:96])))),
    "-T, -U": lambda c: scaled(c, R - 1),
    "2 T, 2 U": lambda c: scaled(c, 2),
    "T and U exchanged": lambda c: Claim(c.inputs, c.proof[48:96] + c.proof[:48] + c.proof[96:]),
    "U = T": lambda c: with_u(c, c.proof[:48]),
    "U + 1": lambda c: with_u(c, pari.encode_g1(add(point(c.proof[48:96]), G1))),
    "v + 1": lambda c: with_v(c, (int.from_bytes(c.proof[96:], "little") + 1) % R),
    "-v": lambda c: with_v(c, -int.from_bytes(c.proof[96:], "little") % R),
    "v = 0": lambda c: with_v(c, 0),
    "another's v": lambda c: with_v(c, int.from_bytes(claim(4).proof[96:], "little")),
    "another's U": lambda c: with_u(c, claim(4).proof[48:96]),
    "another's T": lambda c: with_t(c, claim(4).proof[:48]),
    "another's inputs": lambda c: Claim(claim(4).inputs, c.proof),
    "inputs exchanged": lambda c: Claim(c.inputs[::-1], c.proof),
    "inputs 0": lambda c: Claim([0, 0], c.proof),
    "inputs 0, r - 1": lambda c: Claim([0, R - 1], c.proof),
}


def arrays(chosen: list[Claim]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    proofs = np.frombuffer(b"".join(c.proof for c in chosen), np.uint8).reshape(-1, 128)
    data = b"".join(x.to_bytes(32, "little") for c in chosen for x in c.inputs)
    return proofs.copy(), np.frombuffer(data, np.uint8).reshape(len(chosen), -1, 32).copy()


def tiled(n: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """n true proofs, 16 different ones."""
    proofs, inputs = arrays(claims(16))
    return np.resize(proofs, (n, 128)), np.resize(inputs, (n, 2, 32))


def add_torsion(proof: NDArray[np.uint8], at: int, k: int = 1) -> None:
    """Adds k times the torsion of order 3 to the point, of the curve, that begins at byte `at` of a proof."""
    head = int.from_bytes(proof[at : at + 48].tobytes(), "big")
    x = head % (1 << 381)
    y = pow(x**3 + 4, (pari.P + 1) // 4, pari.P)
    if (y > pari.P // 2) != bool(head >> 381 & 1):
        y = pari.P - y
    moved = add((FQ(x), FQ(y), FQ(1)), multiply(TORSION, k))
    proof[at : at + 48] = np.frombuffer(pari.encode_g1(moved), np.uint8)

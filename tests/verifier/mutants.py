"""True proofs from known trapdoors, and what is left of them after one change each: 10,000 and more, in a fixed order.

`python -m tests.verifier.mutants` decides some hundreds of them by the slow pairing of py_ecc, a second each, and writes the verdicts
to tests/vectors/mutants.json, which test_mutants.py compares with.
"""

import hashlib
import json
import math
import random
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.reference import pari
from tests.reference.exponents import Affine, Book, Trapdoors, add_affine, affine, decode, encode, lift, multiple
from tests.reference.pari import COMPRESSED, INFINITY, LARGER, P, R
from tests.verifier.proofs import ALPHA, DELTA, OUTLINED, TAU

VECTORS = Path(__file__).parents[1] / "vectors" / "mutants.json"
N_RECORDED = 300
PROOFS_A_KEY = 80
# What lies outside G1 has orders that divide 1 - z: the cofactor is (1 - z)^2/3, and E(Fp) holds all torsion of 11 and the larger primes
ORDERS = (3, 11, 10177, 859267, 52437899)
EXPONENT = math.prod(ORDERS)
NO_CONTEXT = bytes(32)
TRUE = "true"


class Mutant(NamedTuple):
    """What a verifier is handed: the key by its number, and why it is as it is."""

    kind: str
    key: int
    inputs: tuple[int, ...]
    proof: bytes
    context: bytes = NO_CONTEXT


class Setup(NamedTuple):
    """Everything about a key."""

    vk_bytes: bytes
    trapdoors: Trapdoors


@cache
def setups() -> tuple[Setup, ...]:
    """Three keys: of one tau, of domains 6 and 8; and one of its own."""
    made = []
    for n, alpha, tau, delta in (
        (6, ALPHA, TAU, DELTA),
        (8, ALPHA, TAU, DELTA + 2),
        (6, ALPHA + 1, TAU + 1, DELTA + 3),
    ):
        maker = pari.CurveKey(OUTLINED, n, alpha=alpha, tau=tau, delta=delta)
        made.append(Setup(maker.vk_bytes, Trapdoors(maker.digest, n, OUTLINED.n_public, alpha, tau, delta)))
    return tuple(made)


class Base(NamedTuple):
    """A true proof and what its maker knows of it."""

    key: int
    inputs: tuple[int, ...]
    t: int
    u: int
    v: int
    proof: bytes


class Maker:
    """Proofs with the book of their points; `below` is the only randomness, equal in every version of Python."""

    def __init__(self, seed: int) -> None:
        self.book = Book()
        self._rng = random.Random(seed)
        self.torsion = [_torsion(order) for order in (*ORDERS, EXPONENT)]

    def below(self, n: int) -> int:
        return self._rng.getrandbits(n.bit_length() + 64) % n

    def scalar(self) -> int:
        return 1 + self.below(R - 1)

    def true(self, key: int, inputs: tuple[int, ...], t: int, v: int, context: bytes = NO_CONTEXT) -> Base:
        """Who knows the trapdoors proves everything."""
        trapdoors, t_bytes = setups()[key].trapdoors, self.book.point(t)
        u = trapdoors.true_u(inputs, trapdoors.challenge(inputs, t_bytes, context), t, v)
        return Base(key, inputs, t, u, v, t_bytes + self.book.point(u) + v.to_bytes(32, "little"))

    def any_true(self, key: int) -> Base:
        return self.true(key, (self.scalar(), self.scalar()), self.scalar(), self.scalar())


def _torsion(order: int) -> Affine:
    """A point of this order, or of one that divides it where it is no prime."""
    for x in range(1, 1000):
        a = lift(x)
        t = multiple(R * EXPONENT // order, a) if a else (1, 1, 0)
        if t[2]:
            return affine(t)
    raise AssertionError(order)


# Changes ---------------------------------------------------------------------------------------------------------------------


def flipped(data: bytes, bit: int) -> bytes:
    i = bit // 8
    return data[:i] + bytes([data[i] ^ 1 << bit % 8]) + data[i + 1 :]


def parts(proof: bytes) -> tuple[bytes, bytes, bytes]:
    return proof[:48], proof[48:96], proof[96:]


def little(x: int) -> bytes:
    return x.to_bytes(32, "little")


def moved(point: bytes, by: Affine) -> bytes:
    a = decode(point)
    assert a is not None
    return encode(affine(add_affine((*a, 1), by)))


def opposite(point: bytes) -> bytes:
    return (int.from_bytes(point, "big") ^ LARGER).to_bytes(48, "big")


def changed(m: Maker, base: Base, other: Base) -> list[Mutant]:
    """One mutant of each kind.  `other` is a true proof under the same key."""
    key, inputs, proof = base.key, base.inputs, base.proof
    t, u, v = parts(proof)
    t_2, u_2, v_2 = parts(other.proof)
    x = inputs[0]
    d, at = m.scalar(), m.below(2)
    elsewhere = (key + 1 + m.below(2)) % 3
    small = m.torsion[m.below(len(m.torsion))]

    def with_point(point: bytes) -> bytes:
        return point + u + v if at == 0 else t + point + v

    def with_input(value: int) -> tuple[int, ...]:
        return (value, inputs[1]) if at == 0 else (inputs[0], value)

    context = little(m.scalar())
    chosen = (t, u)[at]
    head = int.from_bytes(chosen, "big")
    out: list[tuple[str, tuple[int, ...], bytes, bytes, int]] = []

    def put(
        kind: str, proof: bytes, inputs: tuple[int, ...] = inputs, context: bytes = NO_CONTEXT, key: int = key
    ) -> None:
        out.append((kind, inputs, proof, context, key))

    put(TRUE, proof)
    put(TRUE, m.true(key, inputs, base.t, other.v).proof)
    put(TRUE, m.true(key, inputs, base.t + d, base.v, context).proof, context=context)
    put("another context", proof, context=context)
    put("bit of the context", proof, context=flipped(NO_CONTEXT, m.below(256)))
    for _ in range(3):
        put("bit of T", flipped(t, m.below(384)) + u + v)
        put("bit of U", t + flipped(u, m.below(384)) + v)
        put("bit of v", t + u + flipped(v, m.below(256)))
        put("bit of an input", proof, with_input(inputs[at] ^ 1 << m.below(256)))
    put("T and U exchanged", u + t + v)
    put("another's T", t_2 + u + v)
    put("another's U", t + u_2 + v)
    put("another's v", t + u + v_2)
    put("another's inputs", proof, other.inputs)
    put("inputs exchanged", proof, inputs[::-1])
    put("opposite point", with_point(opposite(chosen)))
    put("both opposite", opposite(t) + opposite(u) + v)
    put("multiples", m.book.point(base.t * d) + m.book.point(base.u * d) + v)
    put("point moved in G1", with_point(m.book.point((base.t, base.u)[at] + d)))
    put("U moved by a little", t + m.book.point(base.u + 1 + m.below(3)) + v)
    put("v moved", t + u + little((base.v + 1 + m.below(9)) % R))
    put("opposite v", t + u + little(R - base.v))
    put("low-order component", with_point(moved(chosen, small)))
    put("two low-order components", moved(t, small) + moved(u, small) + v)
    put("of low order", with_point(encode(small)))
    put("x + p", with_point(((head % LARGER + P) % LARGER | head & ~(LARGER - 1)).to_bytes(48, "big")))
    put("v + r", t + u + little(base.v + R))
    put("input + r", proof, with_input(inputs[at] + R))
    put("no compression flag", with_point((head & ~COMPRESSED).to_bytes(48, "big")))
    put("infinity", with_point((COMPRESSED | INFINITY).to_bytes(48, "big")))
    put("flags that contradict", with_point((head | INFINITY).to_bytes(48, "big")))
    put("random x", with_point((COMPRESSED | m.below(P)).to_bytes(48, "big")))
    put("another length", (proof[:-1], proof + b"\0", b"")[m.below(3)])
    put("another number of inputs", proof, (inputs[:1], (*inputs, x), ())[m.below(3)])
    put("under another key", proof, key=elsewhere)
    return [Mutant(kind, key, inputs, proof, context) for kind, inputs, proof, context, key in out]


def cancelling(m: Maker, key: int, bases: list[Base]) -> list[Mutant]:
    """Pairs of false proofs whose errors cancel under equal weights."""
    trapdoors = setups()[key].trapdoors
    out = []
    for first, second in zip(bases[::2], bases[1::2], strict=False):
        r, r_2 = (trapdoors.challenge(b.inputs, b.proof[:48], NO_CONTEXT) for b in (first, second))
        d = m.scalar()
        d_2 = -(trapdoors.tau - r) * d * pow(trapdoors.tau - r_2, -1, R) % R
        for b, by in ((first, d), (second, d_2)):
            t, _, v = parts(b.proof)
            out.append(Mutant("errors that cancel", key, b.inputs, t + m.book.point(b.u + by) + v))
    return out


@cache
def mutants(proofs_a_key: int = PROOFS_A_KEY) -> tuple[Book, tuple[Mutant, ...]]:
    """All of them, and the book of their points."""
    m = Maker(20261130)
    out: list[Mutant] = []
    for key in range(len(setups())):
        bases = [m.any_true(key) for _ in range(proofs_a_key)]
        for i, base in enumerate(bases):
            out += changed(m, base, bases[i - 1])
        out += cancelling(m, key, bases[: proofs_a_key // 4])
    return m.book, tuple(out)


# The slow pairing ------------------------------------------------------------------------------------------------------------


def slow_verdict(mutant: Mutant) -> bool | None:
    """True, False, or None for malformed, by tests/reference/pari.py."""
    try:
        return pari.verify(setups()[mutant.key].vk_bytes, mutant.inputs, mutant.proof, mutant.context)
    except (ValueError, OverflowError):
        return None


def to_record() -> list[int]:
    """Those that the slow pairing decides: of every kind that comes to it, about equally many."""
    _, all_mutants = mutants()
    reached: dict[str, list[int]] = {}
    for i, mutant in enumerate(all_mutants):
        reached.setdefault(mutant.kind, []).append(i)
    a_kind = -(-N_RECORDED // len(_PAIRING_KINDS))
    return sorted(i for kind in _PAIRING_KINDS for i in reached[kind][:: max(1, len(reached[kind]) // a_kind)][:a_kind])


_PAIRING_KINDS = (
    TRUE,
    "another context",
    "bit of v",
    "bit of an input",
    "T and U exchanged",
    "another's T",
    "another's U",
    "another's v",
    "another's inputs",
    "inputs exchanged",
    "opposite point",
    "both opposite",
    "multiples",
    "point moved in G1",
    "v moved",
    "under another key",
    "errors that cancel",
)


def digest(chosen: list[Mutant]) -> str:
    """Of what was handed to the slow verifier."""
    return hashlib.sha256(repr([tuple(m) for m in chosen]).encode()).hexdigest()


def record(say: Callable[[str], object] = sys.stderr.write) -> None:
    """Writes VECTORS."""
    _, all_mutants = mutants()
    indices = to_record()
    verdicts: list[bool | None] = []
    for i in indices:
        verdicts.append(slow_verdict(all_mutants[i]))
        say(f"\r{len(verdicts)} of {len(indices)}")
    VECTORS.write_text(
        json.dumps(
            {
                "source": "python -m tests.verifier.mutants: py_ecc's pairing by tests/reference/pari.py",
                "digest": digest([all_mutants[i] for i in indices]),
                "mutants": indices,
                "verdicts": verdicts,
            }
        )
        + "\n"
    )


if __name__ == "__main__":
    record()

"""More than 10,000 mutated proofs, singly and in batches, against three slow verifiers.

Who decides: tests/reference/exponents.py decides all of them, exactly, in plain integers: the equation by the discrete logarithms of its
points, everything before it from the bytes.  arkworks decides hundreds of all kinds by its own decoding and pairing.  py_ecc's pairing,
a second a proof, has decided those in tests/vectors/mutants.json, and decides some of them again here.  None shares code with the
verifier, and what comes out of one is never used by another.
"""

import json
import random
from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np
import py_arkworks_bls12381 as arkworks
import pytest

import bonsai_verifier as bv
from bonsai_verifier import batch, search
from bonsai_verifier.search import DOES_NOT_HOLD
from tests.reference import exponents, pari
from tests.verifier import mutants
from tests.verifier.mutants import TRUE, Mutant, setups


@cache
def everything() -> tuple[tuple[Mutant, ...], tuple[bool | None, ...]]:
    """The mutants, and the verdicts of the exponents."""
    book, chosen = mutants.mutants()
    verdicts = [exponents.verify(book, setups()[m.key].trapdoors, m.inputs, m.proof, m.context) for m in chosen]
    return chosen, tuple(verdicts)


@cache
def keys() -> tuple[bv.VerifyingKey, ...]:
    return tuple(bv.decode_verifying_key(setup.vk_bytes, allow_development=True) for setup in setups())


@cache
def single() -> tuple[bool | str, ...]:
    """Of each: True, False, or its error."""
    return tuple(outcome(m) for m in everything()[0])


def outcome(m: Mutant) -> bool | str:
    try:
        return bv.verify(keys()[m.key], m.inputs, m.proof, m.context)
    except (bv.WireError, bv.InputError) as error:
        return str(error)


def test_they_are_many_and_of_all_kinds() -> None:
    chosen, verdicts = everything()
    assert len(chosen) > 10_000
    assert len(set(chosen)) > 10_000
    of_kind: dict[str, Counter[bool | None]] = {}
    for m, verdict in zip(chosen, verdicts, strict=True):
        of_kind.setdefault(m.kind, Counter())[verdict] += 1
    assert of_kind.pop(TRUE).keys() == {True}
    assert len(of_kind) == 33
    assert {verdict for counts in of_kind.values() for verdict in counts} == {False, None}
    for kind in ("bit of v", "bit of an input"):
        assert of_kind[kind].keys() == {False, None}, kind


def test_each_alone_is_decided_as_in_the_exponents() -> None:
    chosen, verdicts = everything()
    got = [x if isinstance(x, bool) else None for x in single()]
    assert [(m.kind, i) for i, m in enumerate(chosen) if got[i] is not verdicts[i]] == []


def check_batches(groups: Sequence[Sequence[int]], threads: int) -> None:
    """The batches in one call a key each, against the verdicts on each alone: which are bad, and why."""
    chosen, _ = everything()
    batches = []
    for indices in groups:
        rows = [chosen[i] for i in indices]
        batches.append(
            (keys()[rows[0].key], [m.proof for m in rows], [m.inputs for m in rows], [m.context for m in rows])
        )
    for indices, verdict in zip(groups, bv.verify_batches(batches, threads=threads), strict=True):
        expected = {at: DOES_NOT_HOLD if (got := single()[i]) is False else got for at, i in enumerate(indices)}
        assert {b.index: b.reason for b in verdict.bad} == {at: e for at, e in expected.items() if e is not True}
        assert not verdict.undecided
        assert verdict.n == len(indices)


@pytest.mark.parametrize("planes_from", [None, 8])
def test_batches_decide_as_each_alone(monkeypatch: pytest.MonkeyPatch, planes_from: int | None) -> None:
    """Batches of all sizes, of one key and of three in a call; with membership by bit planes in small batches too."""
    if planes_from is not None:
        for module in (batch, search):
            monkeypatch.setattr(module, "PLANES_FROM", planes_from)
    rng = random.Random(9)
    of_key: list[list[int]] = [[], [], []]
    for i, m in enumerate(everything()[0]):
        if planes_from is None or rng.random() < 0.04:
            of_key[m.key].append(i)
    for indices in of_key:
        rng.shuffle(indices)
    while any(of_key):
        size = rng.choice([1, 2, 3, 7, 33, 200] if planes_from is None else [7, 8, 33])
        groups = [[indices.pop() for _ in range(min(size, len(indices)))] for indices in of_key if indices]
        check_batches(groups, threads=rng.choice([1, 2]))


def test_one_batch_of_thousands_names_each() -> None:
    chosen, _ = everything()
    first = [i for i, m in enumerate(chosen) if m.key == 0]
    true = [i for i in first if chosen[i].kind == TRUE]
    rows = first[::4] + true * 20
    random.Random(3).shuffle(rows)
    assert len(rows) > 4000
    check_batches([rows], threads=2)


# The other verifiers -----------------------------------------------------------------------------------------------------------


def arkworks_verdict(m: Mutant) -> bool | None:
    """The whole verifier on arkworks' points, bytes included."""
    vk = setups()[m.key].vk_bytes
    one, two = arkworks.G1Point(), arkworks.G2Point()
    n_public = int.from_bytes(vk[52:56], "little")
    if len(m.inputs) != n_public or len(m.proof) != 128 or any(not 0 <= x < pari.R for x in m.inputs):
        return None
    v = int.from_bytes(m.proof[96:], "little")
    try:
        t, u = (arkworks.G1Point.from_compressed_bytes(m.proof[i : i + 48]) for i in (0, 48))
    except ValueError:
        return None
    if v >= pari.R or arkworks.G1Point.identity() in (t, u):
        return None
    alpha = arkworks.G1Point.from_compressed_bytes(vk[56:104])
    tau, delta = (arkworks.G2Point.from_compressed_bytes(vk[i : i + 96]) for i in (104, 200))
    n = int.from_bytes(vk[48:52], "little")
    r = pari.hash_to_scalar(pari.blake3(vk).digest(), m.context, m.inputs, m.proof[:48])
    if pow(r, n, pari.R) == 1:
        return False
    v_p = (v + pari.lagrange_sum([1, *m.inputs], n, r)) ** 2 % pari.R
    scalar = arkworks.Scalar
    rest = u * scalar(r) - alpha * scalar(v) - one * scalar(v_p)
    return bool(arkworks.GT.multi_pairing([t, -u, rest], [delta, tau, two]) == arkworks.GT.one())


def test_arkworks_agrees_on_hundreds() -> None:
    chosen, verdicts = everything()
    of_kind: dict[str, list[int]] = {}
    for i, m in enumerate(chosen):
        of_kind.setdefault(m.kind, []).append(i)
    sample = [i for indices in of_kind.values() for i in indices[:: max(1, len(indices) // 20)]]
    assert len(sample) > 600
    assert [(chosen[i].kind, i) for i in sample if arkworks_verdict(chosen[i]) is not verdicts[i]] == []
    assert {verdicts[i] for i in sample} == {True, False, None}


def test_the_slow_pairing_agreed_on_hundreds() -> None:
    chosen, verdicts = everything()
    recorded = json.loads(mutants.VECTORS.read_text())
    indices: list[int] = recorded["mutants"]
    assert recorded["digest"] == mutants.digest([chosen[i] for i in indices]), (
        "record again: python -m tests.verifier.mutants"
    )
    assert len(indices) >= mutants.N_RECORDED
    assert recorded["verdicts"] == [verdicts[i] for i in indices]
    assert recorded["verdicts"] == [x if isinstance(x, bool) else None for x in (single()[i] for i in indices)]
    assert {True, False} <= set(recorded["verdicts"])
    for i in indices[:: len(indices) // 3]:
        assert mutants.slow_verdict(chosen[i]) is verdicts[i]


def test_the_slow_verifier_agrees_on_what_is_malformed() -> None:
    chosen, verdicts = everything()
    malformed = [i for i, verdict in enumerate(verdicts) if verdict is None]
    for i in malformed[:: len(malformed) // 150]:
        assert mutants.slow_verdict(chosen[i]) is None, chosen[i].kind


def test_the_book_makes_the_points_of_py_ecc() -> None:
    book = exponents.Book()
    for k in (1, 2, 255, 256, 257, 2**200 + 12345, pari.R - 1):
        assert book.point(k) == pari.encode_g1(pari.multiply(pari.G1, k))
        assert book.log(book.point(k)) == k
    a = exponents.lift(4)
    while a is None or exponents.multiple(pari.R, a)[2] == 0:
        a = exponents.lift(int(np.random.default_rng(1).integers(1 << 40)))
    assert pari.is_inf(pari.multiply((pari.FQ(a[0]), pari.FQ(a[1]), pari.FQ(1)), pari.R)) is False
    for k in (1, 2, 3, 1 << 30):
        expected = pari.normalize(pari.multiply((pari.FQ(a[0]), pari.FQ(a[1]), pari.FQ(1)), k))
        assert exponents.affine(exponents.multiple(k, a)) == tuple(int(c.n) for c in expected)

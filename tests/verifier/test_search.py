"""The search for bad proofs: what it costs, what it may cost, and points outside the subgroup found by bit planes."""

import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from py_ecc.optimized_bls12_381.optimized_curve import add, multiply

import bonsai_verifier as bv
from bonsai_verifier import batch, equation, search
from bonsai_verifier.pairing import gt_div, gt_is_one
from bonsai_verifier.search import DOES_NOT_HOLD, Part, batch_cost
from bonsai_verifier.threads import Workers
from tests.reference import pari
from tests.verifier.conftest import Counted
from tests.verifier.proofs import add_torsion, arrays, claims, key, point, tiled

OUTSIDE = "on the curve, but outside the subgroup of order r"


def test_one_bad_proof_among_65536_is_named(counted: Counted) -> None:
    n, at = 1 << 16, 54_321
    proofs, inputs = tiled(n)
    proofs[at, 96] ^= 1
    assert bv.verify_batch(key(), proofs, inputs, threads=2) == bv.Verdict(False, (bv.BadProof(at, DOES_NOT_HOLD),), n)
    assert len(counted.sizes) == 1 + 16
    assert sum(counted.sizes) == n + n - 1


@pytest.mark.parametrize(
    ("bad", "at_most"),
    [
        (range(0, 1024, 32), 32 * 5 + 32),  # far apart: each costs its own way down
        (range(33), 64),  # side by side
        ([*range(32), 1023], 64),  # many first, one last: the last is found by halves too
        (range(1024), 1024),
        (range(0, 1024, 2), 1024),
    ],
)
def test_bad_proofs_cost_their_number_wherever_they_stand(counted: Counted, bad: Sequence[int], at_most: int) -> None:
    proofs, inputs = tiled(1024)
    proofs[list(bad), 96] ^= 1
    verdict = bv.verify_batch(key(), proofs, inputs)
    assert [b.index for b in verdict.bad] == list(bad)
    assert len(counted.sizes) <= at_most


def test_a_thousand_bad_among_65536_are_named(counted: Counted) -> None:
    n, k = 1 << 16, 1000
    proofs, inputs = tiled(n)
    bad = np.random.default_rng(7).choice(n, k, replace=False)
    proofs[bad, 96] ^= 1
    verdict = bv.verify_batch(key(), proofs, inputs, threads=2)
    assert [b.index for b in verdict.bad] == sorted(bad.tolist())
    assert not verdict.undecided
    assert len(counted.sizes) <= 1 + k * (1 + np.log2(n / k))


@pytest.mark.parametrize("n", range(1, 10))
def test_every_set_of_bad_proofs_is_named(n: int) -> None:
    proofs, inputs = arrays(claims(n))
    for at in range(1, 1 << n, max(1, (1 << n) // 24)):
        bad = [i for i in range(n) if at >> i & 1]
        broken = proofs.copy()
        broken[bad, 96] ^= 1
        assert [b.index for b in bv.verify_batch(key(), broken, inputs).bad] == bad


def test_the_value_of_a_right_half_is_a_quotient() -> None:
    proofs, inputs = arrays(claims(6))
    proofs[[1, 4], 96] ^= 1
    c = batch._read(key(), proofs, inputs, bytes(32), Workers(1)).claims
    weights = batch.draw_weights(6)

    def value(rows: slice) -> NDArray[np.uint64]:
        return equation.value([(key(), equation.sums(key(), c[rows], weights[rows]))])

    whole, left, right = value(slice(6)), value(slice(3)), value(slice(3, 6))
    assert np.array_equal(gt_div(whole, left), right)
    assert not gt_is_one(right)
    assert gt_is_one(value(slice(2, 4)))


# Limits ----------------------------------------------------------------------------------------------------------------------


def spent(calls: Counted) -> float:
    """The cost of the partial batches, in the unit of the limit: what came after the whole."""
    n = calls.sizes[0]
    parts = [Part(0, np.arange(2 * size), equation.product([]), search.Membership.SHOWN) for size in calls.sizes[1:]]
    halving = sum(search._PAIRING_COST + len(part.rows) / 2 * search._SUMS_SHARE for part in parts)
    return halving / batch_cost(n)


@pytest.mark.parametrize("limit", [0, 0.3, 1, 2.5])
@pytest.mark.parametrize("bad", [range(1024), range(0, 1024, 2), range(0, 1024, 64), range(512), range(3)], ids=str)
def test_a_limit_is_kept_and_what_is_open_is_said(counted: Counted, bad: Sequence[int], limit: float) -> None:
    n = 1024
    proofs, inputs = tiled(n)
    proofs[list(bad), 96] ^= 1
    verdict = bv.verify_batch(key(), proofs, inputs, search_limit=limit)
    assert not verdict
    assert spent(counted) <= limit
    named = {b.index for b in verdict.bad}
    assert named <= set(bad)
    assert set(bad) <= named | set(verdict.undecided)
    assert not named & set(verdict.undecided)
    assert list(verdict.undecided) == sorted(set(verdict.undecided))
    assert {b.reason for b in verdict.bad} <= {DOES_NOT_HOLD}
    if limit == 0:
        assert verdict.undecided == tuple(range(n))


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    proofs, inputs = tiled(256)
    proofs[[3, 77], 96] ^= 1
    expected = bv.verify_batch(key(), proofs, inputs)
    assert bv.verify_batch(key(), proofs, inputs, search_limit=100) == expected
    assert not expected.undecided
    good, inputs = tiled(64)
    assert bv.verify_batch(key(), good, inputs, search_limit=0) == bv.Verdict(True, (), 64)


def test_a_limited_search_still_names_some_where_all_are_bad() -> None:
    """It follows proofs down; level by level it would end with nothing decided."""
    proofs, inputs = tiled(8192)
    proofs[:, 96] ^= 1
    verdict = bv.verify_batch(key(), proofs, inputs, search_limit=1)
    assert len(verdict.bad) >= 2
    assert len(verdict.bad) + len(verdict.undecided) == 8192


ALL_FAIL = {
    "false": (False, search.Membership.SHOWN),
    "outside": (True, search.Membership.REFUTED),
    "both": (False, search.Membership.REFUTED),
}


@pytest.mark.parametrize(
    ("limit", "kind", "sizes"),
    [
        (1, "false", [6000, 7000, 8191, 20_000, 65_536]),
        (5, "false", [2, 3, 17, 33, 51, 128, 500, 1000]),
        (5, "outside", [128, 255, 256, 513, 2000, 65_536]),
        (5, "both", [128, 255, 256, 513, 2000, 65_536]),
    ],
)
def test_a_limit_that_pays_a_way_down_decides_something_whatever_is_sent(
    monkeypatch: pytest.MonkeyPatch, limit: int, kind: str, sizes: list[int]
) -> None:
    """As docs/verifier.md says, by the costs alone: every part that can fail does."""
    holds, membership = ALL_FAIL[kind]
    monkeypatch.setattr(Part, "holds", holds)
    value = np.zeros(72, np.uint64)

    def open_part(part: Part) -> Any:
        if part.membership is not search.Membership.SHOWN and len(part.rows) < batch.PLANES_FROM:
            return [(int(row), OUTSIDE) for row in part.rows], []
        if part.membership is search.Membership.OPEN:
            return [], [Part(0, part.rows, value, search.Membership.REFUTED)]
        if len(part.rows) == 1:
            return [(int(part.rows[0]), DOES_NOT_HOLD)], []
        left, right = np.split(part.rows, [len(part.rows) // 2])
        of_right = search.Membership.OPEN if membership is search.Membership.REFUTED else membership
        return [], [Part(0, left, value, membership), Part(0, right, value, of_right)]

    monkeypatch.setattr(search, "_open_all", lambda groups, parts, run: [open_part(part) for part in parts])
    for n in sizes:
        found = search.search([], [Part(0, np.arange(n), value, membership)], limit * batch_cost(n), os.urandom)
        assert found.bad, n
        assert len(found.bad) + sum(len(rows) for _, rows in found.undecided) == n


@pytest.mark.parametrize("n", [2, 40, batch.PLANES_FROM - 1])
def test_the_cost_of_a_part_is_that_of_all_it_may_take(n: int) -> None:
    """Tested point by point and failing: with one point outside, the value of all the others is taken too."""
    part = Part(0, np.arange(n), np.zeros(72, np.uint64), search.Membership.OPEN)
    assert not part.holds
    direct = search._DIRECT_COST * n + search._PAIRING_COST + search._SUMS_SHARE * (n - 1)
    assert direct <= part.cost <= direct + 1


def test_nobody_knows_where_a_limited_search_looks() -> None:
    """A flood in the first half leaves the one bad proof in the other half as findable as its size says, and the order differs by run."""
    n = 1024
    proofs, inputs = tiled(n)
    proofs[[*range(n // 2), n - 1], 96] ^= 1
    found = [bv.verify_batch(key(), proofs, inputs, search_limit=2, seed_for_tests=bytes([i])) for i in range(8)]
    assert any(n - 2 not in verdict.undecided for verdict in found)
    assert len({verdict.bad for verdict in found}) > 1
    repeated = bv.verify_batch(key(), proofs, inputs, search_limit=2, seed_for_tests=bytes([0]), threads=3)
    assert repeated == found[0]


@pytest.mark.parametrize("limit", [-1, float("nan"), float("inf"), -0.1])
def test_a_limit_is_a_number(limit: float) -> None:
    proofs, inputs = tiled(2)
    with pytest.raises(bv.InputError, match=r"^search_limit: "):
        bv.verify_batch(key(), proofs, inputs, search_limit=limit)


# Membership in the subgroup --------------------------------------------------------------------------------------------------


@pytest.fixture
def planes_from_8(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of 8 and more learn of membership from bit planes, as otherwise large ones do."""
    monkeypatch.setattr(batch, "PLANES_FROM", 8)
    monkeypatch.setattr(search, "PLANES_FROM", 8)


@pytest.mark.usefixtures("planes_from_8")
def test_a_low_order_component_in_a_batch_is_named(counted: Counted) -> None:
    proofs, inputs = tiled(32)
    add_torsion(proofs[5], 0)
    add_torsion(proofs[21], 48, 2)
    expected = (bv.BadProof(5, f"proof.T: {OUTSIDE}"), bv.BadProof(21, f"proof.U: {OUTSIDE}"))
    assert bv.verify_batch(key(), proofs, inputs) == bv.Verdict(False, expected, 32)
    assert counted.membership[0] == 32


@pytest.mark.parametrize("n", [5, batch.PLANES_FROM - 1, batch.PLANES_FROM])
def test_of_several_faults_the_first_is_named_and_the_subgroup_last(n: int) -> None:
    proofs, inputs = tiled(n)
    for at in (0, 48):
        add_torsion(proofs[0], at)
        add_torsion(proofs[1], at)
    add_torsion(proofs[2], 0)
    add_torsion(proofs[3], 48)
    proofs[1, 96:] = inputs[1, 0] = inputs[2, 1] = 255
    proofs[3, 0] = 0
    fields = ["proof.T", "proof.v", "public[1]", "proof.T"]
    for data in (inputs, [[int.from_bytes(x.tobytes(), "little") for x in row] for row in inputs]):
        bad = bv.verify_batch(key(), proofs, data).bad
        assert [(b.index, b.reason.partition(":")[0]) for b in bad] == list(enumerate(fields))
        assert [OUTSIDE in b.reason for b in bad] == [True, False, False, False]
    for i, field in enumerate(fields):
        with pytest.raises((bv.WireError, bv.InputError), match=rf"^{re.escape(field)}: "):
            bv.verify(key(), inputs[i], proofs[i].tobytes())
    with pytest.raises(bv.WireError, match=r"^proof\.v: "):
        bv.decode_proof(proofs[1].tobytes())


@pytest.mark.usefixtures("planes_from_8")
def test_membership_is_looked_for_by_halves(counted: Counted) -> None:
    proofs, inputs = tiled(64)
    add_torsion(proofs[37], 48)
    verdict = bv.verify_batch(key(), proofs, inputs)
    assert verdict.bad == (bv.BadProof(37, f"proof.U: {OUTSIDE}"),)
    assert sorted(counted.membership) == [4, 8, 8, 16, 16, 32, 64]  # two a level at most; then point by point
    assert counted.sizes == [64]  # nothing else was wrong


@pytest.mark.usefixtures("planes_from_8")
def test_false_proofs_and_low_order_components_together(counted: Counted) -> None:
    proofs, inputs = tiled(48)
    for i in (3, 4, 20, 40):
        add_torsion(proofs[i], 48 * (i % 2))
    proofs[[4, 9, 20, 33, 47], 96] ^= 1
    proofs[11, 0] = 0
    verdict = bv.verify_batch(key(), proofs, inputs)
    outside = {i: f"proof.{'TU'[i % 2]}: {OUTSIDE}" for i in (3, 4, 20, 40)}
    false = dict.fromkeys((9, 33, 47), DOES_NOT_HOLD)
    assert {b.index: b.reason.removesuffix("; points travel compressed") for b in verdict.bad} == (
        outside | false | {11: "proof.T: the compression flag is unset"}
    )


@pytest.mark.usefixtures("planes_from_8")
def test_no_sums_are_taken_of_nothing(counted: Counted) -> None:
    """Where every proof of a part has a point outside, nothing is left whose value could be asked for."""
    proofs, inputs = tiled(16)
    proofs[:, 96] ^= 1
    for proof in proofs:
        add_torsion(proof, 0)
    assert len(bv.verify_batch(key(), proofs, inputs).bad) == 16
    assert 0 not in counted.sizes


@pytest.mark.usefixtures("planes_from_8")
def test_low_order_components_that_cancel_are_named() -> None:
    """t in one proof and -t in another, all in T or all in U, or in every proof: no sum of equal weights would show them."""
    for at in (0, 48):
        proofs, inputs = tiled(16)
        add_torsion(proofs[2], at, 1)
        add_torsion(proofs[3], at, 2)
        assert [b.index for b in bv.verify_batch(key(), proofs, inputs).bad] == [2, 3]
        for i in range(16):
            add_torsion(proofs[i], at, 1)
        verdict = bv.verify_batch(key(), proofs, inputs)
        assert [b.index for b in verdict.bad] == [i for i in range(16) if i != 3]  # 2 t + t = O


@pytest.mark.usefixtures("planes_from_8")
def test_a_sum_alone_would_pass_one_time_in_three(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planes are needed: with weights that are multiples of 3 the sums lie in G1, and the equation holds."""
    proofs, inputs = tiled(9)
    add_torsion(proofs[2], 48)
    original: Callable[..., Any] = batch.draw_weights

    def multiples(n: int, seed: bytes | None = None, run: object = None) -> NDArray[np.uint64]:
        weights: NDArray[np.uint64] = original(n, seed)
        weights[:, 0] = np.arange(3, 3 * n + 3, 3)
        weights[:, 1] = 0
        return weights

    monkeypatch.setattr(batch, "draw_weights", multiples)
    c = batch._read(key(), proofs, inputs, bytes(32), Workers(1)).claims
    sums = equation.sums(key(), c, multiples(9), test=True)
    assert gt_is_one(equation.value([(key(), sums)]))
    assert equation.in_g1_many(np.array([sums.t, sums.u])).all()
    assert not sums.in_subgroup
    assert [b.index for b in bv.verify_batch(key(), proofs, inputs).bad] == [2]


@pytest.mark.usefixtures("planes_from_8")
@pytest.mark.parametrize("limit", [0, 1, 4])
def test_a_limit_holds_for_membership_too(limit: float) -> None:
    proofs, inputs = tiled(32)
    for i in range(0, 32, 3):
        add_torsion(proofs[i], 0)
    verdict = bv.verify_batch(key(), proofs, inputs, search_limit=limit)
    named = {b.index for b in verdict.bad}
    assert not verdict
    assert named <= set(range(0, 32, 3)) <= named | set(verdict.undecided)


@pytest.mark.usefixtures("planes_from_8")
def test_a_component_of_any_order_is_seen() -> None:
    """Points of the curve times r are what lies outside: of every order that divides the cofactor."""
    cofactor = 0x396C8C005555E1568C00AAAB0000AAAB
    x = 4
    while True:
        root = pow(x**3 + 4, (pari.P + 1) // 4, pari.P)
        if root * root % pari.P == (x**3 + 4) % pari.P:
            break
        x += 1
    outside = multiply((pari.FQ(x), pari.FQ(root), pari.FQ(1)), pari.R)
    proofs, inputs = tiled(10)
    for i, factor in enumerate([1, cofactor // 3 // 121, 11, 10177]):
        t = multiply(outside, factor)
        assert not pari.is_inf(t)
        proofs[i, 48:96] = np.frombuffer(pari.encode_g1(add(point(proofs[i, 48:96].tobytes()), t)), np.uint8)
    assert [b.index for b in bv.verify_batch(key(), proofs, inputs).bad] == [0, 1, 2, 3]


def test_the_pairing_does_not_see_low_order_components() -> None:
    """What makes a quotient right although points outside the subgroup went into the whole."""
    proofs, inputs = tiled(4)
    moved = proofs.copy()
    for i in range(4):
        add_torsion(moved[i], 48 * (i % 2), 1 + i % 2)
    weights = batch.draw_weights(4)
    values = []
    for rows in (proofs, moved):
        d = batch.decode_proofs(rows, subgroup=False)
        c = equation.claims(key(), np.zeros(32, np.uint8), inputs, proofs[:, :48].copy(), d.T, d.U, d.v)
        values.append(equation.value([(key(), equation.sums(key(), c, weights))]))
    assert np.array_equal(*values)

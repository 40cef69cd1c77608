"""Several keys in one call: one product of pairings, a verdict each."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bonsai_verifier as bv
from bonsai_verifier import batch, equation, pairing
from bonsai_verifier.search import DOES_NOT_HOLD
from tests.reference import pari
from tests.verifier.conftest import Counted
from tests.verifier.proofs import ALPHA, CONTEXT, DELTA, OUTLINED, TAU, Claim, claim, claims, curve_key, key

# Three circuits: another delta, which every circuit has; another domain; another tau
KEYS = (key(), key(delta=DELTA + 1), key(n=8, delta=DELTA + 2))
FOREIGN = pari.CurveKey(OUTLINED, 6, alpha=ALPHA + 1, tau=TAU + 1, delta=DELTA + 3)


def makers() -> list[Any]:
    return [
        curve_key,
        lambda: curve_key(delta=DELTA + 1),
        lambda: curve_key(n=8, delta=DELTA + 2),
        lambda: FOREIGN,
    ]


MAKERS = makers()
ALL_KEYS = (*KEYS, bv.decode_verifying_key(FOREIGN.vk_bytes, allow_development=True))


def group(i: int, n: int, first: int = 3) -> tuple[bv.VerifyingKey, list[bytes], list[list[int]]]:
    chosen = [claim(first + w, maker=MAKERS[i]) for w in range(n)]
    return ALL_KEYS[i], [c.proof for c in chosen], [c.inputs for c in chosen]


@pytest.fixture
def products(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pairs each product of pairings had."""
    sizes: list[int] = []
    original = pairing.product

    def counted(pairs: Sequence[Any]) -> NDArray[np.uint64]:
        sizes.append(len(pairs))
        return original(pairs)

    monkeypatch.setattr(equation, "product", counted)
    return sizes


def test_four_keys_take_one_product_of_pairings(products: list[int]) -> None:
    batches = [group(i, n) for i, n in enumerate((4, 1, 3, 2))]
    assert bv.verify_batches(batches) == [bv.Verdict(True, (), n) for n in (4, 1, 3, 2)]
    assert products == [7]  # four deltas, two taus, [1]: three share tau
    products.clear()
    assert bv.verify_batches([batches[0], batches[3]])[1].valid
    assert products == [5]  # 2 K + 1
    products.clear()
    assert all(bv.verify_batches([batches[0], batches[0]]))
    assert products == [3]  # one key


def test_each_batch_has_its_own_verdict(products: list[int]) -> None:
    batches = [group(i, 4) for i in range(4)]
    batches[1][1][2] = batches[1][1][3]
    batches[3][1][0] = b""
    first, second, third, fourth = bv.verify_batches(batches)
    assert first == third == bv.Verdict(True, (), 4)
    assert second == bv.Verdict(False, (bv.BadProof(2, DOES_NOT_HOLD),), 4)
    assert fourth == bv.Verdict(False, (bv.BadProof(0, "proof: 0 bytes, expected 128"),), 4)
    assert products[0] == 7
    assert products[1:4] == [3, 3, 3]  # of four values the last is a quotient
    assert len(products) == 4 + 2  # halves of the one that fails


@pytest.mark.parametrize("at", range(4))
def test_bad_proofs_of_any_key_are_named_as_if_alone(at: int) -> None:
    batches = [group(i, 3) for i in range(4)]
    for row in (0, 2):
        batches[at][1][row] = batches[at][1][row][:96] + bytes(32)
    for threads in (1, 2):
        assert bv.verify_batches(batches, threads=threads) == [bv.verify_batch(*b) for b in batches]


def test_a_proof_under_another_key_of_the_call_is_false() -> None:
    """The same three batches under each other's keys: nothing of one key's sums may stand in for another's."""
    batches = [group(i, 2) for i in range(3)]
    exchanged = [(ALL_KEYS[(i + 1) % 3], proofs, inputs) for i, (_, proofs, inputs) in enumerate(batches)]
    for verdict in bv.verify_batches(exchanged):
        assert [b.reason for b in verdict.bad] == [DOES_NOT_HOLD] * 2


def test_errors_that_cancel_between_keys_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """v + d under one key and v - d' under another: with equal weights the whole product is 1."""
    t = [7, 9]
    proofs = []
    for i, (error, maker) in enumerate([(5, curve_key()), (-5, curve_key(delta=DELTA + 1))]):
        toy = maker.toy
        inputs, v = [1, 2], 8
        r = toy.challenge(inputs, t[i], bytes(32))
        v_p = (v + pari.poly_eval(toy.x_a(inputs), r)) ** 2
        # delta T - (tau - r) U - alpha v - v_p = error
        u = (toy.delta * t[i] - toy.alpha * v - v_p - error) * pari.inverse(toy.tau - r) % pari.R
        proofs.append((ALL_KEYS[i], [maker.encode(pari.ToyProof(t[i], u, v))], [inputs]))
    assert [v.valid for v in bv.verify_batches(proofs)] == [False, False]
    equal: NDArray[np.uint64] = np.tile(np.array([[77, 0, 0, 0]], np.uint64), (2, 1))
    monkeypatch.setattr(batch, "draw_weights", lambda n, seed, run: equal[:n])
    assert all(bv.verify_batches(proofs))


def test_no_batches_and_empty_ones() -> None:
    assert bv.verify_batches([]) == []
    empty: tuple[bv.VerifyingKey, list[bytes], list[list[int]]] = (key(), [], [])
    assert bv.verify_batches([empty, group(1, 2), empty]) == [bv.Verdict(True, (), n) for n in (0, 2, 0)]
    bad = (key(), [claim(3).proof[:-1]], [claim(3).inputs])
    assert [v.n for v in bv.verify_batches([empty, bad])] == [0, 1]


def test_contexts_are_of_a_batch() -> None:
    c, d = claim(5, CONTEXT), claim(3)
    batches = [(key(), [c.proof], [c.inputs], CONTEXT), (key(), [d.proof, d.proof], [d.inputs, d.inputs])]
    assert all(bv.verify_batches(batches))
    assert not bv.verify_batches([(*batches[1][:3], CONTEXT)])[0]


def test_an_error_says_which_batch() -> None:
    good = group(0, 1)
    for wrong, field in (
        ((key(), [b""], []), "batches[1].public_inputs"),
        ((key(), b"", []), "batches[1].proofs"),
        ((key(), [], [], b"short"), "batches[1].context"),
        ((key(), []), "batches[1]"),
    ):
        with pytest.raises(bv.InputError) as caught:
            bv.verify_batches([good, wrong])  # type: ignore[list-item]
        assert caught.value.field == field
    with pytest.raises(bv.InputError, match=r"^search_limit"):
        bv.verify_batches([good], search_limit=-1)


def test_a_limit_is_on_all_searches_together(counted: Counted) -> None:
    def all_bad(i: int) -> tuple[bv.VerifyingKey, list[bytes], list[list[int]]]:
        vk, proofs, inputs = group(i, 16)
        return vk, [p[:96] + bytes(32) for p in proofs], inputs

    verdicts = bv.verify_batches([all_bad(0), all_bad(1)], search_limit=1)
    assert not any(verdicts)
    assert len(counted.sizes) - 2 == 1  # 132 units: one partial batch
    for verdict in verdicts:
        assert len(verdict.bad) + len(verdict.undecided) == 16


def test_weights_differ_between_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[NDArray[np.uint64]] = []
    original = equation.sums

    def seen(vk: Any, c: Any, weights: NDArray[np.uint64], **named: Any) -> Any:
        drawn.append(weights)
        return original(vk, c, weights, **named)

    monkeypatch.setattr(equation, "sums", seen)
    assert all(bv.verify_batches([group(0, 3), group(0, 3)]))
    assert len({row.tobytes() for row in np.concatenate(drawn)}) == 6


def test_one_batch_is_verify_batch() -> None:
    chosen: list[Claim] = claims(5)
    proofs, inputs = [c.proof for c in chosen], [c.inputs for c in chosen]
    proofs[1] = proofs[0]
    assert bv.verify_batches([(key(), proofs, inputs)]) == [bv.verify_batch(key(), proofs, inputs)]

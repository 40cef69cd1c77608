"""What must never pass a verifier, and what must: single proofs, batches, and the two compared with a slow reference."""

import os
import random
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from py_ecc.optimized_bls12_381.optimized_curve import G1, add, multiply, neg

import bonsai_verifier as bv
from bonsai_verifier import batch, equation
from bonsai_verifier.batch import IN_DOMAIN
from bonsai_verifier.field import fr_to_ints, limbs_from_ints
from bonsai_verifier.search import DOES_NOT_HOLD
from bonsai_verifier.threads import Workers
from bonsai_verifier.wire import decode_proofs
from tests.reference import pari
from tests.verifier.proofs import (
    ALPHA,
    CONTEXT,
    DELTA,
    FALSE,
    INFINITY,
    OUTLINED,
    SYSTEM,
    TAU,
    TORSION,
    Claim,
    R,
    arrays,
    challenge_of,
    check,
    claim,
    claims,
    curve_key,
    flipped,
    key,
    outcome,
    point,
    slow_outcome,
    with_t,
    with_u,
    with_v,
)

# One proof -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [5 + 1, 8, 11, 12, 19, 33])
def test_a_true_proof_is_accepted_in_every_domain(n: int) -> None:
    c = claim(7, maker=lambda: curve_key(n))
    assert bv.verify(key(n), c.inputs, c.proof)


def test_inputs_may_be_bytes() -> None:
    c = claim(3)
    rows = np.frombuffer(b"".join(x.to_bytes(32, "little") for x in c.inputs), np.uint8).reshape(2, 32)
    assert bv.verify(key(), rows, c.proof)
    assert bv.verify(key(), tuple(c.inputs), bytearray(c.proof))


def test_every_flipped_byte_of_a_proof_is_rejected() -> None:
    c = claim(3)
    assert outcome(c) is True
    for i in range(128):
        for bit in (1, 0x80):
            got = outcome(Claim(c.inputs, flipped(c.proof, i, bit)))
            assert got is False or got == ("proof.T" if i < 48 else "proof.U" if i < 96 else "proof.v")


def test_every_flipped_byte_of_a_public_input_is_rejected() -> None:
    c = claim(3)
    for j in range(2):
        for i in range(32):
            x = int.from_bytes(flipped(c.inputs[j].to_bytes(32, "little"), i), "little")
            inputs = [*c.inputs[:j], x, *c.inputs[j + 1 :]]
            assert outcome(Claim(inputs, c.proof)) in (False, f"public[{j}]")


def test_every_flipped_byte_of_a_key_is_rejected() -> None:
    c, data = claim(3), curve_key().vk_bytes

    def under(vk_bytes: bytes) -> bool | str:
        try:
            return bv.verify(bv.decode_verifying_key(vk_bytes, allow_development=True), c.inputs, c.proof)
        except bv.BonsaiError as error:
            return error.field

    assert under(data) is True
    for i in range(len(data)):
        got = under(flipped(data, i))
        assert got in (False, "public") or str(got).startswith("vk."), i


def test_every_flipped_byte_of_a_context_is_rejected() -> None:
    c = claim(5, CONTEXT)
    assert outcome(c, CONTEXT) is True
    assert outcome(c) is False
    for i in range(32):
        assert outcome(c, flipped(CONTEXT, i)) is False


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_context_has_32_bytes(size: int) -> None:
    with pytest.raises(bv.InputError, match=r"^contexts?(\[0\])?: .*expected 32"):
        bv.verify(key(), claim(3).inputs, claim(3).proof, bytes(size))


def test_public_inputs_have_one_form_and_number() -> None:
    c = claim(3)
    x, y = c.inputs
    for inputs in ([x + R, y], [R, y], [2**256 - 1, y], [x - R, y], [x, y + R]):
        assert outcome(Claim(inputs, c.proof)) in ("public[0]", "public[1]")
    for inputs in ([], [x], [x, y, 0], [x, y, y]):
        assert outcome(Claim(inputs, c.proof)) == "public"


def test_the_checks_do_not_depend_on_assert() -> None:
    c = claim(3)
    script = f"""
import bonsai_verifier as bv
vk = bv.decode_verifying_key(bytes.fromhex("{curve_key().vk_bytes.hex()}"), allow_development=True)
proof = bytes.fromhex("{c.proof.hex()}")
assert False, "removed by -O"
x, y = {c.inputs}
r = {R}
print(bv.verify(vk, [x, y], proof), bv.verify(vk, [y, x], proof))
for inputs, p in ([x + r, y], proof), ([x], proof), ([x, y, 0], proof), ([], proof), ([x, y], proof[:-1]), (
    [x, y], bytes.fromhex("{INFINITY.hex()}") + proof[48:]), ([x, y], proof[:48] + b"\\x80" + bytes(47) + proof[96:]):
    try:
        print(bv.verify(vk, inputs, p))
    except bv.BonsaiError as error:
        print(error.field)
try:
    bv.decode_verifying_key(bytes.fromhex("{curve_key().vk_bytes.hex()}"))
except bv.KeyRefused as error:
    print(error.field)
"""
    run = subprocess.run([sys.executable, "-O", "-c", script], capture_output=True, text=True, check=True)
    expected = "True False public[0] public public public proof proof.T proof.U vk.flags"
    assert run.stdout.split() == expected.split()


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda c: with_t(c, INFINITY), "proof.T"),
        (lambda c: with_u(c, INFINITY), "proof.U"),
        (lambda c: Claim(c.inputs, INFINITY * 2 + c.proof[96:]), "proof.T"),
        (lambda c: Claim(c.inputs, INFINITY * 2 + bytes(32)), "proof.T"),
        (lambda c: with_t(c, b"\x80" + bytes(47)), "proof.T"),
        (lambda c: with_u(c, b"\x80" + bytes(47)), "proof.U"),
        (lambda c: with_t(c, pari.encode_g1(add(point(c.proof[:48]), TORSION))), "proof.T"),
        (lambda c: with_u(c, pari.encode_g1(add(point(c.proof[48:96]), TORSION))), "proof.U"),
        (lambda c: with_v(c, int.from_bytes(c.proof[96:], "little") + R), "proof.v"),
        (lambda c: Claim(c.inputs, c.proof[:-1]), "proof"),
        (lambda c: Claim(c.inputs, c.proof + b"\0"), "proof"),
        (lambda c: Claim(c.inputs, b""), "proof"),
    ],
)
def test_a_malformed_proof_is_an_error(make: Callable[[Claim], Claim], field: str) -> None:
    bad = make(claim(5))
    assert outcome(bad) == field
    assert slow_outcome(bad) is None
    verdict = check([claim(3), bad, claim(4)])
    assert [b.index for b in verdict.bad] == [1]
    assert verdict.bad[0].reason.startswith(f"{field}: ")


def test_something_that_is_no_bytes_is_an_error() -> None:
    for proof in ("0" * 128, None, 5, [1] * 128):
        with pytest.raises(bv.InputError, match=r"^proof: expected 128 bytes"):
            bv.verify(key(), claim(3).inputs, proof)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", FALSE.values(), ids=FALSE.keys())
def test_a_false_proof_is_a_verdict(make: Callable[[Claim], Claim]) -> None:
    bad = make(claim(3))
    assert outcome(bad) is False
    assert check([bad]).bad == (bv.BadProof(0, DOES_NOT_HOLD),)


def test_a_proof_under_another_key_is_false() -> None:
    c = claim(3)
    for other in (key(delta=DELTA + 1), key(circuit=CONTEXT), key(n=8)):
        assert not bv.verify(other, c.inputs, c.proof)
        assert not bv.verify_batch(other, [c.proof], [c.inputs])


def test_an_unsatisfied_assignment_has_no_proof_and_a_forged_quotient_is_false() -> None:
    maker = curve_key()
    z = SYSTEM.outline_assignment([1, 9, 7, 3])
    assert not OUTLINED.is_satisfied(z)
    toy, masks = maker.toy, (5, 6)
    private = z[toy.first_private :]
    a = pari.interpolate([pari.dot(row, [0, 0, 0, *private]) for row in OUTLINED.a], 6)
    a = pari.poly_add(a, pari.poly_mul(masks, pari.vanishing(6)))
    total = pari.poly_add(a, toy.x_a(z[1:3]))
    b = pari.interpolate([pari.dot(row, z) for row in OUTLINED.b], 6)
    q, remainder = pari.divide_by_vanishing(pari.poly_add(pari.poly_mul(total, total), pari.poly_scale(b, -1)), 6)
    assert remainder
    t = toy.commit_to(private, q, masks)
    forged = toy.open_at(z[1:3], t, a, pari.poly_mul(total, total), bytes(32))
    assert outcome(Claim(z[1:3], maker.encode(forged))) is False


def test_a_simulated_proof_is_accepted_as_it_must_be() -> None:
    """Zero knowledge: who knows the trapdoors needs no witness."""
    inputs = [10, 20]
    simulated = curve_key().toy.simulate(inputs, 12345, 67890)
    assert outcome(Claim(inputs, curve_key().encode(simulated))) is True


def test_a_key_without_public_inputs() -> None:
    system = pari.SquareSystem(0, 2, ({1: 1},), ({0: 9},)).outline()
    maker = pari.CurveKey(system, 3, alpha=ALPHA, tau=TAU, delta=DELTA)
    vk = bv.decode_verifying_key(maker.vk_bytes, allow_development=True)
    proof = maker.prove([1, 1, 3], (4, 5))
    assert bv.verify(vk, [], proof)
    assert bv.verify_batch(vk, [proof] * 3, [[]] * 3).valid
    assert not bv.verify(vk, [], proof[:96] + bytes(32))
    with pytest.raises(bv.InputError, match="1 public inputs, the key takes 0"):
        bv.verify(vk, [1], proof)


# The challenge ---------------------------------------------------------------------------------------------------------------


def test_x_a_equals_the_reference() -> None:
    inputs = [[1, 2], [0, 0], [R - 1, 5], [123, 456]]
    r = [17, R - 1000, 2**200, 0]
    rows = np.frombuffer(b"".join(x.to_bytes(32, "little") for row in inputs for x in row), np.uint8).reshape(4, 2, 32)
    for n in (3, 6, 8, 627):
        wide = np.frombuffer(b"".join(x.to_bytes(64, "little") for x in r), np.uint8).reshape(4, 64)
        v = limbs_from_ints([3, 0, R - 1, 99], 4)
        _, v_p, _ = equation.statement(wide, rows, v, n)
        x_a = [pari.lagrange_sum([1, *x], n, at) for x, at in zip(inputs, r, strict=True)]
        assert fr_to_ints(v_p) == [(v_i + x) ** 2 % R for v_i, x in zip([3, 0, R - 1, 99], x_a, strict=True)]


def test_the_challenge_equals_the_reference() -> None:
    read = batch._read(
        key(), [claim(3).proof, claim(4).proof], [claim(3).inputs, claim(4).inputs], bytes(32), Workers(1)
    )
    assert fr_to_ints(read.claims.r) == [challenge_of(claim(3)), challenge_of(claim(4))]


@pytest.mark.parametrize("j", [0, 1, 2, 3, 5])
def test_a_challenge_in_the_domain_is_false(monkeypatch: pytest.MonkeyPatch, j: int) -> None:
    original: Callable[..., NDArray[np.uint8]] = vars(equation)["challenge_bytes_many"]
    root = pow(pari.root_of_unity(6), j, R)

    def stub(*args: object) -> NDArray[np.uint8]:
        out: NDArray[np.uint8] = original(*args)
        out[-1] = np.frombuffer(root.to_bytes(64, "little"), np.uint8)
        return out

    monkeypatch.setattr(equation, "challenge_bytes_many", stub)
    assert outcome(claim(3)) is False
    assert check([claim(3), claim(4), claim(5)]).bad == (bv.BadProof(2, IN_DOMAIN),)
    assert check([claim(3)]).bad == (bv.BadProof(0, IN_DOMAIN),)
    of_low_order = Claim(claim(3).inputs, (b"\x80" + bytes(47)) * 2 + bytes(32))  # x = 0, outside the subgroup
    assert outcome(of_low_order) is False
    assert check([of_low_order]).bad == (bv.BadProof(0, IN_DOMAIN),)


def test_a_challenge_in_the_domain_is_false_even_if_the_equation_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    root = pow(pari.root_of_unity(6), 4, R)
    stub = np.frombuffer(root.to_bytes(64, "little"), np.uint8)[None]
    monkeypatch.setattr(equation, "challenge_bytes_many", lambda *args: stub)
    t, v = 7, 8  # x_A(r) comes out as 0
    u = (DELTA * t - ALPHA * v - v * v) * pow(TAU - root, -1, R)
    forged = Claim([1, 2], curve_key().encode(pari.ToyProof(t, u % R, v)))
    rows, inputs = arrays([forged])
    d = decode_proofs(rows)
    c = equation.claims(key(), np.zeros(32, np.uint8), inputs, d.t_bytes, d.T, d.U, d.v)
    assert c.in_domain
    assert equation.holds(key(), c, limbs_from_ints([1], 4))
    assert outcome(forged) is False
    assert check([forged]).bad == (bv.BadProof(0, IN_DOMAIN),)


# Many proofs -----------------------------------------------------------------------------------------------------------------


def test_an_empty_batch_is_valid_and_says_that_it_is_empty() -> None:
    verdict = check([])
    assert verdict == bv.Verdict(True, (), 0)
    assert verdict
    nothing = bv.verify_batch(key(), np.empty((0, 128), np.uint8), np.empty((0, 2, 32), np.uint8))
    assert nothing == verdict


def test_a_batch_of_true_proofs_is_valid() -> None:
    for n in (1, 2, 7, 16):
        assert check(claims(n)) == bv.Verdict(True, (), n)


def test_a_batch_may_be_arrays() -> None:
    proofs, inputs = arrays(claims(5))
    assert bv.verify_batch(key(), proofs, inputs).valid
    assert bv.verify_batch(key(), proofs[::-1], inputs[::-1]).valid
    wide = np.zeros((5, 256), np.uint8)
    wide[:, 128:] = proofs
    assert bv.verify_batch(key(), wide[:, 128:], inputs).valid
    inputs[2, 1] = 255
    proofs[3, 0] = 0
    verdict = bv.verify_batch(key(), proofs, inputs)
    assert [(b.index, b.reason.partition(":")[0]) for b in verdict.bad] == [(2, "public[1]"), (3, "proof.T")]


def test_contexts_one_for_all_or_one_each() -> None:
    chosen = [claim(3), claim(5, CONTEXT)]
    proofs, inputs = [c.proof for c in chosen], [c.inputs for c in chosen]
    contexts = [bytes(32), CONTEXT]
    assert bv.verify_batch(key(), proofs, inputs, contexts).valid
    assert bv.verify_batch(key(), proofs, inputs, np.frombuffer(b"".join(contexts), np.uint8).reshape(2, 32)).valid
    assert [b.index for b in bv.verify_batch(key(), proofs, inputs).bad] == [1]
    assert [b.index for b in bv.verify_batch(key(), proofs, inputs, CONTEXT).bad] == [0]
    assert [b.index for b in bv.verify_batch(key(), proofs, inputs, contexts[::-1]).bad] == [0, 1]
    assert [b.index for b in bv.verify_batch(key(), [b"", *proofs], [[0], *inputs], [CONTEXT, *contexts]).bad] == [0]
    for wrong in ([CONTEXT], CONTEXT[1:], [CONTEXT, b""], np.zeros((3, 32), np.uint8), [CONTEXT, None]):
        with pytest.raises(bv.InputError, match=r"^context"):
            bv.verify_batch(key(), proofs, inputs, wrong)  # type: ignore[arg-type]


def test_arguments_of_different_lengths_are_an_error() -> None:
    c = claim(3)
    with pytest.raises(bv.InputError, match=r"^public_inputs: 1 for 2 proofs"):
        bv.verify_batch(key(), [c.proof] * 2, [c.inputs])
    with pytest.raises(bv.InputError, match=r"^proofs: expected a list"):
        bv.verify_batch(key(), c.proof, [c.inputs] * 128)  # type: ignore[arg-type]
    with pytest.raises(bv.InputError, match=r"^public_inputs: expected"):
        bv.verify_batch(key(), [c.proof], np.zeros((1, 3, 32), np.uint8))
    with pytest.raises(bv.InputError, match=r"^proofs: expected"):
        bv.verify_batch(key(), np.zeros((1, 127), np.uint8), [c.inputs])
    with pytest.raises(bv.InputError, match=r"^proofs: expected"):
        bv.verify_batch(key(), np.zeros((1, 128), np.int64), [c.inputs])


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        *(({"search_limit": x}, "search_limit") for x in ("1", 10**400, 1j, True, [1], np.array([1, 2]))),
        *(({"threads": x}, "threads") for x in ("1", 1.0, True, None)),
        *(({"seed_for_tests": x}, "seed_for_tests") for x in ("seed", 7, bytearray(3))),
        *(({"proofs": x}, "proofs") for x in (None, 3, "proofs", iter([]), {}, np.array(0, np.uint8))),
        *(({"public_inputs": x}, "public_inputs") for x in (None, 3, b"12", iter([]), {}, np.array(0, np.uint8))),
        *(({"contexts": x}, "contexts") for x in (None, 3, "c", iter([]), np.array(0, np.uint8))),
        *(({"vk": x}, "vk") for x in (None, b"key")),
    ],
)
def test_arguments_of_other_types_are_an_error(wrong: dict[str, Any], field: str) -> None:
    c = claim(3)
    arguments: dict[str, Any] = {"vk": key(), "proofs": [c.proof], "public_inputs": [c.inputs], "contexts": bytes(32)}
    options = {name: wrong[name] for name in wrong.keys() - arguments.keys()}
    arguments |= wrong
    of_batch = tuple(arguments[name] for name in ("vk", "proofs", "public_inputs", "contexts"))
    calls: list[tuple[str, Callable[[], Any]]] = [
        (field, lambda: bv.verify_batch(*of_batch, **options)),
        (field if options else f"batches[0].{field}", lambda: bv.verify_batches([of_batch], **options)),
    ]
    if field != "vk":
        name = field if options else f"chunks[0].{field}"
        calls.append((name, lambda: bv.verify_stream(key(), [of_batch[1:]], **options)))
    if options:
        calls.append((field, lambda: bv.verify_stream(key(), [], **options)))
    for name, call in calls:
        with pytest.raises(bv.InputError) as caught:
            call()
        assert caught.value.field == name


def test_a_limit_may_be_any_real_number() -> None:
    c = claim(3)
    for limit in (0, 1.5, np.float32(2), np.int64(3), Fraction(1, 2)):
        assert bv.verify_batch(key(), [c.proof], [c.inputs], search_limit=limit)  # type: ignore[arg-type]


def test_what_holds_no_batches_is_an_error() -> None:
    for batches, field in ((None, "batches"), (3, "batches"), ([None], "batches[0]"), ([b"123"], "batches[0]")):
        with pytest.raises(bv.InputError) as caught:
            bv.verify_batches(batches)  # type: ignore[arg-type]
        assert caught.value.field == field
    for chunks, field in ((None, "chunks"), (3, "chunks"), ([None], "chunks[0]"), ([b"12"], "chunks[0]")):
        with pytest.raises(bv.InputError) as caught:
            bv.verify_stream(key(), chunks)  # type: ignore[arg-type]
        assert caught.value.field == field


def test_rows_of_lists_may_be_arrays() -> None:
    proofs, inputs = arrays([claim(5, CONTEXT)] * 2)
    contexts = np.frombuffer(CONTEXT * 2, np.uint8).reshape(2, 32)
    assert bv.verify_batch(key(), list(proofs), list(inputs), list(contexts))
    assert bv.verify(key(), inputs[0], proofs[0], contexts[0])  # type: ignore[arg-type]
    for row, reason in ((proofs[0][:-1], "127 bytes, expected 128"), (proofs[:1], "expected 128 bytes, got ndarray")):
        verdict = bv.verify_batch(key(), [proofs[0], row], inputs, contexts)
        assert verdict.bad == (bv.BadProof(1, f"proof: {reason}"),)


def mutants(c: Claim, rng: random.Random) -> list[Claim]:
    """The false ones, malformed ones, and random bytes."""
    t, u = point(c.proof[:48]), point(c.proof[48:96])
    out = [make(c) for make in FALSE.values()]
    out += [
        with_t(c, INFINITY),
        with_u(c, INFINITY),
        with_t(c, pari.encode_g1(add(t, TORSION))),
        with_u(c, pari.encode_g1(add(u, neg(TORSION)))),
        with_u(c, b"\xa0" + bytes(47)),
        with_v(c, R),
        Claim([R, 0], c.proof),
        Claim([0], c.proof),
        Claim(c.inputs, c.proof[:-1]),
        Claim(c.inputs, rng.randbytes(128)),
    ]
    for _ in range(20):
        out.append(Claim(c.inputs, flipped(c.proof, rng.randrange(128), 1 << rng.randrange(8))))
    return out


def test_batch_equals_single_on_every_input() -> None:
    rng = random.Random(4)
    chosen = [*claims(8), *mutants(claim(3), rng), *mutants(claim(4), rng)]
    for seed in range(3):
        rng.shuffle(chosen)
        expected = {i: outcome(c) for i, c in enumerate(chosen)}
        verdict = check(chosen) if seed else check(chosen, seed_for_tests=b"any")
        assert not verdict
        assert verdict.n == len(chosen)
        assert {b.index for b in verdict.bad} == {i for i, got in expected.items() if got is not True}
        for b in verdict.bad:
            got = expected[b.index]
            assert b.reason == DOES_NOT_HOLD if got is False else b.reason.startswith(f"{got}: ")


def test_fast_equals_slow() -> None:
    rng = random.Random(5)
    false = ["-U", "2 T, 2 U", "v + 1", "inputs exchanged"]  # a second each for the slow one
    chosen = [claim(3), *[FALSE[name](claim(3)) for name in false], *mutants(claim(3), rng)[len(FALSE) : -20]]
    for c in chosen:
        fast, slow = outcome(c), slow_outcome(c)
        assert slow is (fast if isinstance(fast, bool) else None)
    c = claim(5, CONTEXT)
    assert slow_outcome(c, CONTEXT) is outcome(c, CONTEXT) is True


def test_errors_that_cancel_under_equal_weights_are_caught() -> None:
    """(tau - r_1) D_1 + (tau - r_2) D_2 = 0: with equal weights the sum holds, though neither proof does."""
    first, second = claim(3), claim(4)
    d_1 = 99
    d_2 = -(TAU - challenge_of(first)) * d_1 * pow(TAU - challenge_of(second), -1, R) % R
    chosen = [
        with_u(c, pari.encode_g1(add(point(c.proof[48:96]), multiply(G1, d)))) for c, d in ((first, d_1), (second, d_2))
    ]
    read = batch._read(key(), [c.proof for c in chosen], [c.inputs for c in chosen], bytes(32), Workers(1))
    assert equation.holds(key(), read.claims, limbs_from_ints([77, 77], 4))
    assert [b.index for b in check([claim(5), *chosen, claim(6)]).bad] == [1, 2]


def test_all_bad_and_all_malformed() -> None:
    bad = [FALSE["v + 1"](c) for c in claims(5)]
    assert check(bad).bad == tuple(bv.BadProof(i, DOES_NOT_HOLD) for i in range(5))
    verdict = check([Claim(c.inputs, b"") for c in claims(3)])
    assert verdict.bad == tuple(bv.BadProof(i, "proof: 0 bytes, expected 128") for i in range(3))


# Weights ---------------------------------------------------------------------------------------------------------------------


def test_weights_are_128_bits_of_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    assert batch._random_bytes is os.urandom
    drawn: list[bytes] = []

    def source(n: int) -> bytes:
        drawn.append(os.urandom(n))
        return drawn[-1]

    monkeypatch.setattr(batch, "_random_bytes", source)
    weights = batch.draw_weights(100)
    assert weights.shape == (100, 4)
    assert not weights[:, 2:].any()
    assert weights[:, :2].astype("<u8").tobytes() == drawn[1]
    assert len({row.tobytes() for row in weights}) == 100
    assert not np.array_equal(weights, batch.draw_weights(100))


def test_seeded_weights_repeat_and_differ_by_seed() -> None:
    assert np.array_equal(batch.draw_weights(9, b"a"), batch.draw_weights(9, b"a"))
    assert not np.array_equal(batch.draw_weights(9, b"a"), batch.draw_weights(9, b"b"))


@pytest.mark.parametrize("n", [1, 2, 10])
@pytest.mark.parametrize(
    "source",
    [
        bytes,
        lambda n: b"\1" * n,
        lambda n: (b"sixteen bytes ..") * (n // 16),
        lambda n: random.Random(0).randbytes(n),
        lambda n: random.Random(0).randbytes(n // 2 + 8) * 2,
        lambda n: os.urandom(n)[: n // 2],
        lambda n: b"",
        lambda n: os.urandom(n - 16) + bytes(16),
    ],
)
def test_a_random_source_that_is_none_is_refused(
    monkeypatch: pytest.MonkeyPatch, n: int, source: Callable[[int], bytes]
) -> None:
    monkeypatch.setattr(batch, "_random_bytes", source)
    with pytest.raises(bv.InputError, match=r"^weights: .*nothing was decided"):
        check(claims(n))


def test_a_single_zero_weight_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([os.urandom(32), os.urandom(48) + bytes(16) + os.urandom(96)])
    monkeypatch.setattr(batch, "_random_bytes", lambda n: next(answers))
    with pytest.raises(bv.InputError, match=r"^weights: .*zeros"):
        check(claims(10))


def test_weights_are_drawn_after_all_bytes_are_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    proofs, inputs = arrays(claims(4))
    contexts = np.zeros((4, 32), np.uint8)
    events: list[str] = []

    def source(n: int) -> bytes:
        events.append("weights")
        for a in (proofs, inputs, contexts):
            a[:] = 255  # too late: the batch has its own copy
        return os.urandom(n)

    original = equation.claims

    def claims_of(*args: object) -> equation.Claims:
        events.append("claims")
        return original(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(batch, "_random_bytes", source)
    monkeypatch.setattr(equation, "claims", claims_of)
    assert bv.verify_batch(key(), proofs, inputs, contexts).valid
    assert events[0] == "claims"
    assert set(events[1:]) == {"weights"}


@pytest.mark.parametrize("step", ["decode_proofs", "fr_below"])
def test_every_step_sees_the_same_bytes(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    proofs, inputs = arrays(claims(4))
    contexts = np.zeros((4, 32), np.uint8)
    original = vars(batch)[step]

    def late(*args: Any, **named: Any) -> Any:
        for a in (proofs, inputs, contexts):
            a[:] = 255  # as one who shares the caller's memory would
        return original(*args, **named)

    monkeypatch.setattr(batch, step, late)
    assert bv.verify_batch(key(), proofs, inputs, contexts).valid


# The door --------------------------------------------------------------------------------------------------------------------


def test_the_door_opens_without_numba() -> None:
    script = (
        "import sys, bonsai_verifier as bv; print('numba' in sys.modules, hasattr(bv, 'nothing'), 'verify' in dir(bv))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False", "True"]


def test_no_kernel_is_compiled_twice_for_the_same_work() -> None:
    """Whatever holds the bytes, kernels see one type of array: a second one would cost the first caller seconds."""
    inputs = [f"bytes.fromhex('{x.to_bytes(32, 'little').hex()}')" for x in claim(3).inputs]
    script = f"""
import numpy as np
import bonsai_verifier as bv
from bonsai_verifier.kernels import cache
from bonsai_verifier.transcript import blake3
vk = bv.decode_verifying_key(bytes.fromhex("{curve_key().vk_bytes.hex()}"), allow_development=True)
proof = bytes.fromhex("{claim(3).proof.hex()}")
rows = np.frombuffer({" + ".join(inputs)}, np.uint8).reshape(1, 2, 32)
assert bv.verify(vk, rows[0], proof)
assert bv.verify_batch(vk, [proof], rows.copy())
assert bv.verify_batch(vk, np.frombuffer(proof, np.uint8)[None], rows)
for buffer in (proof, bytearray(proof), rows, rows.copy()):
    blake3(buffer)
print([d.py_func.__name__ for d in cache._dispatchers if len(d.overloads) > 1])
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_everything_at_the_door_is_there() -> None:
    for name in bv.__all__:
        assert getattr(bv, name) is not None
    assert {name for names in bv._ROOMS.values() for name in names} < set(bv.__all__)

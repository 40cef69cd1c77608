"""The prover against the slow reference, byte for byte, and what must never leave it."""

import os
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from bonsai_circuits.errors import CircuitError, CircuitMismatch, InputError, KeyRefused, Unsatisfied
from bonsai_circuits.kernels.sparse import sparse_columns, sparse_rows
from bonsai_circuits.keys.proving_key import ProvingKey, with_multiples
from bonsai_circuits.keys.setup import development_setup
from bonsai_circuits.prover import pari
from bonsai_circuits.prover.pari import prove
from bonsai_circuits.r1cs.system import SparseRows, SquareR1CS
from bonsai_verifier.batch import verify
from bonsai_verifier.curve import encode_g1_many, g1_sum
from bonsai_verifier.field import Octets, Words, fr_from_ints, fr_to_canonical, fr_to_ints
from bonsai_verifier.kernels import cpu, fixed
from bonsai_verifier.parameters import FR_MODULUS
from bonsai_verifier.transcript import challenge
from bonsai_verifier.wire import encode_verifying_key
from tests.keys.test_setup import ALPHA, DELTA, DIGEST, TAU, planted, power_system, slow_system
from tests.reference import pari as reference

R = FR_MODULUS
CONTEXT = bytes(range(100, 132))
elements = st.integers(0, R - 1)

# n_rows of a system and the size of its domain: every odd part, and rows that fill the domain or not
SHAPES = [(4, 4), (5, 6), (10, 11), (19, 19), (22, 22), (31, 32), (37, 38), (55, 57), (8, 8), (24, 24), (87, 88)]


class Case:
    """A system, its key and one witness."""

    def __init__(self, n_rows: int, x: int = 3) -> None:
        self.square, self.z = power_system(n_rows, x)
        self.assignment = fr_from_ints(self.z)
        self.key = development_setup(self.square, DIGEST)
        self.public = self.z[1:3]

    def prove(self, context: bytes = bytes(32)) -> bytes:
        return prove(self.key, self.square, self.assignment, context)


@pytest.fixture(scope="module")
def case() -> Case:
    return Case(20)


def parts(proof: bytes) -> tuple[bytes, bytes, bytes]:
    return proof[:48], proof[48:96], proof[96:]


def verified(key: ProvingKey, public: list[int], proof: bytes, context: bytes = bytes(32)) -> bool:
    """The verdict of the reference, and of the verifier, which must agree."""
    slowly = reference.verify(encode_verifying_key(key.verifying_key), public, proof, context)
    assert verify(key.verifying_key, public, proof, context) == slowly
    return slowly


# Complete, and equal to the reference ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_rows", "n"), SHAPES)
def test_proofs_verify(n_rows: int, n: int) -> None:
    case = Case(n_rows)
    assert case.key.domain_size == n
    proof = case.prove(CONTEXT)
    assert len(proof) == 128
    assert verified(case.key, case.public, proof, CONTEXT)


def test_proofs_of_another_input_context_or_key_do_not_verify(case: Case) -> None:
    proof = case.prove(CONTEXT)
    assert verified(case.key, case.public, proof, CONTEXT)
    assert not verified(case.key, [case.public[0], case.public[1] + 1], proof, CONTEXT)
    assert not verified(case.key, case.public, proof)
    assert not verified(Case(20).key, case.public, proof, CONTEXT)
    t, u, v = parts(proof)
    assert not verified(
        case.key, case.public, t + u + ((int.from_bytes(v, "little") + 1) % R).to_bytes(32, "little"), CONTEXT
    )


@pytest.mark.parametrize(("n_rows", "n"), [*SHAPES[:5], *SHAPES[-3:]])
@pytest.mark.parametrize("masks", [(0, 0), (5, 0), (0, 7), (ALPHA + 1, TAU + 1)])
def test_proofs_equal_those_of_the_reference_with_equal_masks(
    monkeypatch: pytest.MonkeyPatch, n_rows: int, n: int, masks: tuple[int, int]
) -> None:
    square, z = power_system(n_rows)
    key = development_setup(square, DIGEST, rng=planted(ALPHA, TAU, DELTA))
    monkeypatch.setattr(pari, "fresh_masks", lambda _: masks)
    slow = reference.CurveKey(slow_system(square), n, alpha=ALPHA, tau=TAU, delta=DELTA, circuit_digest=DIGEST)
    assert prove(key, square, fr_from_ints(z), CONTEXT) == slow.prove(z, masks, CONTEXT)


@pytest.mark.parametrize("n_rows", [8, 24, 88, 129, 1216])
def test_every_body_makes_the_same_proof_with_equal_masks(
    monkeypatch: pytest.MonkeyPatch, n_rows: int, vector: None
) -> None:
    square, z = power_system(n_rows)
    key = development_setup(square, DIGEST, rng=planted(ALPHA, TAU, DELTA))
    monkeypatch.setattr(pari, "fresh_masks", lambda _: (ALPHA + 1, TAU + 1))
    proofs = []
    for name in cpu.BODIES:
        with cpu.use(name):
            proofs.append(prove(key, square, fr_from_ints(z), CONTEXT))
    assert len(set(proofs)) == 1
    assert verified(key, z[1:3], proofs[0], CONTEXT)


def test_systems_without_public_inputs_are_proved() -> None:
    square, z = power_system(8, n_public=0)
    key = development_setup(square, DIGEST)
    assert verified(key, [], prove(key, square, fr_from_ints(z)))


def test_wires_that_no_row_uses_change_nothing() -> None:
    square, z = power_system(8)
    square = replace(square, n_wires=square.n_wires + 2)
    key = development_setup(square, DIGEST)
    assert verified(key, z[1:3], prove(key, square, fr_from_ints([*z, 0, 12345])))


def test_no_proof_is_handed_out_under_a_wrong_key(case: Case) -> None:
    """What a wrong element adds to a proof is not masked: such a proof would tell of the witness."""
    other = Case(20).key
    mixed = ProvingKey(case.key.verifying_key, case.key.n_private, other.t_points, case.key.u_points)
    with pytest.raises(KeyRefused):
        prove(mixed, case.square, case.assignment)
    for j in range(case.key.n_private):
        t_points = case.key.t_points.copy()
        t_points[j] = case.key.u_points[0]
        with pytest.raises(KeyRefused):
            prove(replace(case.key, t_points=t_points), case.square, case.assignment)


def test_timings_name_the_steps(case: Case) -> None:
    timings: dict[str, float] = {}
    begun: list[str] = []
    prove(case.key, case.square, case.assignment, timings=timings, on_step=begun.append)
    assert tuple(begun) == tuple(timings) == pari.STEPS
    assert all(seconds > 0 for seconds in timings.values())


@pytest.mark.parametrize("threads", [0, 1, 2])
def test_threads_share_a_proof(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(fixed, "_LEAST_JOB", 1)
    monkeypatch.setattr(pari, "fresh_masks", lambda _: (5, 7))
    case = Case(20)
    proof = prove(case.key, case.square, case.assignment, CONTEXT, threads=threads)
    assert proof == case.prove(CONTEXT)
    assert verified(case.key, case.public, proof, CONTEXT)


@pytest.mark.parametrize("threads", [-1, 1.5, "2", True])
def test_no_numbers_of_threads_are_refused(case: Case, threads: Any) -> None:
    with pytest.raises(InputError, match="threads"):
        prove(case.key, case.square, case.assignment, threads=threads)


def test_proofs_made_at_once_share_a_key_and_no_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    case, made, fresh = Case(20), [], pari.fresh_masks
    monkeypatch.setattr(pari, "fresh_masks", lambda bound: (made.append(fresh(bound)), made[-1])[1])
    with ThreadPoolExecutor(4) as pool:
        proofs = list(pool.map(lambda _: case.prove(), range(12)))
    assert len(set(proofs)) == 12
    assert len({mask for masks in made for mask in masks}) == 2 * len(made) == 24
    assert all(verified(case.key, case.public, proof) for proof in proofs[:4])


@pytest.mark.parametrize("memory", [0, 20_000, 60_000, None])
def test_proofs_are_the_same_whatever_multiples_a_key_has(memory: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pari, "fresh_masks", lambda _: (5, 7))
    case = Case(20)
    key = with_multiples(case.key, memory)
    assert memory is None or key.memory <= max(memory, case.key.memory // case.key.windows.multiples)
    assert prove(key, case.square, case.assignment, CONTEXT) == case.prove(CONTEXT)


def test_no_proof_is_handed_out_under_wrong_multiples(case: Case) -> None:
    more = case.key.multiples
    assert more is not None
    for name in ("t", "u"):
        table = getattr(more, name).copy()
        table[0] = table[0, ::-1]
        with pytest.raises(KeyRefused):
            prove(replace(case.key, multiples=replace(more, **{name: table})), case.square, case.assignment)


# Refused -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", range(1, 23))
def test_every_wire_changed_alone_breaks_a_row(case: Case, wire: int) -> None:
    z = list(case.z)
    z[wire] = (z[wire] + 1) % R
    slow = slow_system(case.square)
    failed = [
        i
        for i, (a, b) in enumerate(zip(slow.a, slow.b, strict=True))
        if (reference.dot(a, z) ** 2 - reference.dot(b, z)) % R
    ]
    with pytest.raises(Unsatisfied) as caught:
        prove(case.key, case.square, fr_from_ints(z))
    assert caught.value.field == f"row {failed[0]}"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda a: a[:-1], "assignment"),
        (lambda a: np.concatenate([a, a[:1]]), "assignment"),
        (lambda a: a.astype(np.int64), "assignment"),
        (lambda a: np.concatenate([a[1:], a[:1]]), "assignment"),
        (lambda a: np.concatenate([a[:-1], np.full((1, 4), 2**64 - 1, np.uint64)]), "assignment"),
    ],
)
def test_assignments_of_another_form_are_refused(case: Case, change: Callable[[Words], Words], field: str) -> None:
    with pytest.raises(InputError) as caught:
        prove(case.key, case.square, change(case.assignment))
    assert caught.value.field == field


@pytest.mark.parametrize("context", [b"", bytes(31), bytes(33)])
def test_contexts_of_another_length_are_refused(case: Case, context: bytes) -> None:
    with pytest.raises(InputError, match="context"):
        case.prove(context)


def test_keys_of_another_system_are_refused(case: Case) -> None:
    for n_rows in (19, 21):
        square, z = power_system(n_rows)
        with pytest.raises(CircuitMismatch, match=DIGEST.hex()):
            prove(case.key, square, fr_from_ints(z))


def test_systems_that_are_not_outlined_are_refused(case: Case) -> None:
    a = [dict(case.square.a.row(i)) for i in range(20)]
    a[5][1] = 1
    square = replace(case.square, a=SparseRows.from_rows(a))
    with pytest.raises(CircuitError, match="row 5"):
        prove(case.key, square, case.assignment)


# Masks ---------------------------------------------------------------------------------------------------------------------------------


def test_two_proofs_of_one_witness_differ_in_every_part(case: Case) -> None:
    proofs = [case.prove() for _ in range(4)]
    for i in range(3):
        assert len({parts(proof)[i] for proof in proofs}) == 4


def test_masks_are_drawn_from_the_whole_field_for_every_proof(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def draw(bound: int) -> int:
        asked.append(bound)
        return len(asked)

    monkeypatch.setattr(pari, "randbelow", draw)
    case.prove()
    case.prove()
    assert asked == [R] * 8  # two of four are masks


def test_masks_are_what_is_drawn_moved_by_what_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shift by a function of `bound` alone: uniform draws stay uniform."""

    def masks(bound: bytes, *drawn: int) -> tuple[int, int]:
        draws = iter([1, 2, *drawn])
        monkeypatch.setattr(pari, "randbelow", lambda _: next(draws))
        return pari.fresh_masks(bound)

    h0, h1 = masks(b"a", 0, 0)
    assert h0 != h1
    for s0, s1 in ((1, 0), (0, 1), (R - 1, R - h1), (ALPHA, TAU)):
        assert masks(b"a", s0, s1) == ((h0 + s0) % R, (h1 + s1) % R)
    assert not {h0, h1} & set(masks(b"b", 0, 0))
    hedge = blake3(b"a", derive_key_context=pari.MASKS_CONTEXT).digest(length=128)
    assert (h0, h1) == tuple(int.from_bytes(hedge[i : i + 64], "little") % R for i in (0, 64))


def test_a_source_set_back_between_two_proofs_repeats_no_mask(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same draws for every proof, as after a snapshot of the machine: another witness or context has other masks."""
    made: list[tuple[int, int]] = []
    fresh = pari.fresh_masks

    def recorded(bound: bytes) -> tuple[int, int]:
        draws = iter(range(10))
        monkeypatch.setattr(pari, "randbelow", lambda _: next(draws))
        made.append(fresh(bound))
        return made[-1]

    monkeypatch.setattr(pari, "fresh_masks", recorded)
    _, z = power_system(20, 4)
    case.prove()
    case.prove(CONTEXT)
    prove(case.key, case.square, fr_from_ints(z))
    assert len({mask for masks in made for mask in masks}) == 6


def test_every_attempt_at_one_proof_has_masks_of_its_own(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds: list[bytes] = []
    monkeypatch.setattr(pari, "fresh_masks", lambda bound: (bounds.append(bound), (len(bounds), 1))[1])
    challenges = iter([1, 1])  # one lies in every domain
    monkeypatch.setattr(pari, "challenge", lambda *of: next(challenges, None) or challenge(*of))
    case.prove()
    assert len(bounds) == len(set(bounds)) == 3


def test_a_source_that_starts_afresh_at_every_call_proves_nothing(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pari, "randbelow", lambda _: 5)
    with pytest.raises(InputError, match="repeats itself"):
        case.prove()


@pytest.mark.parametrize("inside", [0, 1, 7])
def test_a_challenge_in_the_domain_starts_again_with_fresh_masks(
    case: Case, monkeypatch: pytest.MonkeyPatch, inside: int
) -> None:
    n = case.key.domain_size
    in_h = pow(7, (R - 1) // n * inside, R)
    seen: list[bytes] = []

    def rigged(vk_digest: bytes, context: bytes, public_inputs: Octets, t: bytes) -> int:
        seen.append(t)
        return in_h if len(seen) < 3 else challenge(vk_digest, context, public_inputs, t)

    monkeypatch.setattr(pari, "challenge", rigged)
    proof = case.prove()
    assert len(seen) == len(set(seen)) == 3
    assert parts(proof)[0] == seen[2]
    assert verified(case.key, case.public, proof)


def test_forked_workers_use_different_masks(case: Case) -> None:
    case.prove()  # whatever state there is, the children inherit it
    read, write = os.pipe()
    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            try:
                os.write(write, case.prove())
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    data = os.read(read, 4096)
    os.close(read)
    os.close(write)
    proofs = [data[:128], data[128:], case.prove()]
    assert len(data) == 256
    for i in range(3):
        assert len({parts(proof)[i] for proof in proofs}) == 3
    assert all(verified(case.key, case.public, proof) for proof in proofs[:2])


def test_the_proof_without_masks_is_not_what_comes_out(case: Case) -> None:
    """T is no function of the witness: none of the proofs has the T of the zero masks."""
    slow = slow_system(case.square)
    toy = reference.Toy(slow, case.key.domain_size, alpha=ALPHA, tau=TAU, delta=DELTA)
    unmasked = reference.trim(toy.polynomials(case.z, (0, 0)).q)
    scalars = fr_to_canonical(np.concatenate([case.assignment[3:], fr_from_ints(unmasked)]))
    bare = encode_g1_many(g1_sum(case.key.t_points[: len(scalars)], scalars)[None]).tobytes()
    assert bare not in {parts(case.prove())[0] for _ in range(3)}


def test_masks_and_witness_are_in_no_traceback(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pari, "fresh_masks", lambda _: (TAU, DELTA))

    def fail(*_: object) -> int:
        raise MemoryError("no memory")

    monkeypatch.setattr(pari, "challenge", fail)
    with pytest.raises(MemoryError) as caught:
        prove(case.key, case.square, case.assignment)
    text = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
    for x in (TAU, DELTA):
        mont = (x << 256) % R
        forms = [str(x), f"{x:x}", *(str((mont >> (64 * i)) % 2**64) for i in range(4))]
        assert not [form for form in forms if form in text]


# Matrices -----------------------------------------------------------------------------------------------------------------------------


@given(
    rows=st.lists(st.dictionaries(st.integers(0, 6), st.integers(1, R - 1), max_size=5), min_size=1, max_size=6),
    z=st.lists(elements, min_size=7, max_size=7),
    y=st.lists(elements, min_size=6, max_size=6),
)
def test_matrix_products_equal_the_definition(rows: list[dict[int, int]], z: list[int], y: list[int]) -> None:
    m = SparseRows.from_rows(rows)
    by_rows, by_columns = np.empty((len(rows), 4), np.uint64), np.empty((7, 4), np.uint64)
    sparse_rows(by_rows, m.start, m.wire, m.coeff, fr_from_ints(z))
    sparse_columns(by_columns, m.start, m.wire, m.coeff, fr_from_ints(y))
    assert fr_to_ints(by_rows) == [sum(c * z[j] for j, c in row.items()) % R for row in rows]
    assert fr_to_ints(by_columns) == [
        sum(row.get(j, 0) * y_i for row, y_i in zip(rows, y, strict=False)) % R for j in range(7)
    ]


def test_large_systems_are_proved_as_small_ones() -> None:
    """The size of the spend circuit: 1,216 = 19 * 64 rows."""
    case = Case(1216, x=5)
    assert case.key.domain_size == 1216
    assert verified(case.key, case.public, case.prove(CONTEXT), CONTEXT)


def test_the_square_system_is_left_alone(case: Case) -> None:
    before = [x.copy() for m in (case.square.a, case.square.b) for x in (m.start, m.wire, m.coeff)] + [
        case.assignment.copy()
    ]
    case.prove()
    square: SquareR1CS = case.square
    after = [x for m in (square.a, square.b) for x in (m.start, m.wire, m.coeff)] + [case.assignment]
    assert all(np.array_equal(x, y) for x, y in zip(before, after, strict=True))

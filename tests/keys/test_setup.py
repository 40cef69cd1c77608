"""The development setup against exponents computed slowly, and everything that must be refused in keys."""

import os
import pickle
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from py_ecc.optimized_bls12_381.optimized_curve import G1, multiply

from bonsai_circuits.artifacts import sections
from bonsai_circuits.artifacts.sections import open_sections, write_sections
from bonsai_circuits.errors import CircuitError, CircuitMismatch, FileDamaged, InputError, KeyRefused
from bonsai_circuits.keys import setup
from bonsai_circuits.keys.domain import Domain
from bonsai_circuits.keys.proving_key import (
    KIND,
    ProvingKey,
    T,
    U,
    check_multiples,
    read_proving_key,
    write_proving_key,
)
from bonsai_circuits.keys.setup import development_setup, require_outlined
from bonsai_circuits.r1cs.system import Origins, SparseRows, SquareR1CS
from bonsai_verifier.curve import encode_g1_many, g1_sum
from bonsai_verifier.field import Words, fp_from_ints, fp_to_ints, limbs_from_ints
from bonsai_verifier.parameters import FP_MODULUS, FR_MODULUS
from bonsai_verifier.wire import decode_verifying_key, encode_verifying_key
from tests.reference import pari as reference

R = FR_MODULUS
TABLES = {"t points", "u points", "t multiples", "u multiples"}
DIGEST = bytes(range(32))
ALPHA, TAU, DELTA = 0x1234567890ABCDEF << 100, 0xFEDCBA987654321 << 150, 0xC0FFEE1234567 << 120
Row = dict[int, int]
System = tuple[SquareR1CS, list[int]]


# Systems, and assignments that satisfy them --------------------------------------------------------------------------------------


def square_system(n_public: int, n_wires: int, a: list[Row], b: list[Row]) -> SquareR1CS:
    origins = Origins.unknown(len(a))
    names = tuple(f"wire {i}" for i in range(n_wires))
    return SquareR1CS(
        names[1 : n_public + 1], n_wires, SparseRows.from_rows(a), SparseRows.from_rows(b), names, origins
    )


def power_system(n_rows: int, x: int = 3, n_public: int = 2) -> System:
    """Outlined, of exactly n_rows rows: s_(i+1) = (s_i + 1)^2 - 2 from a secret s_0 = x to the public input x_1; x_j = j beyond it.

    The ones and twos are multiples of the private copy of one, so rows have several terms in A and in B.
    """
    first, k = n_public + 1, n_rows - n_public - 1
    secret = [x]
    for _ in range(k):
        secret.append(((secret[-1] + 1) ** 2 - 2) % R)
    instance = [1, secret[-1], *range(2, n_public + 1)][:first]
    copy_of_one, copy_of_x1 = first, first + 1
    wires = [2 * first + i for i in range(k + 1)]
    if n_public:
        wires[k] = copy_of_x1
        del secret[k]
    a: list[Row] = [{j: 1, first + j: R - 1} for j in range(first)]
    b: list[Row] = [{} for _ in range(first)]
    for i in range(k):
        a.append({wires[i]: 1, copy_of_one: 1})
        b.append({wires[i + 1]: 1, copy_of_one: 2})
    z = [*instance, *instance, *secret]
    return square_system(n_public, len(z), a, b), z


def slow_system(square: SquareR1CS) -> reference.SquareSystem:
    rows = ([dict(matrix.row(i)) for i in range(square.n_rows)] for matrix in (square.a, square.b))
    a, b = map(tuple, rows)
    return reference.SquareSystem(len(square.public), square.n_wires, a, b)


def planted(*trapdoors: int) -> Callable[[int], int]:
    """An rng that makes the setup draw these."""
    values = iter(trapdoors)

    def rng(bound: int) -> int:
        assert bound == R - 1
        return next(values) - 1

    return rng


def encoded(points: Words) -> list[bytes]:
    return [row.tobytes() for row in encode_g1_many(points)]


@pytest.fixture(scope="module")
def key() -> ProvingKey:
    return development_setup(power_system(8)[0], DIGEST)


# What the setup makes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_rows", "n"), [(5, 6), (12, 12), (17, 19)])
def test_every_element_is_the_reference_exponent_times_the_generator(n_rows: int, n: int) -> None:
    square, _ = power_system(n_rows)
    key = development_setup(square, DIGEST, rng=planted(ALPHA, TAU, DELTA))
    toy = reference.Toy(slow_system(square), n, alpha=ALPHA, tau=TAU, delta=DELTA)
    expected = {
        "commit": toy.commit,
        "quotient": toy.quotient,
        "mask": toy.mask,
        "open_alpha": toy.open_alpha,
        "open_tau": toy.open,
    }
    for name, exponents in expected.items():
        points = [reference.encode_g1(multiply(G1, e)) for e in exponents]
        assert encoded(getattr(key, name)) == points, name
    slow = reference.CurveKey(slow_system(square), n, alpha=ALPHA, tau=TAU, delta=DELTA, circuit_digest=DIGEST)
    assert encode_verifying_key(key.verifying_key) == slow.vk_bytes


def test_setup_uses_the_smallest_domain_and_marks_the_key_as_development(key: ProvingKey) -> None:
    vk = reference.decode_verifying_key(encode_verifying_key(key.verifying_key))
    assert (vk.n, vk.n_public, vk.circuit_digest, vk.development) == (8, 2, DIGEST, True)
    assert len(key.commit) == key.n_private == 3 + 5
    assert [len(part) for part in (key.quotient, key.mask, key.open_alpha, key.open_tau)] == [11, 2, 9, 18]


def test_two_setups_share_only_the_generator() -> None:
    square, _ = power_system(6)
    first, second = (development_setup(square, DIGEST) for _ in range(2))
    assert first.verifying_key.digest != second.verifying_key.digest
    points = [set(encoded(key.t_points)) | set(encoded(key.u_points)) for key in (first, second)]
    assert points[0] & points[1] == set(encoded(first.open_tau[:1]))


@pytest.mark.parametrize(
    "bad",
    [
        (1, TAU, DELTA),
        (ALPHA, 1, DELTA),
        (ALPHA, TAU, 1),
        (R - 1, TAU, DELTA),
        (ALPHA, TAU, R - 1),
        (TAU, TAU, DELTA),
        (ALPHA, DELTA, DELTA),
        (ALPHA, TAU, ALPHA),
        (ALPHA, pow(Domain(8).root, 3, R), DELTA),
    ],
)
def test_trivial_and_equal_trapdoors_are_drawn_again(bad: tuple[int, int, int]) -> None:
    square, _ = power_system(8)
    good = development_setup(square, DIGEST, rng=planted(ALPHA, TAU, DELTA))
    again = development_setup(square, DIGEST, rng=planted(*bad, ALPHA, TAU, DELTA))
    assert encode_verifying_key(again.verifying_key) == encode_verifying_key(good.verifying_key)


@pytest.mark.parametrize("value", [0, 5])
def test_a_source_that_repeats_itself_makes_no_key(value: int) -> None:
    with pytest.raises(InputError, match="repeats itself"):
        development_setup(power_system(8)[0], DIGEST, rng=lambda _: value)


def test_a_wire_that_no_row_uses_has_an_infinite_element_and_no_other_has() -> None:
    square, _ = power_system(8)
    key = development_setup(replace(square, n_wires=square.n_wires + 1), DIGEST)
    assert [i for i, p in enumerate(key.commit) if not p.any()] == [key.n_private - 1]


@pytest.mark.parametrize("digest", [b"", bytes(31), bytes(33)])
def test_circuit_digests_of_another_length_are_refused(digest: bytes) -> None:
    with pytest.raises(InputError, match="circuit_digest"):
        development_setup(power_system(8)[0], digest)


# Secrets -----------------------------------------------------------------------------------------------------------------------------


def planted_forms() -> list[bytes]:
    """Every way in which the trapdoors could stand in text or bytes."""
    forms = []
    for x in (ALPHA, TAU, DELTA):
        mont = (x << 256) % R
        for y in (x, x - 1, mont):
            forms += [str(y).encode(), f"{y:x}".encode(), y.to_bytes(32, "little"), y.to_bytes(32, "big")]
        forms += [str((mont >> (64 * i)) % 2**64).encode() for i in range(4)]
    return forms


def test_trapdoors_are_in_no_repr_and_no_pickle() -> None:
    key = development_setup(power_system(8)[0], DIGEST, rng=planted(ALPHA, TAU, DELTA))
    visible = repr(key).encode() + str(key).encode() + pickle.dumps(key)
    assert not [form for form in planted_forms() if form in visible]
    fields = {"verifying_key", "n_private", "t_points", "u_points", "multiples", "_loaded"}
    assert set(ProvingKey.__slots__) == fields


@pytest.mark.parametrize("broken", ["g1_fixed_base_many", "sparse_columns", "ProvingKey"])
def test_trapdoors_are_in_no_traceback(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    def fail(*_: object) -> None:
        try:
            raise ZeroDivisionError("first")
        except ZeroDivisionError as e:
            raise MemoryError("no memory") from e

    monkeypatch.setattr(setup, broken, fail)
    with pytest.raises(MemoryError) as caught:
        development_setup(power_system(8)[0], DIGEST, rng=planted(ALPHA, TAU, DELTA))
    text = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
    assert "development_setup" in text
    assert not [form for form in planted_forms() if form in text.encode()]
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][-1] == "development_setup"


# Systems that are not outlined ---------------------------------------------------------------------------------------------------------


def rows_of(square: SquareR1CS) -> tuple[list[Row], list[Row]]:
    a, b = ([dict(matrix.row(i)) for i in range(square.n_rows)] for matrix in (square.a, square.b))
    return a, b


def edited(edit: Callable[[list[Row], list[Row]], None]) -> SquareR1CS:
    square, _ = power_system(8)
    a, b = rows_of(square)
    edit(a, b)
    return square_system(2, square.n_wires, a, b)


def swap_outline_rows(a: list[Row], b: list[Row]) -> None:
    a[0], a[1] = a[1], a[0]


def outline_row_last(a: list[Row], b: list[Row]) -> None:
    a.append(a.pop(2))
    b.append(b.pop(2))


def coefficient_two(a: list[Row], b: list[Row]) -> None:
    a[1] = {1: 2, 4: R - 2}


def opposite_signs(a: list[Row], b: list[Row]) -> None:
    a[2] = {2: R - 1, 5: 1}


def another_copy(a: list[Row], b: list[Row]) -> None:
    a[1] = {1: 1, 6: R - 1}


def copy_left_out(a: list[Row], b: list[Row]) -> None:
    a[2] = {2: 1}


def third_term(a: list[Row], b: list[Row]) -> None:
    a[0] = {**a[0], 7: 1}


def b_of_an_outline_row(a: list[Row], b: list[Row]) -> None:
    b[1] = {6: 1}


def public_wire_in_a(a: list[Row], b: list[Row]) -> None:
    a[5] = {**a[5], 1: 1}


def one_in_a(a: list[Row], b: list[Row]) -> None:
    a[7] = {**a[7], 0: 1}


def public_wire_in_b(a: list[Row], b: list[Row]) -> None:
    b[5] = {**b[5], 2: 1}


def wire_beyond_the_last(a: list[Row], b: list[Row]) -> None:
    b[6] = {100: 1}


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        (swap_outline_rows, "row 0"),
        (outline_row_last, "row 2"),
        (coefficient_two, "row 1"),
        (opposite_signs, "row 2"),
        (another_copy, "row 1"),
        (copy_left_out, "row 2"),
        (third_term, "row 0"),
        (b_of_an_outline_row, "row 1"),
        (public_wire_in_a, "row 5"),
        (one_in_a, "row 7"),
        (public_wire_in_b, "row 5"),
        (wire_beyond_the_last, "B"),
    ],
)
def test_systems_that_are_not_outlined_are_refused(edit: Callable[[list[Row], list[Row]], None], field: str) -> None:
    with pytest.raises(CircuitError) as caught:
        development_setup(edited(edit), DIGEST)
    assert caught.value.field == field


def test_outlined_systems_pass_and_the_reference_agrees() -> None:
    square, z = power_system(8)
    require_outlined(square)
    slow_system(square).check_outlined()
    assert slow_system(square).is_satisfied(z)


@pytest.mark.parametrize("n_rows", [0, 1, 2])
def test_systems_shorter_than_their_outline_are_refused(n_rows: int) -> None:
    square, _ = power_system(8)
    a, b = rows_of(square)
    with pytest.raises(CircuitError):
        require_outlined(square_system(2, square.n_wires, a[:n_rows], b[:n_rows]))


def test_ill_formed_matrices_are_refused() -> None:
    square, _ = power_system(8)
    start, wire, coeff = square.a.start, square.a.wire, square.a.coeff
    too_large = coeff.copy()
    too_large[-1] = 2**64 - 1
    descending = start.copy()
    descending[5] += 5
    broken = [
        SparseRows(start[:-1], wire, coeff),
        SparseRows(start, wire[:-1], coeff[:-1]),
        SparseRows(start, wire, coeff[:-1]),
        SparseRows(start + 1, wire, coeff),
        SparseRows(descending, wire, coeff),
        SparseRows(start, wire - wire.max() - 1, coeff),
        SparseRows(start, wire, too_large),
        SparseRows(start, wire, np.asfortranarray(coeff)),
        SparseRows(start, wire, coeff.view(np.int64)),
        SparseRows(start, wire.astype(np.int64), coeff),
        SparseRows(start, np.repeat(wire, 2)[::2], coeff),
        SparseRows(start.astype(np.int32), wire, coeff),
        SparseRows(np.repeat(start, 2)[::2], wire, coeff),
    ]
    for matrix in broken:
        with pytest.raises(CircuitError):
            require_outlined(replace(square, a=matrix))


# Files ---------------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path, key: ProvingKey) -> Path:
    path = tmp_path / "proving-key.sections"
    write_proving_key(path, key)
    return path


def test_keys_are_read_as_they_were_written(path: Path, key: ProvingKey) -> None:
    read = read_proving_key(path, DIGEST, check=True)
    assert encode_verifying_key(read.verifying_key) == encode_verifying_key(key.verifying_key)
    assert read.n_private == key.n_private
    for name in ("commit", "quotient", "mask", "open_alpha", "open_tau"):
        assert np.array_equal(getattr(read, name), getattr(key, name))
        assert not getattr(read, name).flags.writeable
    assert "private" in repr(read)


def test_the_file_is_a_function_of_the_key(path: Path, key: ProvingKey) -> None:
    data = path.read_bytes()
    write_proving_key(path, key)
    assert path.read_bytes() == data


def test_one_flipped_bit_anywhere_is_found(path: Path) -> None:
    """In the head when the file is opened; in points and multiples when they are taken, and when the key is checked."""
    data = bytearray(path.read_bytes())
    table = open_sections(path, KIND).table
    head = min(table[name].offset for name in TABLES)
    places = [*range(0, 64, 5), *range(64, head, 97), head - 1]
    places += [
        at
        for s in table.values()
        for at in (s.offset, *range(s.offset, s.offset + s.n_bytes, 1997), s.offset + s.n_bytes - 1)
    ]
    later = 0
    for at in places:
        data[at] ^= 1 << (at % 8)
        path.write_bytes(data)
        if at < head or table["u points"].offset <= at < table["u points"].offset + 96:  # the first point is looked at
            with pytest.raises(FileDamaged):
                read_proving_key(path, DIGEST)
        else:
            key = read_proving_key(path, DIGEST)
            for use in (key.points, key.points, key.check_file, key.check_points):
                with pytest.raises(FileDamaged, match=r"section . (points|multiples)"):
                    use()
            with pytest.raises(FileDamaged):
                read_proving_key(path, DIGEST, check=True)
            later += 1
        data[at] ^= 1 << (at % 8)
    assert later > 20
    path.write_bytes(data)
    read_proving_key(path, DIGEST, check=True).points()


def test_opening_a_key_reads_no_points(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    check = sections.Sections.check
    monkeypatch.setattr(
        sections.Sections, "check", lambda self, *names: (checked.extend(names), check(self, *names))[1]
    )
    key = read_proving_key(path, DIGEST)
    assert set(checked) == {"shape", "verifying key"}
    checked.clear()
    key.points()
    key.points()
    assert sorted(checked) == sorted(TABLES)


def test_infinity_in_a_file_is_refused_when_points_are_taken(path: Path, key: ProvingKey) -> None:
    for name, at in (("quotient", 0), ("mask", 1), ("open_alpha", 3), ("open_tau", 5)):
        t_points, u_points = key.t_points.copy(), key.u_points.copy()
        copy = ProvingKey(key.verifying_key, key.n_private, t_points, u_points)
        getattr(copy, name)[at] = 0
        write_proving_key(path, copy)
        with pytest.raises(KeyRefused) as caught:
            read_proving_key(path, DIGEST).points()
        assert caught.value.field == f"{name}[{at}]"


@pytest.mark.parametrize("memory", [0, 1, 15_000, 30_000, 60_000, 1 << 30, None])
def test_a_key_is_read_with_the_multiples_that_fit(path: Path, key: ProvingKey, memory: int | None) -> None:
    read = read_proving_key(path, DIGEST, memory=memory)
    one_row = (len(key.t_points) + len(key.u_points)) * 128
    assert memory is None or read.memory <= max(memory, one_row)
    assert read.memory % one_row == 0
    scalars = limbs_from_ints([5, R - 1, 0, 1, 2**250, 3, 7, 9], 4)
    for which, points in ((T, key.t_points), (U, key.u_points)):
        assert np.array_equal(read.points().sum(which, scalars), g1_sum(points[: len(scalars)], scalars))
    if memory in (None, 1 << 30):
        assert read.windows == key.windows
        check_multiples(read)


def test_what_is_not_the_multiple_of_its_point_is_named(key: ProvingKey) -> None:
    more = key.multiples
    assert more is not None
    check_multiples(key)
    for name, at in (("t", (0, 3)), ("u", (-1, -1))):
        table = getattr(more, name).copy()
        table[at] = key.t_points[0]
        with pytest.raises(KeyRefused) as caught:
            check_multiples(replace(key, multiples=replace(more, **{name: table})))
        j, i = (x % n for x, n in zip(at, table.shape, strict=False))
        assert caught.value.field == f"{name} multiples[{j}, {i}]"


def test_multiples_of_another_number_are_refused(key: ProvingKey) -> None:
    more = key.multiples
    assert more is not None
    with pytest.raises(InputError, match="t multiples"):
        replace(key, multiples=replace(more, t=more.t[1:]))
    with pytest.raises(InputError, match="u multiples"):
        replace(key, multiples=replace(more, u=more.u[:, 1:]))


@pytest.mark.parametrize("cut", [0, 10, 64, 1000, -1])
def test_truncated_files_are_refused(path: Path, cut: int) -> None:
    os.truncate(path, cut % path.stat().st_size)
    with pytest.raises(FileDamaged):
        read_proving_key(path, DIGEST)


def test_a_key_of_another_circuit_names_both_digests(path: Path) -> None:
    other = bytes(reversed(DIGEST))
    with pytest.raises(CircuitMismatch) as caught:
        read_proving_key(path, other)
    assert DIGEST.hex() in str(caught.value)
    assert other.hex() in str(caught.value)


def contents(key: ProvingKey) -> dict[str, Any]:
    assert key.multiples is not None
    return {
        "shape": {
            "private": key.n_private,
            "window bits": key.windows.bits,
            "bucket sets": key.windows.sets,
        },
        "verifying key": encode_verifying_key(key.verifying_key),
        "t points": key.t_points,
        "u points": key.u_points,
        "t multiples": key.multiples.t,
        "u multiples": key.multiples.u,
    }


def test_the_contents_of_a_file_are_these(path: Path, key: ProvingKey) -> None:
    data = path.read_bytes()
    write_sections(path, KIND, contents(key))
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("t multiples", lambda x: x[:-1]),
        ("u multiples", lambda x: x[:, 1:]),
        ("u multiples", lambda x: b""),
        ("shape", lambda x: x | {"window bits": 3}),
        ("shape", lambda x: x | {"bucket sets": 0}),
        ("shape", lambda x: x | {"bucket sets": x["bucket sets"] + 1}),
        ("shape", lambda x: {"private": x["private"]}),
        ("t points", lambda x: x[:-1]),
        ("t points", lambda x: np.concatenate([x, x[:1]])),
        ("u points", lambda x: x[1:]),
        ("u points", lambda x: np.concatenate([x, x[:1]])),
        ("u points", lambda x: x.view(np.int64)),
        ("u points", lambda x: x.reshape(-1, 6)),
        ("shape", lambda x: {"private": x["private"] + 1}),
        ("shape", lambda x: {"private": -1}),
        ("shape", lambda x: {"private": "8"}),
        ("shape", lambda x: {}),
        ("verifying key", lambda x: {}),
        ("more", lambda x: b"more"),
    ],
)
def test_missing_and_extra_elements_are_refused(
    path: Path, key: ProvingKey, name: str, change: Callable[[Any], Any]
) -> None:
    parts = contents(key)
    parts[name] = change(parts.get(name))
    write_sections(path, KIND, parts)
    with pytest.raises(FileDamaged):
        read_proving_key(path, DIGEST)


def with_points(key: ProvingKey, name: str, at: int, point: Words) -> ProvingKey:
    """The key with one element replaced, unchecked until it is made."""
    t_points, u_points = key.t_points.copy(), key.u_points.copy()
    copy = ProvingKey(key.verifying_key, key.n_private, t_points, u_points)
    getattr(copy, name)[at] = point
    return ProvingKey(key.verifying_key, key.n_private, t_points, u_points)


@pytest.mark.parametrize(
    ("name", "at"), [("quotient", 0), ("quotient", -1), ("mask", 0), ("mask", 1), ("open_alpha", 0), ("open_tau", 5)]
)
def test_points_at_infinity_are_refused(key: ProvingKey, name: str, at: int) -> None:
    with pytest.raises(KeyRefused) as caught:
        with_points(key, name, at, np.zeros(12, np.uint64))
    assert caught.value.field == f"{name}[{at % len(getattr(key, name))}]"


def test_trivial_trapdoors_and_points_of_another_setup_are_refused(key: ProvingKey) -> None:
    other = development_setup(power_system(8)[0], DIGEST)
    one, alpha = key.open_tau[0], key.open_alpha[0]
    for name, at, point in [
        ("open_tau", 1, one),
        ("open_tau", 1, alpha),
        ("open_tau", 0, alpha),
        ("open_alpha", 0, other.open_alpha[0]),
    ]:
        with pytest.raises(KeyRefused):
            with_points(key, name, at, point)
    with pytest.raises(KeyRefused):
        ProvingKey(other.verifying_key, key.n_private, key.t_points, key.u_points)


def off_the_curve(point: Words) -> Words:
    out = point.copy()
    out[6:] = fp_from_ints([fp_to_ints(point[6:].reshape(1, 6))[0] + 1])[0]
    return out


def outside_the_subgroup(_: Words) -> Words:
    return fp_from_ints([0, 2]).reshape(-1)  # (0, 2) has order 3


def not_reduced(point: Words) -> Words:
    out = point.copy()
    x = sum(int(limb) << (64 * i) for i, limb in enumerate(point[:6])) + FP_MODULUS
    out[:6] = [(x >> (64 * i)) % 2**64 for i in range(6)]
    return out


@pytest.mark.parametrize("damage", [off_the_curve, outside_the_subgroup, not_reduced])
@pytest.mark.parametrize(
    ("name", "at"), [("commit", 3), ("quotient", 4), ("mask", 1), ("open_alpha", 7), ("open_tau", 17)]
)
def test_check_names_the_point_outside_g1(
    key: ProvingKey, name: str, at: int, damage: Callable[[Words], Words]
) -> None:
    damaged = with_points(key, name, at, damage(getattr(key, name)[at]))
    key.check_points()
    with pytest.raises(KeyRefused) as caught:
        damaged.check_points()
    assert caught.value.field == f"{name}[{at}]"


def test_wrong_shapes_are_refused(key: ProvingKey) -> None:
    with pytest.raises(InputError, match="t_points"):
        ProvingKey(key.verifying_key, key.n_private + 1, key.t_points, key.u_points)
    with pytest.raises(InputError, match="u_points"):
        ProvingKey(key.verifying_key, key.n_private, key.t_points, key.u_points.astype(np.int64))


def test_the_verifying_key_decodes_and_says_that_it_is_for_development(key: ProvingKey) -> None:
    data = encode_verifying_key(key.verifying_key)
    assert decode_verifying_key(data, allow_development=True).development
    with pytest.raises(KeyRefused):
        decode_verifying_key(data)

"""The .r1cs, .wtns and .sym files: bytes as the format notes say, round trips, and every kind of damage."""

import itertools
import struct
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.artifacts.atomic import Buffer, write_atomic
from bonsai_circuits.errors import InputError, WireError
from bonsai_circuits.interop.r1cs_file import decode_r1cs, encode_r1cs, read_r1cs, write_r1cs
from bonsai_circuits.interop.sym_file import Symbols, decode_sym, encode_sym, read_sym, write_sym
from bonsai_circuits.interop.wtns_file import decode_wtns, encode_wtns, read_wtns, write_wtns
from bonsai_circuits.r1cs.system import R1CS, Origins, SparseRows, UInt64
from bonsai_verifier.field import ints_from_limbs, limbs_from_ints
from bonsai_verifier.parameters import FR_MODULUS

R = FR_MODULUS
BN128 = 21888242871839275222246405745257275088548364400416034343698204186575808495617

Rows = list[dict[int, int]]


def system(public: Sequence[str], n_wires: int, a: Rows, b: Rows, c: Rows) -> R1CS:
    names = ("one", *public, *(f"part.w[{i}]" for i in range(1 + len(public), n_wires)))
    rows = (SparseRows.from_rows(a), SparseRows.from_rows(b), SparseRows.from_rows(c))
    return R1CS(tuple(public), n_wires, *rows, names, Origins.unknown(len(a)))


def terms(rows: SparseRows) -> list[list[tuple[int, int]]]:
    return [rows.row(i) for i in range(rows.n_rows)]


def joined(buffers: Sequence[Buffer]) -> bytes:
    return b"".join(bytes(buffer) for buffer in buffers)


def section(kind: int, content: bytes) -> bytes:
    return struct.pack("<IQ", kind, len(content)) + content


def file(magic: bytes, version: int, *sections: bytes) -> bytes:
    return magic + struct.pack("<II", version, len(sections)) + b"".join(sections)


def prime(value: int = R, size: int = 32) -> bytes:
    return struct.pack("<I", size) + value.to_bytes(size, "little")


def r1cs_header(n_wires: int, n_out: int, n_in: int, n_private: int, n_rows: int, field: bytes = prime()) -> bytes:
    return section(1, field + struct.pack("<IIIIQI", n_wires, n_out, n_in, n_private, n_wires, n_rows))


def constraints(*lists: list[tuple[int, int]]) -> bytes:
    """The format notes, read slowly: three lists a row, each its length and its terms."""
    content = b""
    for one in lists:
        content += struct.pack("<I", len(one))
        for wire, coeff in one:
            content += struct.pack("<I", wire) + coeff.to_bytes(32, "little")
    return section(2, content)


def labels(*values: int) -> bytes:
    return section(3, struct.pack(f"<{len(values)}Q", *values))


# x y = z + 3: wires one, z (output), x (public input), y.
ROW = ([(2, 1)], [(3, 1)], [(0, 3), (1, 1)])
GOOD = (r1cs_header(4, 1, 1, 1, 1), constraints(*ROW), labels(0, 1, 2, 3))
GOOD_R1CS = file(b"r1cs", 1, *GOOD)
GOOD_SYM = b"1,1,0,main.z\n2,2,0,main.x\n3,3,0,main.y\n4,-1,1,main.inner.gone\n"
WTNS_HEADER = section(1, prime() + struct.pack("<I", 3))
WTNS_VALUES = section(2, b"".join(x.to_bytes(32, "little") for x in (1, R - 1, 2**200)))
GOOD_WTNS = file(b"wtns", 2, WTNS_HEADER, WTNS_VALUES)


# Round trips -----------------------------------------------------------------------------------------------------------------


@st.composite
def systems(draw: st.DrawFn) -> R1CS:
    n_public = draw(st.integers(0, 3))
    n_wires = 1 + n_public + draw(st.integers(0, 4))
    row = st.dictionaries(
        st.integers(0, n_wires - 1), st.one_of(st.just(R - 1), st.integers(1, R - 1)), max_size=n_wires
    )
    rows = draw(st.lists(st.tuples(row, row, row), max_size=5))
    a, b, c = ([three[k] for three in rows] for k in range(3))
    return system([f"x{i}" for i in range(n_public)], n_wires, a, b, c)


@given(systems())
def test_r1cs_and_sym_come_back_as_they_were(given_system: R1CS) -> None:
    symbols = decode_sym(encode_sym(given_system.wire_names))
    got = decode_r1cs(joined(encode_r1cs(given_system)), symbols)
    assert (got.public, got.n_wires, got.wire_names) == (
        given_system.public,
        given_system.n_wires,
        given_system.wire_names,
    )
    for matrix in "abc":
        assert terms(getattr(got, matrix)) == terms(getattr(given_system, matrix))


@given(systems())
def test_r1cs_bytes_are_those_of_the_format_notes(given_system: R1CS) -> None:
    lists = [
        matrix.row(i) for i in range(given_system.n_rows) for matrix in (given_system.a, given_system.b, given_system.c)
    ]
    n, n_public = given_system.n_wires, len(given_system.public)
    header = r1cs_header(n, 0, n_public, 0, given_system.n_rows)
    assert joined(encode_r1cs(given_system)) == file(b"r1cs", 1, header, constraints(*lists), labels(*range(n)))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_r1cs_sections_may_stand_in_any_order_with_unknown_ones_between(order: tuple[int, ...]) -> None:
    sections = [GOOD[i] for i in order]
    got = decode_r1cs(file(b"r1cs", 1, section(77, b"?"), *sections, section(77, b"")))
    assert got.public == ("public[0]", "public[1]")
    assert got.wire_names == ("one", "public[0]", "public[1]", "wire[3]")
    assert (terms(got.a), terms(got.b), terms(got.c)) == ([ROW[0]], [ROW[1]], [ROW[2]])
    assert got.a.wire.dtype == np.int32
    assert got.a.coeff.dtype == np.uint64


def test_r1cs_terms_are_put_in_order_of_wires() -> None:
    got = decode_r1cs(file(b"r1cs", 1, GOOD[0], constraints([(3, 5), (1, 7), (2, 6)], [], [(1, 1)]), GOOD[2]))
    assert terms(got.a) == [[(1, 7), (2, 6), (3, 5)]]
    assert terms(got.b) == [[]]


def test_r1cs_takes_names_and_outputs_from_the_sym_file() -> None:
    got = decode_r1cs(GOOD_R1CS, decode_sym(GOOD_SYM), "product.r1cs")
    assert got.public == ("z", "x")
    assert got.wire_names == ("one", "z", "x", "y")
    assert got.origins.strings[got.origins.file[0]] == "product.r1cs"


@given(st.lists(st.integers(0, R - 1), max_size=6))
def test_wtns_comes_back_as_it_was(values: list[int]) -> None:
    data = joined(encode_wtns(limbs_from_ints(values, 4)))
    assert ints_from_limbs(decode_wtns(data)) == values


def test_wtns_bytes_are_those_of_the_format_notes() -> None:
    assert joined(encode_wtns(limbs_from_ints([1, R - 1, 2**200], 4))) == GOOD_WTNS
    assert ints_from_limbs(decode_wtns(file(b"wtns", 2, WTNS_VALUES, WTNS_HEADER))) == [1, R - 1, 2**200]


def test_sym_keeps_signals_without_a_wire() -> None:
    symbols = decode_sym(GOOD_SYM)
    assert symbols == Symbols(("z", "x", "y", "inner.gone"), (1, 2, 3, 4), (1, 2, 3, None))
    assert symbols.wire("y") == 3
    with pytest.raises(InputError, match="optimised away"):
        symbols.wire("inner.gone")
    with pytest.raises(InputError, match="nothing"):
        symbols.wire("nothing")


def test_sym_of_no_signals_is_empty() -> None:
    assert encode_sym(("one",)) == b""
    assert decode_sym(b"") == Symbols((), (), ())


def test_files_on_disk_come_back_and_a_witness_is_private(tmp_path: Path) -> None:
    given_system = decode_r1cs(GOOD_R1CS, decode_sym(GOOD_SYM))
    write_r1cs(tmp_path / "a.r1cs", given_system)
    write_sym(tmp_path / "a.sym", given_system.wire_names)
    write_wtns(tmp_path / "a.wtns", limbs_from_ints([1, 2, 3], 4))
    got = read_r1cs(tmp_path / "a.r1cs", tmp_path / "a.sym")
    assert got.wire_names == given_system.wire_names
    assert terms(got.c) == terms(given_system.c)
    assert read_sym(tmp_path / "a.sym").wire("x") == 2
    assert ints_from_limbs(read_wtns(tmp_path / "a.wtns")) == [1, 2, 3]
    assert (tmp_path / "a.wtns").stat().st_mode & 0o077 == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.r1cs", "a.sym", "a.wtns"]


def test_a_write_that_is_interrupted_leaves_the_old_file_alone(tmp_path: Path) -> None:
    def interrupted() -> "itertools.chain[bytes]":
        def stop() -> bytes:
            raise KeyboardInterrupt

        return itertools.chain([b"half"], (stop() for _ in range(1)))

    path = tmp_path / "file"
    write_atomic(path, b"old")
    with pytest.raises(KeyboardInterrupt):
        write_atomic(path, interrupted())
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    write_atomic(path, [b"new", np.arange(2, dtype="<u4")])
    assert path.read_bytes() == b"new\0\0\0\0\1\0\0\0"


# What must be refused --------------------------------------------------------------------------------------------------------


def r1cs(header: bytes = GOOD[0], rows: bytes = GOOD[1], names: bytes = GOOD[2]) -> bytes:
    return file(b"r1cs", 1, header, rows, names)


BAD_R1CS = {
    "empty": (b"", "r1cs file: 0 bytes"),
    "magic": (b"R1CS" + GOOD_R1CS[4:], "r1cs file: starts with"),
    "version": (GOOD_R1CS[:4] + struct.pack("<I", 2) + GOOD_R1CS[8:], "version 2"),
    "no header": (file(b"r1cs", 1, *GOOD[1:]), "section header: is missing"),
    "no constraints": (file(b"r1cs", 1, GOOD[0], GOOD[2]), "section constraints: is missing"),
    "no labels": (file(b"r1cs", 1, *GOOD[:2]), "section wire2label: is missing"),
    "two headers": (file(b"r1cs", 1, *GOOD, GOOD[0]), "section header: stands twice"),
    "two constraints": (file(b"r1cs", 1, *GOOD, GOOD[1]), "section constraints: stands twice"),
    "cut off": (GOOD_R1CS[:-1], "section wire2label: 32 bytes announced, 31 left"),
    "announced too long": (
        file(b"r1cs", 1, *GOOD[:2], struct.pack("<IQ", 3, 2**63) + GOOD[2][12:]),
        "section wire2label",
    ),
    "too few sections": (file(b"r1cs", 1, *GOOD)[:8] + struct.pack("<I", 2**32 - 1) + GOOD_R1CS[12:], "of 4294967295"),
    "bytes behind": (GOOD_R1CS + b"\0", "1 bytes behind the last section"),
    "custom gates": (file(b"r1cs", 1, *GOOD, section(4, b"\0\0\0\0")), "custom gates list: is not supported"),
    "header too long": (r1cs(header=section(1, GOOD[0][12:] + b"\0")), "section header: 1 bytes too many"),
    "header too short": (r1cs(header=section(1, GOOD[0][12:-1])), "ends before number of constraints"),
    "field size 0": (r1cs(header=section(1, struct.pack("<I", 0))), "field size"),
    "field size huge": (r1cs(header=section(1, struct.pack("<I", 2**32 - 1))), "field size"),
    "more wires than labels": (r1cs(header=r1cs_header(2**31, 1, 1, 1, 1)), "section wire2label"),
    "wires above 2^31": (r1cs(header=r1cs_header(2**32 - 1, 1, 1, 1, 1)), "section header"),
    "more inputs than wires": (r1cs(header=r1cs_header(4, 1, 1, 2, 1)), "section header"),
    "inputs overflow": (r1cs(header=r1cs_header(4, 2**32 - 1, 2, 2, 1)), "section header"),
    "no wires": (r1cs(header=r1cs_header(0, 0, 0, 0, 1), names=labels()), "section header"),
    "more rows than bytes": (r1cs(header=r1cs_header(4, 1, 1, 1, 2**32 - 1)), "too few for 4294967295 rows"),
    "one row more": (r1cs(header=r1cs_header(4, 1, 1, 1, 2)), "ends before row 1, A"),
    "one row less": (r1cs(header=r1cs_header(4, 1, 1, 1, 0)), "bytes are left after 0 rows"),
    "list too long": (
        r1cs(rows=section(2, struct.pack("<I", 2**32 - 1) + bytes(36 * 3 + 8))),
        "section constraints: ends before row 0, B",
    ),
    "last list too long": (r1cs(rows=section(2, struct.pack("<III", 0, 0, 1))), "runs past the end"),
    "odd bytes": (r1cs(rows=section(2, GOOD[1][12:] + b"\0")), "whole number"),
    "wire out of range": (r1cs(rows=constraints([(4, 1)], [], [])), "row 0, A: a wire that is not below 4"),
    "wire twice": (r1cs(rows=constraints([], [(1, 1), (2, 1), (1, 1)], [])), "row 0, B: one wire twice"),
    "zero coefficient": (r1cs(rows=constraints([], [], [(1, 0)])), "row 0, C: a coefficient that is zero"),
    "coefficient r": (r1cs(rows=constraints([], [], [(1, R)])), "row 0, C: a coefficient that is not below r"),
    "coefficient 2^256 - 1": (r1cs(rows=constraints([], [], [(1, 2**256 - 1)])), "not below r"),
}

BAD_WTNS = {
    "empty": (b"", "wtns file"),
    "an r1cs file": (GOOD_R1CS, "wtns file: starts with b'r1cs'"),
    "no values": (file(b"wtns", 2, WTNS_HEADER), "section values: is missing"),
    "two values": (file(b"wtns", 2, WTNS_HEADER, WTNS_VALUES, WTNS_VALUES), "section values: stands twice"),
    "cut off": (GOOD_WTNS[:-1], "section values: 96 bytes announced, 95 left"),
    "count too high": (
        file(b"wtns", 2, section(1, prime() + struct.pack("<I", 2**32 - 1)), WTNS_VALUES),
        "section values: 96 bytes for 4294967295 values",
    ),
    "value r": (
        file(b"wtns", 2, section(1, prime() + struct.pack("<I", 2)), section(2, bytes(32) + R.to_bytes(32, "little"))),
        "the value of wire 1 is not below r",
    ),
}

BAD_SYM = {
    "not text": (b"\xff\xfe", "not UTF-8"),
    "three fields": (b"1,1,main.x\n", "sym line 1"),
    "five fields": (b"1,1,0,main.x\n2,2,0,main.y,z\n", "sym line 2"),
    "wire -2": (b"1,-2,0,main.x\n", "sym line 1"),
    "a number of 19 digits": (b"1234567890123456789,1,0,main.x\n", "sym line 1"),
    "an empty line": (b"1,1,0,main.x\n\n2,2,0,main.y\n", "sym line 2"),
    "a label twice": (b"1,1,0,main.x\n1,2,0,main.y\n", "label stands twice"),
    "a name twice": (b"1,1,0,main.x\n2,2,0,main.x\n", "name stands twice"),
}


@pytest.mark.parametrize(
    ("decode", "data", "message"),
    [
        pytest.param(decode, data, message, id=f"{kind} {name}")
        for kind, decode, cases in (
            ("r1cs", decode_r1cs, BAD_R1CS),
            ("wtns", decode_wtns, BAD_WTNS),
            ("sym", decode_sym, BAD_SYM),
        )
        for name, (data, message) in cases.items()
    ],
)
def test_a_bad_file_is_an_error_that_names_the_place(
    decode: Callable[[bytes], object], data: bytes, message: str
) -> None:
    with pytest.raises(WireError) as error:
        within(decode, data)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("value", "size", "known"),
    [(BN128, 32, "bn128"), (2**64 - 2**32 + 1, 8, "goldilocks"), (R - 2, 32, None), (R, 40, None)],
)
def test_another_prime_is_an_error_with_both_primes_and_the_flag(value: int, size: int, known: str | None) -> None:
    field = prime(value, size)
    for decode, data in (
        (decode_r1cs, r1cs(header=r1cs_header(4, 1, 1, 1, 1, field))),
        (decode_wtns, file(b"wtns", 2, section(1, field + struct.pack("<I", 3)), WTNS_VALUES)),
    ):
        with pytest.raises(WireError) as error:
            decode(data)
        message = str(error.value)
        assert error.value.field == "prime"
        assert str(value) in message
        assert str(R) in message
        assert "--prime bls12381" in message
        assert known is None or known in message


@pytest.mark.parametrize("sym", [b"", b"1,2,0,main.z\n2,1,0,main.x\n3,3,0,main.y\n", b"1,1,0,main.z\n2,-1,0,main.x\n"])
def test_the_sym_file_of_another_circuit_is_refused(sym: bytes) -> None:
    with pytest.raises(WireError, match="belongs to another circuit"):
        decode_r1cs(GOOD_R1CS, decode_sym(sym))


@pytest.mark.parametrize("name", ["", "a,b", "a\nb", "a\rb"])
def test_a_name_that_would_break_a_sym_line_is_not_written(name: str) -> None:
    with pytest.raises(InputError, match="wire 2"):
        encode_sym(("one", "x", name))


def test_values_that_are_no_witness_are_not_written() -> None:
    for values in (limbs_from_ints([1, R], 4), limbs_from_ints([1], 6), limbs_from_ints([1], 4).astype(np.int64)):
        with pytest.raises(InputError, match="values"):
            encode_wtns(values)  # type: ignore[arg-type]


def test_rows_with_a_bad_term_are_not_made() -> None:
    for row in ({1: 0}, {1: R}, {1: -1}, {-1: 1}, {2**31: 1}):
        with pytest.raises(InputError, match="row 1"):
            SparseRows.from_rows([{0: 1}, row])


# Damage ----------------------------------------------------------------------------------------------------------------------

MEMORY = 2**20  # what may be used whatever the file says; and a few copies of the file itself


def within(decode: Callable[[bytes], object], data: bytes) -> object:
    tracemalloc.start()
    try:
        return decode(data)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < MEMORY + 100 * len(data)


def parsed_or_refused(decode: Callable[[bytes], object], data: bytes) -> object | None:
    try:
        return within(decode, data)
    except WireError:
        return None


big = st.integers(0, 2**64 - 1).map(lambda x: x.to_bytes(8, "little"))
files = st.sampled_from([(decode_r1cs, GOOD_R1CS), (decode_wtns, GOOD_WTNS), (decode_sym, GOOD_SYM)])


@pytest.mark.parametrize(("decode", "good"), [(decode_r1cs, GOOD_R1CS), (decode_wtns, GOOD_WTNS)], ids=["r1cs", "wtns"])
def test_every_truncation_is_refused(decode: Callable[[bytes], object], good: bytes) -> None:
    for length in range(len(good)):
        with pytest.raises(WireError):
            decode(good[:length])


@given(files, st.data(), st.integers(1, 255))
@settings(max_examples=400)
def test_a_flipped_byte_is_refused_or_parsed(
    case: tuple[Callable[[bytes], object], bytes], data: st.DataObject, change: int
) -> None:
    decode, good = case
    damaged = bytearray(good)
    damaged[data.draw(st.integers(0, len(good) - 1))] ^= change
    parsed_or_refused(decode, bytes(damaged))


@given(files, st.data(), big)
@settings(max_examples=300)
def test_an_overwritten_length_is_refused_or_parsed(
    case: tuple[Callable[[bytes], object], bytes], data: st.DataObject, word: bytes
) -> None:
    decode, good = case
    at = data.draw(st.integers(0, len(good) - 1))
    size = data.draw(st.sampled_from([4, 8]))
    parsed_or_refused(decode, good[:at] + word[:size] + good[at + size :])


@given(files, st.binary(max_size=200), st.integers(0, 60))
@settings(max_examples=200)
def test_arbitrary_bytes_are_refused_or_parsed(
    case: tuple[Callable[[bytes], object], bytes], noise: bytes, kept: int
) -> None:
    decode, good = case
    parsed_or_refused(decode, good[:kept] + noise)


@given(st.data(), st.integers(1, 255))
@settings(max_examples=150)
def test_a_damaged_r1cs_that_parses_writes_what_it_read(data: st.DataObject, change: int) -> None:
    damaged = bytearray(GOOD_R1CS)
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= change
    got = parsed_or_refused(decode_r1cs, bytes(damaged))
    if isinstance(got, R1CS):
        again = decode_r1cs(joined(encode_r1cs(got)))
        assert [terms(getattr(again, m)) for m in "abc"] == [terms(getattr(got, m)) for m in "abc"]
        assert again.public == got.public


def test_a_large_system_comes_back_as_it_was() -> None:
    """20,000 rows of irregular lengths: the vectorised paths, not only short ones."""
    rng = np.random.default_rng(20_000)
    n = 20_000

    def matrix(longest: int) -> SparseRows:
        lengths = rng.integers(0, longest + 1, n)
        start = np.concatenate(([0], np.cumsum(lengths)))
        within_row = np.arange(start[-1]) - np.repeat(start[:-1], lengths)
        wire = (within_row * 997 + rng.integers(0, 997, start[-1])).astype(np.int32)
        coeff: UInt64 = rng.integers(1, 2**62, (int(start[-1]), 4), dtype=np.uint64)
        return SparseRows(start.astype(np.int64), wire, coeff)

    given_system = R1CS(("x",), n, matrix(3), matrix(1), matrix(9), ("one",) * n, Origins.unknown(n))
    got = decode_r1cs(joined(encode_r1cs(given_system)))
    for name in "abc":
        for part in ("start", "wire", "coeff"):
            assert np.array_equal(getattr(getattr(got, name), part), getattr(getattr(given_system, name), part))

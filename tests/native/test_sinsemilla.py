"""Sinsemilla in the clear, on both bodies: published vectors, equality of all evaluations with the oracle, refusals."""

import hashlib
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.errors import InputError
from bonsai_circuits.native import pallas, sinsemilla
from tests.reference import sinsemilla as reference

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "sinsemilla.json").read_text())
P, Q = reference.P, reference.Q
WAYS = {
    "literal": {"literal": True},
    "checked": {"checked": True},
    "unchecked": {"checked": False},
}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
pytestmark = pytest.mark.usefixtures("body")
DOMAIN = b"z.cash:test-Sinsemilla"


def nodes(seed: int, n: int) -> list[int]:
    rng = np.random.default_rng(seed)
    return [int.from_bytes(rng.bytes(40), "little") % P for _ in range(n)]


def as_children(values: list[int]) -> np.ndarray:
    return np.frombuffer(b"".join(x.to_bytes(32, "little") for x in values), np.uint8).reshape(-1, 2, 32)


def as_ints(rows: np.ndarray) -> list[int]:
    return [int.from_bytes(row.tobytes(), "little") for row in rows]


# Parameters ------------------------------------------------------------------------------------------------------------------


def test_generators_equal_the_digest() -> None:
    data = b"".join(x.to_bytes(32, "little") for point in sinsemilla.generators() for x in point)
    assert hashlib.sha256(data).hexdigest() == VECTORS["table"]["S_table_sha256"]
    assert [sinsemilla.generators()[j] for j in (0, 1, 1023)] == [reference.s(j) for j in (0, 1, 1023)]


def test_the_table_has_the_multiples_of_the_generators() -> None:
    table = sinsemilla.table()
    assert table is sinsemilla.table()
    assert table.seconds > 0
    row_bytes = 53 * 1024 * 64
    assert table.n_bytes == sum({id(a): a.nbytes for a in table.rows}.values()) in (row_bytes, 2 * row_bytes)
    for sample in VECTORS["table"]["samples"]:
        row = table.rows.points[1024 * (sample["i"] + 1) + sample["j"]]
        assert pallas.points_from_words(row[None]) == [tuple(int(x, 16) for x in sample["point"])]
    first = pallas.points_from_words(table.rows.points[5:6])[0]
    assert first == reference.times(2**52, reference.s(5))


def test_the_longest_message_keeps_its_weights_apart() -> None:
    """Sums of weights up to 2^(n - 1) stay below (q - 1) / 2 for n = 253 words: section 5.4.1.9."""
    n = sinsemilla.MAX_BITS // 10
    assert 2**n <= (Q - 1) // 2 < 2 ** (n + 1)


# Hashes ----------------------------------------------------------------------------------------------------------------------


@ways
@pytest.mark.parametrize("vector", VECTORS["sinsemilla"], ids=lambda v: v["bits"][:12])
def test_hash_equals_the_vector(vector: dict[str, str], way: dict[str, bool]) -> None:
    domain, bits = vector["domain"].encode(), [int(bit) for bit in vector["bits"]]
    assert pallas.encode_point(sinsemilla.hash_to_point(domain, bits, **way)).hex() == vector["point_le"]
    x = sinsemilla.sinsemilla_hash(domain, np.array(bits), **way)
    assert x is not None
    assert x.to_bytes(32, "little").hex() == vector["hash_le"]


@ways
@pytest.mark.parametrize("vector", VECTORS["words"], ids=["first", "second"])
def test_hash_of_52_words_equals_the_vector(vector: dict[str, list], way: dict[str, bool]) -> None:
    points, failed = sinsemilla.hash_words(sinsemilla.MERKLE_DOMAIN, np.array([vector["words"]], np.uint16), **way)
    assert pallas.points_from_words(points) == [tuple(int(x, 16) for x in vector["point"])]
    assert not failed.any()


@ways
@pytest.mark.parametrize("n", [0, 1, 9, 10, 11, 140, 141, 150, 510, 520, 521, 1086])
def test_messages_of_every_length_equal_the_oracle(n: int, way: dict[str, bool]) -> None:
    bits = [int(b) for b in np.random.default_rng(n).integers(0, 2, n)]
    assert sinsemilla.hash_to_point(DOMAIN, bits, **way) == reference.hash_to_point(DOMAIN, bits)


@ways
@pytest.mark.parametrize("n", [0, 1, 3, 4, 7, 8, 9, 17, 49, 1024, 1025])
@pytest.mark.parametrize("k", [2, 15, 52])
def test_many_messages_equal_the_literal_recurrence(n: int, k: int, way: dict[str, bool]) -> None:
    words = np.random.default_rng(n).integers(0, 1024, (n, k)).astype(np.uint16)
    points, failed = sinsemilla.hash_words(DOMAIN, words, **way)
    expected, _ = sinsemilla.hash_words(DOMAIN, words, literal=True)
    assert points.shape == (n, 8)
    assert (points == expected).all()
    assert not failed.any()
    for i in {0, n // 2, n - 1} if n else ():
        start, named = reference.q(DOMAIN), [reference.s(int(w)) for w in words[i]]
        assert pallas.points_from_words(points[i : i + 1]) == [reference.recurrence(start, named)]


@given(st.lists(st.integers(0, 1), max_size=70), st.integers(0, Q - 1))
@settings(max_examples=10, deadline=None)
def test_commitments_equal_the_oracle(bits: list[int], r: int) -> None:
    expected = reference.commit(r, DOMAIN, bits)
    assert expected is not None
    assert sinsemilla.commit(DOMAIN, bits, r) == expected
    assert sinsemilla.short_commit(DOMAIN, bits, r) == expected[0]
    assert sinsemilla.commit(DOMAIN, bits, 0) == reference.hash_to_point(DOMAIN + b"-M", bits)


# Nodes -----------------------------------------------------------------------------------------------------------------------


@ways
def test_node_equals_the_published_one(way: dict[str, bool]) -> None:
    vector = VECTORS["node"]
    left, right = (int(x, 16) for x in vector["children"])
    assert sinsemilla.merkle_hash(vector["level"], left, right, **way) == int(vector["parent"], 16)
    many = sinsemilla.merkle_hash_many(vector["level"], as_children([left, right]), **way)
    assert as_ints(many) == [int(vector["parent"], 16)]


@ways
@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, 40, 1024, 1025])
def test_many_nodes_equal_single_ones(n: int, way: dict[str, bool]) -> None:
    edges = [0, 0, 1, P - 1, P - 1, 2**254 - 1, 2**254, 2**254 + 2**125]
    values = [*edges, *nodes(n, 2 * n)][: 2 * n]
    parents = as_ints(sinsemilla.merkle_hash_many(3, as_children(values), **way))
    assert len(parents) == n
    for i in {*range(min(n, 9)), n - 1} if n else ():
        assert parents[i] == sinsemilla.merkle_hash(3, values[2 * i], values[2 * i + 1])
    if n > 4:
        assert parents[:4] == [reference.merkle(3, values[2 * i], values[2 * i + 1]) for i in range(4)]


@pytest.mark.parametrize("level", [*range(32), 1023])
def test_every_level_has_its_own_start(level: int) -> None:
    left, right = nodes(level, 2)
    expected = sinsemilla.merkle_hash(level, left, right, literal=True)
    assert sinsemilla.merkle_hash(level, left, right) == expected
    if level in (0, 31, 1023):
        assert expected == reference.merkle(level, left, right)


# Failures --------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def start_at_a_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Domains of the test start at S[5]: a message fails whose first word is 5."""
    monkeypatch.setattr(sinsemilla, "domain_point", lambda domain: sinsemilla.generators()[5])
    monkeypatch.setattr(sinsemilla, "MERKLE_DOMAIN", b"fails")
    caches = (sinsemilla._start, sinsemilla._level, sinsemilla._node)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.usefixtures("start_at_a_generator")
@pytest.mark.parametrize("literal", [True, False])
def test_a_failure_is_none_and_a_node_0(literal: bool) -> None:
    bits = [*reference.bits_of(5, 10), 1, 1]
    assert reference.recurrence(reference.s(5), [reference.s(w) for w in reference.words(bits)]) is None
    assert sinsemilla.hash_to_point(b"fails", bits, literal=literal) is None
    assert sinsemilla.sinsemilla_hash(b"fails", bits, literal=literal) is None
    assert sinsemilla.hash_to_point(b"fails", [0, *bits], literal=literal) is not None
    if not literal:
        assert sinsemilla.commit(b"fails", bits, 7) is None
        assert sinsemilla.short_commit(b"fails", bits, 7) is None
        assert sinsemilla.hash_to_point(b"fails", bits, checked=False) is not None
        return
    assert sinsemilla.merkle_hash(5, 1, 2, literal=True) == 0
    assert sinsemilla.merkle_hash(6, 1, 2, literal=True) != 0
    assert not sinsemilla.merkle_hash_many(5, as_children([1, 2, 3, 4]), literal=True).any()


def test_a_node_whose_denominator_vanishes_is_hashed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = sinsemilla.merkle_hash(4, 1, 2)
    monkeypatch.setattr(sinsemilla, "_node", lambda *which: (lambda *arrays: sinsemilla.kernels.VANISHED,))
    assert sinsemilla.merkle_hash(4, 1, 2) == expected


# Refusals --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [[2], [0, -1], [0.5], ["1"], [[0, 1]], [[0], [0, 1]], 5, None], ids=repr)
def test_what_are_no_bits_is_refused(bits: object) -> None:
    with pytest.raises(InputError, match="bits"):
        sinsemilla.hash_to_point(DOMAIN, bits)  # type: ignore[arg-type]


@pytest.mark.parametrize("domain", ["z.cash:test", bytearray(b"z.cash:test"), None], ids=repr)
def test_what_is_no_domain_is_refused(domain: object) -> None:
    with pytest.raises(InputError, match="domain"):
        sinsemilla.hash_to_point(domain, [1])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="domain"):
        sinsemilla.commit(domain, [1], 1)  # type: ignore[arg-type]


def test_a_domain_too_long_for_a_commitment_is_refused() -> None:
    assert sinsemilla.commit(b"x" * 225, [1], 0) == reference.hash_to_point(b"x" * 225 + b"-M", [1])
    with pytest.raises(InputError, match="domain"):
        sinsemilla.commit(b"x" * 226, [1], 0)


def test_messages_that_are_too_long_are_refused() -> None:
    longest = [1, 0] * (sinsemilla.MAX_BITS // 2)
    assert sinsemilla.hash_to_point(DOMAIN, longest) == reference.hash_to_point(DOMAIN, longest)
    with pytest.raises(InputError, match="2531"):
        sinsemilla.hash_to_point(DOMAIN, [*longest, 0])
    with pytest.raises(InputError, match="254"):
        sinsemilla.hash_words(DOMAIN, np.zeros((1, 254), np.uint16))


def test_what_are_no_words_is_refused() -> None:
    for words in (np.zeros((1, 2), np.int32), np.zeros(2, np.uint16), [[1, 2]], np.array([[1024]], np.uint16)):
        with pytest.raises(InputError, match="words"):
            sinsemilla.hash_words(DOMAIN, words)  # type: ignore[arg-type]


@pytest.mark.parametrize("r", [-1, Q, 1.0, None])
def test_a_blinding_outside_the_scalars_is_refused(r: object) -> None:
    with pytest.raises(InputError) as error:
        sinsemilla.commit(DOMAIN, [1], r)  # type: ignore[arg-type]
    assert error.value.field == "r"


@ways
def test_what_is_no_node_is_refused_by_its_place(way: dict[str, bool]) -> None:
    for left, right, field in ((P, 0, "left"), (1, P + 1, "right")):
        with pytest.raises(InputError) as error:
            sinsemilla.merkle_hash(0, left, right, **way)
        assert error.value.field == field
    for bad in (-1, 2**256, 1.0, SimpleNamespace(to_bytes=lambda *_: b"\1" * 32)):
        with pytest.raises(InputError, match="node"):
            sinsemilla.merkle_hash(0, bad, 0, **way)  # type: ignore[arg-type]
    children = as_children([1, 2, 3, P, 2**255, 1])
    with pytest.raises(InputError) as error:
        sinsemilla.merkle_hash_many(0, children, **way)
    assert error.value.field == "children[3]"
    for shape in (children[:, 0], children.astype(np.int16), children[:, :, :31], [children]):
        with pytest.raises(InputError, match="children"):
            sinsemilla.merkle_hash_many(0, shape, **way)  # type: ignore[arg-type]


@ways
def test_a_node_of_another_class_of_integers_is_the_integer_that_it_is(way: dict[str, bool]) -> None:
    """The kernel reads 64 bytes, whatever the class makes of to_bytes."""

    class Short(int):
        def to_bytes(self, *_: object, **__: object) -> bytes:
            return b"\1"

    assert sinsemilla.merkle_hash(0, Short(5), Short(6), **way) == sinsemilla.merkle_hash(0, 5, 6)


@pytest.mark.parametrize("level", [-1, 1024, 1.0, None, []])
def test_what_is_no_level_is_refused(level: object) -> None:
    for call in (
        lambda: sinsemilla.merkle_hash(level, 0, 0),  # type: ignore[arg-type]
        lambda: sinsemilla.merkle_hash(level, 0, 0, literal=True),  # type: ignore[arg-type]
        lambda: sinsemilla.merkle_hash_many(level, as_children([0, 0])),  # type: ignore[arg-type]
    ):
        with pytest.raises(InputError) as error:
            call()
        assert error.value.field == "level"

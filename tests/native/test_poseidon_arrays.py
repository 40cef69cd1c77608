"""Poseidon over arrays: both bodies against the integers, on both fields and every arity; what the doors refuse."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bonsai_circuits.errors import InputError
from bonsai_circuits.kernels.bn254_fr import BN254_FR_MODULUS
from bonsai_circuits.native.poseidon import PARTIAL_ROUNDS, merkle_tag, poseidon, poseidon_many
from bonsai_circuits.native.poseidon_bn254 import poseidon_bn254, poseidon_bn254_many
from bonsai_verifier.field import ints_from_limbs, limbs_from_ints
from bonsai_verifier.parameters import FR_MODULUS
from tests.reference import poseidon as reference
from tests.reference import poseidon_bn254 as reference_bn254

VECTORS = Path(__file__).parents[1] / "vectors"
ARITIES = range(1, 17)


class Hash(NamedTuple):
    """One instance: integers and arrays."""

    modulus: int
    one: Callable[[Sequence[int]], int]
    many: Callable[[Any], Any]
    oracle: Callable[[list[int]], int]


HASHES = {
    "bls12_381": Hash(
        FR_MODULUS,
        lambda xs: poseidon(xs, merkle_tag(len(xs))),
        lambda a: poseidon_many(a, merkle_tag(a.shape[1])),
        lambda xs: reference.poseidon(xs, 2 ** len(xs) - 1),
    ),
    "bn254": Hash(BN254_FR_MODULUS, poseidon_bn254, poseidon_bn254_many, reference_bn254.poseidon),
}
hashes = pytest.mark.parametrize("h", HASHES.values(), ids=HASHES.keys())


def octets(rows: Sequence[Sequence[int]]) -> NDArray[np.uint8]:
    data = b"".join(x.to_bytes(32, "little") for row in rows for x in row)
    return np.frombuffer(data, np.uint8).reshape(len(rows), len(rows[0]) if rows else 2, 32)


def numbers(digests: NDArray[np.uint8]) -> list[int]:
    assert digests.dtype == np.uint8
    assert digests.shape[1:] == (32,)
    return [int.from_bytes(row, "little") for row in digests.tolist()]


def samples(h: Hash, n: int, arity: int) -> list[list[int]]:
    rng = np.random.default_rng(100 * n + arity)
    return [[int.from_bytes(rng.bytes(40), "little") % h.modulus for _ in range(arity)] for _ in range(n)]


@hashes
@pytest.mark.parametrize("arity", ARITIES)
def test_every_arity_equals_the_integers(body: str, h: Hash, arity: int) -> None:
    top = h.modulus - 1
    rows = [[0] * arity, [top] * arity, [top, *[0] * (arity - 1)], [*[0] * (arity - 1), top], *samples(h, 2, arity)]
    assert numbers(h.many(octets(rows))) == [h.one(row) for row in rows]


@hashes
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 15, 16, 17, 33])
def test_every_number_of_rows_equals_the_integers(body: str, h: Hash, n: int) -> None:
    rows = samples(h, n, 2)
    expected = [h.one(row) for row in rows]
    a = octets(rows)
    assert numbers(h.many(a)) == expected
    words = limbs_from_ints([x for row in rows for x in row], 4).reshape(n, 2, 4)
    got = h.many(words)
    assert (got.dtype, got.shape) == (np.uint64, (n, 4))
    assert ints_from_limbs(got) == expected


@hashes
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_rows_equal_the_oracle(body: str, h: Hash, data: st.DataObject) -> None:
    r = h.modulus
    elements = st.one_of(st.integers(0, 3), st.integers(r - 3, r - 1), st.integers(0, r - 1))
    arity = data.draw(st.sampled_from([1, 2, 5]))
    rows = data.draw(st.lists(st.lists(elements, min_size=arity, max_size=arity), min_size=1, max_size=4))
    assert numbers(h.many(octets(rows))) == [h.oracle(row) for row in rows]


def test_bn254_equals_the_vectors(body: str) -> None:
    vectors = json.loads((VECTORS / "poseidon_bn254.json").read_text())["hashes"]
    for vector in vectors:
        inputs = [int(x, 16) for x in vector["inputs"]]
        assert numbers(poseidon_bn254_many(octets([inputs]))) == [int(vector["output"], 16)]
        assert numbers(poseidon_bn254_many(octets([inputs] * 2))) == [int(vector["output"], 16)] * 2


def test_bls12_381_equals_the_vectors(body: str) -> None:
    for vector in json.loads((VECTORS / "poseidon.json").read_text())["hashes"]:
        inputs = [int(x, 16) for x in vector["inputs"]]
        inputs += [0] * (vector["t"] - 1 - len(inputs))
        got = poseidon_many(octets([inputs] * 2), int(vector["tag"], 16), vector["strengthened"])
        assert numbers(got) == [int(vector["output"], 16)] * 2


def test_tags_and_strengthening_are_other_functions(body: str) -> None:
    a = octets([[5, 7], [5, 7]])
    digests = {bytes(poseidon_many(a, tag, strong)[0]) for tag in (0, 3) for strong in (False, True)}
    assert len(digests) == 4
    assert numbers(poseidon_many(a, 3, True)) == [poseidon([5, 7], 3, True)] * 2


def test_arrays_may_lie_anyhow(body: str) -> None:
    a = octets(samples(HASHES["bn254"], 40, 4))
    expected = numbers(poseidon_bn254_many(a[::2, 1:3]))
    assert expected == numbers(poseidon_bn254_many(a[::2, 1:3].copy()))
    odd = np.empty(a.size + 1, np.uint8)[1:].reshape(a.shape)
    odd[:] = a
    odd.setflags(write=False)
    assert np.array_equal(poseidon_bn254_many(odd), poseidon_bn254_many(a))
    assert np.array_equal(poseidon_bn254_many(a[::-1]), poseidon_bn254_many(a)[::-1])


@hashes
@pytest.mark.parametrize(("i", "j"), [(0, 0), (8, 1), (17, 0)])
def test_the_first_value_outside_the_field_is_named(body: str, h: Hash, i: int, j: int) -> None:
    for bad in (h.modulus, h.modulus + 1, 2**256 - 1):
        rows = samples(h, 18, 2)
        rows[i][j] = bad
        rows[17][1] = h.modulus
        with pytest.raises(InputError) as error:
            h.many(octets(rows))
        assert error.value.field == f"inputs[{i}][{j}]"


@pytest.mark.parametrize(
    "bad",
    [
        [[1, 2]],
        bytes(64),
        None,
        np.zeros((3, 2), np.uint8),
        np.zeros((3, 2, 31), np.uint8),
        np.zeros((3, 2, 32), np.int8),
        np.zeros((3, 2, 32), np.uint64),
        np.zeros((3, 2, 4), np.uint8),
        np.zeros((3, 2, 4, 1), np.uint64),
    ],
    ids=lambda bad: f"{getattr(bad, 'dtype', type(bad).__name__)}{getattr(bad, 'shape', '')}",
)
def test_another_array_is_refused(bad: Any) -> None:
    with pytest.raises(InputError) as error:
        poseidon_bn254_many(bad)
    assert error.value.field == "inputs"


@pytest.mark.parametrize("arity", [0, 17])
def test_an_unknown_arity_is_refused(arity: int) -> None:
    for many in (poseidon_bn254_many, lambda a: poseidon_many(a, 0)):
        with pytest.raises(InputError) as error:
            many(np.zeros((2, arity, 32), np.uint8))
        assert error.value.field == "arity"


@pytest.mark.parametrize("bad", [-1, FR_MODULUS])
def test_a_tag_outside_the_field_is_refused(bad: int) -> None:
    with pytest.raises(InputError) as error:
        poseidon_many(np.zeros((2, 2, 32), np.uint8), bad)
    assert error.value.field == "tag"


@pytest.mark.parametrize("bad", [True, 1.0, np.int64(1), None, [1]], ids=repr)
def test_a_tag_that_is_no_integer_is_refused_also_where_it_equals_one_that_was_taken(bad: Any) -> None:
    a = np.zeros((2, 2, 32), np.uint8)
    poseidon_many(a, 1)
    for call in (lambda: poseidon_many(a, bad), lambda: poseidon([0, 0], bad)):
        with pytest.raises(InputError, match="tag: an integer is needed"):
            call()


@pytest.mark.parametrize("bad", [0, 1, 1.0, "x", None, [1], np.True_], ids=repr)
def test_strengthened_is_true_or_false(bad: Any) -> None:
    for call in (lambda: poseidon_many(np.zeros((2, 2, 32), np.uint8), 1, bad), lambda: poseidon([0, 0], 1, bad)):
        with pytest.raises(InputError, match="strengthened: expected True or False"):
            call()


def test_every_arity_of_a_tree_exists() -> None:
    assert set(range(2, 17)) <= set(PARTIAL_ROUNDS)

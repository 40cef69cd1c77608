"""Poseidon in the clear: published vectors, parameters recomputed, equality with the oracle, refusals."""

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.errors import InputError
from bonsai_circuits.native import poseidon as native
from bonsai_circuits.native.suite import PoseidonSuite
from bonsai_verifier.parameters import FR_MODULUS
from tests.reference import poseidon as reference
from tests.reference import relations

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "poseidon.json").read_text())
ARITIES = (1, 2, 3, 4, 5, 8, 11, 16)  # those of the circuits and of the vectors, and one more
BODIES = {"native": native.poseidon, "reference": lambda inputs, tag, s=False: reference.poseidon(list(inputs), tag, s)}

both = pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
elements = st.one_of(st.integers(0, 3), st.integers(FR_MODULUS - 3, FR_MODULUS - 1), st.integers(0, FR_MODULUS - 1))

Body = Callable[..., int]


def digest(rows: Sequence[Sequence[int]]) -> str:
    return hashlib.sha256(b"".join(x.to_bytes(32, "little") for row in rows for x in row)).hexdigest()


@both
@pytest.mark.parametrize("vector", VECTORS["hashes"], ids=lambda v: v["name"])
def test_hash_equals_the_vector(body: Body, vector: dict[str, Any]) -> None:
    inputs = [int(x, 16) for x in vector["inputs"]]
    inputs += [0] * (vector["t"] - 1 - len(inputs))
    assert body(inputs, int(vector["tag"], 16), vector["strengthened"]) == int(vector["output"], 16)


@both
@pytest.mark.parametrize("vector", VECTORS["empty_trees"], ids=lambda v: v["name"])
def test_empty_subtrees_equal_the_vector(body: Body, vector: dict[str, Any]) -> None:
    node, arity = int(vector["leaf"], 16), vector["arity"]
    for root in vector["roots"]:
        assert node == int(root, 16)
        node = body([node] * arity, native.merkle_tag(arity))
    assert len(vector["roots"]) == vector["depth"] + 1


@pytest.mark.parametrize("name", VECTORS["parameters"])
def test_parameters_equal_the_published_digests(name: str) -> None:
    vector = VECTORS["parameters"][name]
    got = native.poseidon_parameters(vector["t"] - 1, vector["strengthened"])
    assert (got.t, got.r_f, got.r_p) == (vector["t"], vector["R_F"], vector["R_P"])
    assert sum(map(len, got.round_constants)) == vector["rc_count"]
    first = [int(x, 16) for x in vector["rc_first"]]
    assert list(got.round_constants[0][: len(first)]) == first
    assert got.round_constants[-1][-1] == int(vector["rc_last"], 16)
    assert digest(got.round_constants) == vector["rc_sha256_le"]
    assert digest(got.mds) == vector["mds_sha256_le"]


@pytest.mark.parametrize("strengthened", [False, True])
@pytest.mark.parametrize("arity", ARITIES)
def test_parameters_equal_the_oracle(arity: int, strengthened: bool) -> None:
    got = native.poseidon_parameters(arity, strengthened)
    assert [list(row) for row in got.round_constants] == reference.round_constants(arity + 1, strengthened)
    assert [list(row) for row in got.mds] == reference.mds(arity + 1)


@pytest.mark.parametrize("arity", native.PARTIAL_ROUNDS)
def test_round_numbers_follow_from_the_attacks(arity: int) -> None:
    """ePrint 2019/458, section 5.5: fewest S-boxes at 128 bits, then two full rounds and 7.5 percent of R_P on top.

    log_5 2 is 0.43, as the authors' calc_round_numbers.py has it; with more digits arity 14 would get 59.
    """
    t, n, bits = arity + 1, FR_MODULUS.bit_length(), 128

    def resists(r_f: int, r_p: int) -> bool:
        statistical = 6 if bits <= (n - 3) * (t + 1) else 10
        interpolation = 0.43 * bits + math.log2(t) - r_p
        groebner_1 = 0.21 * n - r_p
        groebner_2 = (0.14 * n - 1 - r_p) / (t - 1)
        return r_f >= max(statistical, interpolation, groebner_1, groebner_2)

    with_margin = [
        (r_f + 2, math.ceil(1.075 * r_p)) for r_f in range(2, 40, 2) for r_p in range(4, 200) if resists(r_f, r_p)
    ]
    best = min(with_margin, key=lambda rounds: (t * rounds[0] + rounds[1], rounds[0]))
    assert best == (native.FULL_ROUNDS, native.PARTIAL_ROUNDS[arity])


def test_tags_are_three_different_functions() -> None:
    trees = {native.merkle_tag(arity) for arity in ARITIES}
    lengths = {native.constant_length_tag(n) for n in range(1, 17)}
    own = {native.ACCOUNT_TAG, native.RECEIPT_TAG}
    assert len(trees | lengths | own) == len(trees) + len(lengths) + len(own)
    assert (native.identifier_tag(1), native.identifier_tag(2)) == (2**40, 2**41)


@given(st.data(), st.sampled_from(ARITIES), st.booleans(), elements)
@settings(max_examples=60)
def test_hash_equals_the_oracle(data: st.DataObject, arity: int, strengthened: bool, tag: int) -> None:
    inputs = data.draw(st.lists(elements, min_size=arity, max_size=arity))
    assert native.poseidon(inputs, tag, strengthened) == reference.poseidon(inputs, tag, strengthened)


@given(elements, elements, elements, elements)
@settings(max_examples=30)
def test_commitments_equal_the_oracle(x: int, y: int, z: int, w: int) -> None:
    assert PoseidonSuite().account(x, y, z) == relations.com_acct(x, y, z)
    assert PoseidonSuite().receipt(x, y, z, w) == relations.com_rec(x, y, z, w)


def test_strengthened_suite_is_another_function() -> None:
    strong, plain = PoseidonSuite(strengthened=True), PoseidonSuite()
    assert strong.account(1, 2, 3) == reference.poseidon([1, 2, 3], relations.ACCOUNT, True) != plain.account(1, 2, 3)
    assert strong.receipt(1, 2, 3, 4) == reference.poseidon([1, 2, 3, 4], relations.RECEIPT, True)


@pytest.mark.parametrize("arity", [0, 17])
def test_an_unknown_arity_is_refused(arity: int) -> None:
    with pytest.raises(InputError, match="arity"):
        native.poseidon([0] * arity, 0)


@pytest.mark.parametrize("bad", [-1, FR_MODULUS, FR_MODULUS + 5, 2**256 - 1])
def test_a_value_outside_the_field_is_refused_by_name(bad: int) -> None:
    with pytest.raises(InputError) as error:
        native.poseidon([0, bad], 0)
    assert error.value.field == "inputs[1]"
    with pytest.raises(InputError) as error:
        native.poseidon([0, 0], bad)
    assert error.value.field == "tag"


def test_a_value_that_is_no_integer_is_refused() -> None:
    with pytest.raises(InputError, match="float"):
        native.poseidon([0, 1.0], 0)  # type: ignore[list-item]

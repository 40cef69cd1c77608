"""R_send against its oracle, and every line of the security list that applies to it."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.keys.domain import smallest_domain
from bonsai_circuits.pipeline import build
from bonsai_circuits.relations.builtin import built_in
from bonsai_circuits.witness.runner import run
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.reference.relations import send_outputs
from tests.support import broken, loose_wires, satisfied

SEND = build(built_in("send", "poseidon", "wide"))
AMOUNT = 2**64
HONEST = {"A": 7, "fee": 10, "b": 1000, "v": 100, "root": 2**200 + 1, "rec": 9, "s": 11, "s_new": 12, "t": 13}
OUTPUTS = ("com", "com_new", "rho")

elements = st.integers(0, R - 1)
amounts = st.integers(0, AMOUNT - 1)


def expected(inputs: dict[str, int]) -> dict[str, int]:
    return dict(zip(OUTPUTS, send_outputs(inputs), strict=True))


def test_send_is_at_its_counts() -> None:
    """At most 945 and 1,225; the numbers themselves are those of the compiled system and change only on purpose."""
    assert (SEND.r1cs.n_rows, SEND.square.n_rows) == (911, 1174)
    assert SEND.r1cs.public == ("A", "com", "com_new", "rho", "fee")
    assert smallest_domain(SEND.square.n_rows).size == 1216


@settings(max_examples=40)
@given(
    st.fixed_dictionaries(dict.fromkeys(("A", "root", "rec", "s", "s_new", "t"), elements)),
    amounts,
    amounts,
    st.integers(0, 1000),
)
def test_send_computes_the_outputs_of_the_oracle(free: dict[str, int], change: int, v: int, fee: int) -> None:
    inputs = {**free, "b": change + v + fee, "v": v, "fee": fee}
    w = run(SEND.tape, inputs)
    assert {name: w.public()[name] for name in OUTPUTS} == expected(inputs)
    assert not any(broken(SEND, w))


@pytest.mark.parametrize(
    "change",
    [
        {"v": 0, "b": 10},
        {"v": AMOUNT - 1, "b": 2 * AMOUNT - 2 + 10},
        {"fee": 0, "b": 100},
        {"fee": 1000, "v": 0},
        {"b": 110},
        {"root": 0, "s": 0, "s_new": 0, "t": 0, "rec": 0, "A": 0},
        {"root": R - 1, "s": R - 1, "s_new": R - 1, "t": R - 1, "rec": R - 1, "A": R - 1},
        {"rec": 7},
        {"s_new": 11},
        {"fee": R - 1},  # minus one: the fee is public, and the ledger sets it; the relation does not bound it
    ],
)
def test_edges_of_the_relation_are_accepted(change: dict[str, int]) -> None:
    inputs = HONEST | change
    assert satisfied(SEND, inputs | expected(inputs))


@pytest.mark.parametrize(
    "change",
    [
        {"v": AMOUNT},  # a 65-bit value
        {"v": AMOUNT, "b": AMOUNT + 1000},
        {"v": R - 1},  # minus one: the account would gain
        {"v": R - 100, "b": 0},
        {"v": 991},  # b - v - fee = -1
        {"fee": 901},
        {"fee": 1001, "v": 0},  # fee > b
        {"b": AMOUNT + 110},  # the change has 65 bits
        {"b": 0},
        {"v": pow(2, -1, R)},
    ],
)
def test_amounts_out_of_range_are_rejected(change: dict[str, int]) -> None:
    assert not satisfied(SEND, HONEST | change)


@pytest.mark.parametrize("name", [*OUTPUTS, "A", "fee", "b", "v", "root", "rec", "s", "s_new", "t"])
def test_an_input_that_the_outputs_were_not_made_with_is_rejected(name: str) -> None:
    honest = HONEST | expected(HONEST)
    assert satisfied(SEND, honest)
    assert not satisfied(SEND, honest | {name: honest[name] + 1})


def test_swapped_commitments_are_rejected() -> None:
    out = expected(HONEST)
    assert not satisfied(SEND, HONEST | {"com": out["com_new"], "com_new": out["com"], "rho": out["rho"]})


def test_every_private_wire_is_bound() -> None:
    """No private wire of either system can be changed alone."""
    w = run(SEND.tape, HONEST)
    n_fixed = 1 + len(SEND.r1cs.public)
    assert loose_wires(SEND.r1cs, w.r1cs(), n_fixed) == []
    assert loose_wires(SEND.square, w.square(), n_fixed) == []


def test_random_pairs_of_wires_are_bound() -> None:
    """Two private wires changed together, 300 pairs at random."""
    from bonsai_circuits.r1cs.diagnose import failed_rows
    from bonsai_verifier.field import fr_from_ints

    z, rng = run(SEND.tape, HONEST).r1cs(), random.Random(1)
    for _ in range(300):
        changed = z.copy()
        pair = rng.sample(range(6, SEND.r1cs.n_wires), 2)
        changed[pair] = fr_from_ints([rng.randrange(R), rng.randrange(R)])
        assert failed_rows(SEND.r1cs, changed, limit=1)

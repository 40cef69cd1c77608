import random
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonsai_circuits.dsl.wires import Bit
from bonsai_circuits.errors import CircuitError
from bonsai_circuits.gadgets.digit import Digit
from bonsai_circuits.gadgets.range import bits
from bonsai_circuits.pipeline import Compiled
from bonsai_circuits.r1cs.linear import evaluated
from bonsai_circuits.witness.runner import Witness, run
from bonsai_verifier.field import fr_to_ints
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.support import builder, cheated, compiled, loose_wires, open_wires, refusals

NO_BITS = [2, R - 1, pow(2, -1, R)]
KINDS = [(1, False), (2, False), (3, False), (1, True), (2, True), (3, True)]
rng = random.Random(3)


@dataclass(frozen=True)
class Tables:
    """out_i = values_i[d] for two tables of constants; `digit` is the gadget."""

    circuit: Compiled
    digit: Digit
    values: list[list[int]]

    def one_hot(self, w: Witness) -> list[int]:
        registers = fr_to_ints(w.registers)
        return [evaluated(s.terms, registers) for s in self.digit.one_hot()]


def tables_of(k: int, shared: bool) -> Tables:
    values = [[rng.randrange(R) for _ in range(2**k)] for _ in range(2)]
    made: list[Digit] = []

    def describe(c, p, w):
        made.append(Digit(c, bits(c, p.d, k), shared))
        for out, table in zip((p.out_0, p.out_1), values, strict=True):
            out.must_equal(made[0].table(table, "table"))
            assert made[0].table(table, "again").terms == made[0].table(table, "and again").terms  # made once

    return Tables(compiled(describe, "d", "out_0", "out_1"), made[0], values)


TABLES = {kind: tables_of(*kind) for kind in KINDS}


DIGITS = [((k, shared), d) for k, shared in KINDS for d in range(2**k)]


@pytest.mark.parametrize(("kind", "d"), DIGITS)
def test_one_hot_and_tables_equal_their_native_twins(kind: tuple[int, bool], d: int) -> None:
    tables = TABLES[kind]
    w = run(tables.circuit.tape, {"d": d})
    assert tables.one_hot(w) == [int(j == d) for j in range(2 ** kind[0])]
    assert w.public() == {"d": d, "out_0": tables.values[0][d], "out_1": tables.values[1][d]}
    assert refusals(tables.circuit, w) == [set()] * 3


@pytest.mark.parametrize("kind", KINDS)
def test_digit_costs_what_it_says(kind: tuple[int, bool]) -> None:
    """One-hot 2^k - 1 - k rows; two tables from the bits: 2 bits one product, 3 bits one product and one a table."""
    (k, shared), circuit = kind, TABLES[kind].circuit
    one_hot = 2**k - 1 - k
    from_bits = {1: 0, 2: 1, 3: 1 + 2}[k]
    n_public = 2 if k == 1 else 0  # one bit: both outputs are linear in d, equations of public inputs, which are rows
    assert circuit.r1cs.n_rows == k + (one_hot if shared else from_bits) + n_public
    assert circuit.square.n_rows == k + one_hot + n_public + 4  # and four outline rows


@pytest.mark.parametrize(("kind", "d"), DIGITS)
def test_every_wire_has_one_value(kind: tuple[int, bool], d: int) -> None:
    """Given the bits: the one-hot form and the tables, in the system that has them."""
    circuit = TABLES[kind].circuit
    w = run(circuit.tape, {"d": d})
    for system, z in ((circuit.r1cs, w.r1cs()), (circuit.square, w.square())):
        assert loose_wires(system, z, 4) == []
        assert open_wires(system, z, lambda name: "bits" in name) == []


@pytest.mark.parametrize("kind", [(2, False), (3, False), (2, True), (3, True)])
def test_forged_one_hot_entry_is_rejected_by_its_row(kind: tuple[int, bool]) -> None:
    circuit = TABLES[kind].circuit
    for name in circuit.traced.wire_names:
        if "one-hot/entry" not in name:
            continue
        for d in range(2 ** kind[0]):
            honest = run(circuit.tape, {"d": d})
            for value in {0, 1, *NO_BITS} - {fr_to_ints(honest.registers)[circuit.traced.wire_names.index(name)]}:
                w = cheated(circuit, {"d": d}, {name: value})
                trace, r1cs, square = refusals(circuit, w)
                label = name.rpartition("/")[2].replace("_", " ").partition("#")[0]
                assert label in trace & square
                assert label in r1cs or not kind[1]  # unshared, the R1CS has no such wire


@pytest.mark.parametrize("kind", [(2, False), (3, False)])
@pytest.mark.parametrize("d", range(4))
def test_forged_table_is_rejected_in_both_systems(kind: tuple[int, bool], d: int) -> None:
    circuit = TABLES[kind].circuit
    honest = run(circuit.tape, {"d": d}).public()["out_0"]
    w = cheated(circuit, {"d": d, "out_0": honest + 1}, {"test/table": honest + 1})
    trace, r1cs, square = refusals(circuit, w)
    assert trace == {"table"}
    assert r1cs
    assert square


@pytest.mark.parametrize("value", NO_BITS)
def test_forged_product_of_bits_is_rejected_by_its_row(value: int) -> None:
    circuit = TABLES[3, False].circuit
    trace, r1cs, square = refusals(circuit, cheated(circuit, {"d": 2}, {"test/product_of_the_high_bits": value}))
    assert "product of the high bits" in trace & r1cs
    assert square == set()  # it has no such wire


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", NO_BITS)
def test_a_bit_that_is_no_bit_is_rejected_by_its_row(kind: tuple[int, bool], value: int) -> None:
    """Digits of 2, -1, 1/2 and what follows from them."""
    circuit, k = TABLES[kind].circuit, kind[0]
    for i in range(k):
        w = cheated(circuit, {"d": (value << i) % R}, {f"test/bits[{k}]/bit_{j}": value * (i == j) for j in range(k)})
        for labels in refusals(circuit, w):
            assert f"bit {i} is 0 or 1" in labels


@pytest.mark.parametrize("kind", KINDS)
def test_a_digit_beyond_its_size_is_rejected(kind: tuple[int, bool]) -> None:
    for d in (2 ** kind[0], R - 1):
        trace, r1cs, square = refusals(TABLES[kind].circuit, run(TABLES[kind].circuit.tape, {"d": d}))
        assert trace == {f"value is below 2^{kind[0]}"}
        assert r1cs
        assert square


@given(st.sampled_from(KINDS), st.data())
def test_constants_add_no_rows(kind: tuple[int, bool], data: st.DataObject) -> None:
    k, shared = kind
    d = data.draw(st.integers(0, 2**k - 1))
    c = builder("x")
    digit = Digit(c, [Bit.trusted(c.num(d >> i & 1)) for i in range(k)], shared)
    assert [s.constant_value() for s in digit.one_hot()] == [int(j == d) for j in range(2**k)]
    c.public("x").must_equal(digit.table(list(range(7, 7 + 2**k)), "table"))
    assert len(c.finish().rows) == 0


@pytest.mark.parametrize("k", [0, 4])
def test_a_digit_of_another_size_is_refused(k: int) -> None:
    c = builder("x")
    with pytest.raises(CircuitError, match="1 to 3"):
        Digit(c, [Bit.trusted(c.num(0))] * k)

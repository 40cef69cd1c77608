from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai_circuits.dsl.wires import Bit
from bonsai_circuits.errors import CircuitError, InputError
from bonsai_circuits.gadgets import edwards, pedersen
from bonsai_circuits.gadgets.pedersen import accumulate, chunks, placed
from bonsai_circuits.gadgets.pedersen_suite import PedersenSuite
from bonsai_circuits.gadgets.range import bits
from bonsai_circuits.native import jubjub
from bonsai_circuits.native import pedersen as native
from bonsai_circuits.pipeline import Compiled
from bonsai_circuits.witness.runner import run
from bonsai_circuits.witness.tape import open_tape, write_tape
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.support import broken, builder, cheated, compiled, forged, loose_wires, satisfied

PART = 200  # bits of one input


def bits_of_inputs(c, w, n):
    """n bits from the inputs x0, x1, ..., PART from each."""
    return [part for i in range(-(-n // PART)) for part in bits(c, getattr(w, f"x{i}"), min(PART, n - i * PART))]


def inputs_of(message: list[int]) -> dict[str, int]:
    return {
        f"x{i}": sum(bit << k for k, bit in enumerate(message[i * PART : (i + 1) * PART]))
        for i in range(-(-len(message) // PART))
    }


def hash_of(n: int) -> Compiled:
    return compiled(lambda c, p, w: p.out.must_equal(pedersen.pedersen(c, 5, bits_of_inputs(c, w, n))), "out")


SIZES = (1, 2, 3, 7, 183, 184, 372, 510)
HASHES = {n: hash_of(n) for n in SIZES}


@pytest.mark.parametrize("n", SIZES)
@given(data=st.data())
@settings(max_examples=8)
def test_hash_equals_its_native_twin(n: int, data: st.DataObject) -> None:
    message = data.draw(
        st.one_of(st.just([0] * n), st.just([1] * n), st.lists(st.integers(0, 1), min_size=n, max_size=n))
    )
    w = run(HASHES[n].tape, inputs_of(message))
    assert w.public()["out"] == native.pedersen(5, message)
    assert not any(broken(HASHES[n], w))


def rows_of(n: int) -> tuple[int, int]:
    """The cost of a hash of n bits, from its parts: look-ups, additions, ends of segments, joins."""
    r1cs = square = n
    full, rest = divmod(n, 3)
    n_chunks = 2 + full + (rest > 0)
    segments = [range(max(first, 2), min(first + 63, n_chunks)) for first in range(0, n_chunks, 63)]
    for number, segment in enumerate(segments):
        for k in segment:
            first = k == segment[0]
            folded = number == 0 and first  # with the tag in its table
            variable = 3 if k < 2 + full else rest
            look_up = {1: 0, 2: 1, 3: 3 if folded else 2}[variable]
            r1cs, square = r1cs + look_up, square + look_up
            if not first:
                known_first = not (number == 0 and segment[0] < 2 + full)  # a table of three bits has no square
                second = k == segment[0] + 1
                r1cs, square = r1cs + 3, square + ((3 if known_first else 4) if second else 4)
        r1cs, square = (r1cs + 3, square + 6) if len(segment) > 1 else (r1cs + 2, square + 4)
    joins = len(segments) - 1
    if joins:
        r1cs, square = r1cs + 6 * (joins - 1) + 4, square + 12 * (joins - 1) + 8
    return r1cs, square


@pytest.mark.parametrize("n", [n for n in SIZES if n > 183])
def test_hash_costs_what_it_says(n: int) -> None:
    assert (HASHES[n].r1cs.n_rows, HASHES[n].square.n_rows - 2) == rows_of(n)


def test_a_sapling_node_costs_861_rows_and_its_bits() -> None:
    assert rows_of(510) == (510 + 861, 510 + 1045)


@pytest.mark.parametrize(
    ("wire", "label"),
    [
        ("test/signed_y#5", "signed y"),
        ("test/product_of_bits#5", "product of bits"),
        ("test/slope#5", "slope^2 = A + x1 + x2 + x3"),
        ("test/intercept#5", "the line passes through the addend"),
        ("test/x#20", "slope^2 = A + x1 + x2 + x3"),
        ("test/bits[184]/bit_9", "bit 9 is 0 or 1"),
    ],
)
def test_a_forged_wire_is_rejected_by_its_row(wire: str, label: str) -> None:
    failed = forged(HASHES[184], inputs_of([1, 0] * 92), wire, 12345)
    assert label in [row.label for row in failed]


def test_another_bit_is_rejected_even_if_everything_follows_from_it() -> None:
    message = [1, 0] * 92
    honest = inputs_of(message)
    out = native.pedersen(5, message)
    for wire in ("bit_9", "bit_10", "bit_11"):
        flipped = 1 - message[int(wire[4:])]
        w = cheated(HASHES[184], honest | {"out": out}, {f"test/bits[184]/{wire}": flipped})
        assert all(broken(HASHES[184], w))


def test_every_private_wire_is_bound() -> None:
    circuit = HASHES[184]
    w = run(circuit.tape, inputs_of([1, 0, 0, 1] * 46))
    assert loose_wires(circuit.r1cs, w.r1cs(), 2) == []
    assert loose_wires(circuit.square, w.square(), 2) == []


def test_constants_add_no_rows() -> None:
    c = builder("x")
    message = [1, 0, 1, 1] * 60
    out = pedersen.pedersen(c, 5, [Bit.trusted(c.num(bit)) for bit in message])
    assert out.constant_value() == native.pedersen(5, message)
    _ = c.public("x") * c.public("x")
    assert len(c.finish().rows) == 1


def test_constants_among_the_bits_fold_into_tables() -> None:
    """Only the chunks that hold a variable bit cost an addition."""

    def describe(c, p, w):
        own = bits(c, w.x0, 6)
        zero, one = (Bit.trusted(c.num(k)) for k in (0, 1))
        message = [*own[:3], *[one] * 30, own[3], zero, one, *own[4:], *[zero] * 40]
        p.out.must_equal(pedersen.pedersen(c, 5, message))

    circuit = compiled(describe, "out")
    for x in (0, 21, 42, 63):
        own = [x >> i & 1 for i in range(6)]
        message = [*own[:3], *[1] * 30, own[3], 0, 1, *own[4:], *[0] * 40]
        w = run(circuit.tape, {"x0": x})
        assert w.public()["out"] == native.pedersen(5, message)
        assert not any(broken(circuit, w))
    assert circuit.r1cs.n_rows == 6 + 3 + (0 + 3) + (1 + 3) + 3


def test_constants_after_variables_of_another_call_are_refused() -> None:
    c = builder("x")
    own = [Bit.trusted(c.boolean(c.public("x"), i, "bit")) for i in range(3)]
    total = accumulate(c, chunks(c, own))
    with pytest.raises(CircuitError, match="together"):
        accumulate(c, chunks(c, [Bit.trusted(c.num(1))] * 3, 1), total)


def test_constants_where_the_child_is_not_are_refused() -> None:
    c = builder("x")
    own = [Bit.trusted(c.boolean(c.public("x"), i, "bit")) for i in range(3)]
    with pytest.raises(CircuitError, match="segment"):
        placed(c, own, [pedersen.Place(2, ((70, (0, 0, 0)),))], [])


# Blindings and commitments -----------------------------------------------------------------------------------------------------


def blinding(c, p, w):
    point = edwards.add(c, *pedersen.blinding_points(c, w.sigma))
    p.u.must_equal(point.u)
    p.v.must_equal(point.v)


BLINDING = compiled(blinding, "u", "v")


@given(st.one_of(st.sampled_from([0, 1, 2, jubjub.ORDER - 1]), st.integers(0, jubjub.ORDER - 1)))
@settings(max_examples=20)
def test_blinding_is_the_multiple(sigma: int) -> None:
    w = run(BLINDING.tape, {"sigma": sigma})
    assert (w.public()["u"], w.public()["v"]) == jubjub.multiply(native.blinding_generator(), sigma)
    assert not any(broken(BLINDING, w))


@pytest.mark.parametrize("sigma", [jubjub.ORDER, 2**252 - 1, 2**252, R - 1])
def test_a_blinding_is_below_the_order(sigma: int, tmp_path: Path) -> None:
    """Another one would commit to the same, or to what no blinding of this value is: the twins in the clear refuse it too."""
    write_tape(tmp_path / "tape", BLINDING.tape)
    for tape in (BLINDING.tape, open_tape(tmp_path / "tape")):
        with pytest.raises(InputError, match=rf"^sigma: is not below {jubjub.ORDER}") as caught:
            run(tape, {"sigma": sigma})
        assert str(sigma) not in str(caught.value).replace(str(jubjub.ORDER), "")
    assert COMMITMENTS.tape.below == dict.fromkeys(("s", "s2", "t"), jubjub.ORDER)


def test_blinding_costs_what_it_says() -> None:
    assert BLINDING.r1cs.n_rows == 669 + 6
    assert BLINDING.square.n_rows - 3 == 753 + 12


def test_blinding_digits_are_bound() -> None:
    for wire in ("test/digit_3,_bit_0", "test/digit_83,_bit_2"):
        name = wire.replace(",", "_").replace("__", "_")
        names = [n for n in BLINDING.traced.wire_names if n.replace("__", "_") == name]
        assert len(names) == 1
        failed = forged(BLINDING, {"sigma": 77}, names[0], 2)
        assert any("is 0 or 1" in row.label for row in failed)
    w = run(BLINDING.tape, {"sigma": 77})
    assert loose_wires(BLINDING.r1cs, w.r1cs(), 3) == []


def commitments(c, p, w):
    suite = PedersenSuite()
    p.account.must_equal(suite.account(c, w.b, w.root, w.s))
    p.other.must_equal(suite.account(c, w.b2, w.root, w.s2))
    p.receipt.must_equal(suite.receipt(c, w.v, p.sender, w.rec, w.t))


NAMES = ("account", "other", "receipt", "sender")
COMMITMENTS = compiled(commitments, *NAMES)
HONEST = {"b": 5, "root": 7, "s": 8, "b2": 9, "s2": 10, "v": 11, "sender": 12, "rec": 13, "t": 14}


@given(
    st.lists(st.one_of(st.sampled_from([0, 2**64 - 1]), st.integers(0, 2**64 - 1)), min_size=3, max_size=3),
    st.lists(st.one_of(st.sampled_from([0, R - 1]), st.integers(0, R - 1)), min_size=3, max_size=3),
    st.lists(st.integers(0, jubjub.ORDER - 1), min_size=3, max_size=3),
)
@settings(max_examples=8)
def test_commitments_equal_their_native_twins(amounts: list[int], elements: list[int], blindings: list[int]) -> None:
    twin = native.PedersenSuite()
    (b, b2, v), (root, sender, rec), (s, s2, t) = amounts, elements, blindings
    w = run(COMMITMENTS.tape, dict(zip(HONEST, (b, root, s, b2, s2, v, sender, rec, t), strict=True)))
    assert w.public() == {
        "account": twin.account(b, root, s),
        "other": twin.account(b2, root, s2),
        "receipt": twin.receipt(v, sender, rec, t),
        "sender": sender,
    }
    assert not any(broken(COMMITMENTS, w))


def test_commitments_cost_what_they_say() -> None:
    account = (85 * 5 - 3 * 2 + 1 + 3) + (22 * 5 - 2 + 3) + 669 + 6 * 2 + 4
    again = (22 * 5 - 2 + 3) + 669 + 6 * 2 + 4
    receipt = (192 * 5 - 2) - 4 * 3 + 1 + 4 * 3 + 669 + 6 * 4 + 4
    unpacked = 255 + 2 * 64 + 64 + 2 * 255
    assert COMMITMENTS.r1cs.n_rows == account + again + receipt + unpacked


@pytest.mark.parametrize("name", ["b", "b2", "v"])
@pytest.mark.parametrize("value", [2**64, 2**64 + 5, R - 1])
def test_an_amount_that_is_too_large_is_rejected(name: str, value: int) -> None:
    assert broken(COMMITMENTS, run(COMMITMENTS.tape, HONEST | {name: value}))[0]


@pytest.mark.parametrize("name", [name for name in HONEST if name != "sender"])
def test_another_opening_is_rejected(name: str) -> None:
    honest = HONEST | run(COMMITMENTS.tape, HONEST).public()
    assert satisfied(COMMITMENTS, honest)
    assert not satisfied(COMMITMENTS, honest | {name: honest[name] + 1})


def test_an_alias_of_a_value_is_another_commitment() -> None:
    """Values are unpacked to 255 bits: x + r, if it fits, is a second string with the same value, and hashes to something else."""
    names = COMMITMENTS.traced.wire_names
    root = 7
    wires = [name for name in names if name.startswith("test/account/bits[255]/bit_")]
    assert len(wires) == 255
    alias = {name: (root + R) >> int(name.rpartition("_")[2]) & 1 for name in wires}
    w = cheated(COMMITMENTS, HONEST, alias)
    assert not any(broken(COMMITMENTS, w))
    assert w.public()["account"] != native.PedersenSuite().account(5, root, 8)
    honest = {k: v for k, v in run(COMMITMENTS.tape, HONEST).public().items() if k != "sender"}
    assert all(broken(COMMITMENTS, cheated(COMMITMENTS, HONEST | honest, alias)))

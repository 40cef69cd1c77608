"""Bytes: one value, one encoding; everything else is an error that names the field."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py_ecc.fields import optimized_bls12_381_FQ as FQ
from py_ecc.optimized_bls12_381.optimized_curve import G1, G2, add, multiply, neg

from bonsai_verifier import CircuitMismatch, InputError, KeyRefused, Proof, VerifyingKey, WireError, curve, wire
from bonsai_verifier.curve import G1 as Point1
from bonsai_verifier.curve import G2 as Point2
from bonsai_verifier.curve import ONE_1, ONE_2
from bonsai_verifier.parameters import FP_MODULUS, FR_MODULUS
from tests.reference import pari

CIRCUIT = bytes(range(32))
ALPHA, TAU, DELTA = 1111, 2222, 3333


@cache
def key_bytes(
    *,
    alpha: int = ALPHA,
    tau: int = TAU,
    delta: int = DELTA,
    n: int = 6,
    n_public: int = 2,
    development: bool = False,
) -> bytes:
    """A key with these trapdoors, however foolish."""
    return pari.encode_verifying_key(
        development=development,
        circuit_digest=CIRCUIT,
        n=n,
        n_public=n_public,
        alpha_1=multiply(G1, alpha),
        tau_2=multiply(G2, tau),
        delta_2=multiply(G2, delta),
    )


def replaced(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


# Scalars ---------------------------------------------------------------------------------------------------------------------


@given(st.integers(0, FR_MODULUS - 1))
def test_scalars_round_trip(x: int) -> None:
    assert wire.decode_scalar(wire.encode_scalar(x), "x") == x


@pytest.mark.parametrize("x", [FR_MODULUS, FR_MODULUS + 1, 2**255, 2**256 - 1])
def test_a_scalar_not_below_r_is_an_error(x: int) -> None:
    with pytest.raises(WireError, match=r"^proof\.v: not below r"):
        wire.decode_scalar(x.to_bytes(32, "little"), "proof.v")
    with pytest.raises(InputError, match=r"^x: not in \[0, r\)"):
        wire.encode_scalar(x, "x")


def test_a_scalar_has_32_bytes() -> None:
    for n in (0, 31, 33):
        with pytest.raises(WireError, match=f"^x: {n} bytes, expected 32"):
            wire.decode_scalar(bytes(n), "x")
    with pytest.raises(InputError, match="got str"):
        wire.decode_scalar("0" * 32, "x")  # type: ignore[arg-type]


# Points ----------------------------------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(st.integers(1, FR_MODULUS - 1))
def test_points_round_trip_and_equal_the_reference(k: int) -> None:
    data_1, data_2 = pari.encode_g1(multiply(G1, k)), pari.encode_g2(multiply(G2, k))
    assert wire.encode_g1(wire.decode_g1(data_1, "P")) == data_1
    assert wire.encode_g2(wire.decode_g2(data_2, "Q")) == data_2


def test_generators_and_opposites() -> None:
    assert wire.decode_g1(pari.encode_g1(G1), "P") == ONE_1
    assert wire.decode_g2(pari.encode_g2(G2), "Q") == ONE_2
    assert wire.decode_g1(pari.encode_g1(neg(G1)), "P") == -ONE_1 != ONE_1
    assert wire.decode_g2(pari.encode_g2(neg(G2)), "Q") == -ONE_2 != ONE_2
    assert not ONE_1.is_infinity
    assert Point1(0, 0).is_infinity
    assert Point2((0, 0), (0, 0)).is_infinity


X_1 = pari.encode_g1(G1)
X_2 = pari.encode_g2(G2)
NO_ROOT = next(x for x in range(100) if pow(x**3 + 4, (FP_MODULUS - 1) // 2, FP_MODULUS) != 1)
BAD_G1 = {
    "unset flag": (bytes([X_1[0] & 0x7F]) + X_1[1:], "compression flag"),
    "infinity": (b"\xc0" + bytes(47), "infinity"),
    "infinity with a sign": (b"\xe0" + bytes(47), "beside other bits"),
    "infinity with an x": (b"\xc0" + bytes(46) + b"\x01", "beside other bits"),
    "x = p": ((FP_MODULUS | 1 << 383).to_bytes(48, "big"), "not below p"),
    "x = p + 5": ((FP_MODULUS + 5 | 1 << 383).to_bytes(48, "big"), "not below p"),
    "all ones": (b"\x9f" + b"\xff" * 47, "not below p"),
    "x without a root": ((NO_ROOT | 1 << 383).to_bytes(48, "big"), "not on the curve"),
    "torsion": (b"\x80" + bytes(47), "outside the subgroup"),
    "the other torsion": (b"\xa0" + bytes(47), "outside the subgroup"),
}
BAD_G2 = {
    "unset flag": (bytes([X_2[0] & 0x7F]) + X_2[1:], "compression flag"),
    "infinity": (b"\xc0" + bytes(95), "infinity"),
    "infinity with a sign": (b"\xe0" + bytes(95), "beside other bits"),
    "infinity with an x": (b"\xc0" + bytes(94) + b"\x01", "beside other bits"),
    "x1 = p": ((FP_MODULUS | 1 << 383).to_bytes(48, "big") + bytes(48), "not below p"),
    "x0 = p": (b"\x80" + bytes(47) + FP_MODULUS.to_bytes(48, "big"), "not below p"),
    "x0 with flags": (X_2[:48] + bytes([X_2[48] | 0x80]) + X_2[49:], "not below p"),
}


@pytest.mark.parametrize(("data", "message"), BAD_G1.values(), ids=BAD_G1.keys())
def test_a_bad_g1_point_is_an_error(data: bytes, message: str) -> None:
    with pytest.raises(WireError, match=rf"^proof\.T: .*{message}") as caught:
        wire.decode_g1(data, "proof.T")
    assert caught.value.field == "proof.T"


@pytest.mark.parametrize(("data", "message"), BAD_G2.values(), ids=BAD_G2.keys())
def test_a_bad_g2_point_is_an_error(data: bytes, message: str) -> None:
    with pytest.raises(WireError, match=rf"^vk\.tau: .*{message}"):
        wire.decode_g2(data, "vk.tau")


def test_a_g2_point_outside_curve_or_subgroup_is_an_error() -> None:
    messages = set()
    for x in range(12):
        with pytest.raises(WireError) as caught:
            wire.decode_g2((x | 1 << 767).to_bytes(96, "big"), "vk.tau")
        messages.add(str(caught.value))
    assert messages == {"vk.tau: not on the curve", "vk.tau: on the curve, but outside the subgroup of order r"}


def test_points_have_one_length() -> None:
    for n in (0, 47, 49, 96):
        with pytest.raises(WireError, match=f"^P: {n} bytes, expected 48"):
            wire.decode_g1(bytes(n), "P")
    for n in (0, 48, 95, 97):
        with pytest.raises(WireError, match=f"^Q: {n} bytes, expected 96"):
            wire.decode_g2(bytes(n), "Q")


def test_arrays_of_points_of_another_shape_or_type_are_an_error() -> None:
    points, data = ONE_1.to_words()[None], np.frombuffer(X_1, np.uint8)[None]
    for f, wrong in (
        (curve.encode_g1_many, points[0]),
        (curve.encode_g1_many, points[:, :6]),
        (curve.encode_g2_many, points),
        (curve.negate_g1, points[None]),
        (curve.decode_g1_many, data[:, 1:]),
        (curve.decode_g2_many, data),
    ):
        with pytest.raises(ValueError, match="expected rows of"):
            f(wrong)
    for f, wrong in ((curve.encode_g1_many, points.astype(np.int64)), (curve.decode_g1_many, data.astype(np.int8))):
        with pytest.raises(TypeError, match="expected an array of"):
            f(wrong)
    assert curve.encode_g1_many(np.repeat(points, 4, axis=0)[::2]).tobytes() == 2 * X_1
    assert curve.encode_g1_many(np.asfortranarray(np.repeat(points, 2, axis=0))).tobytes() == 2 * X_1


# Proofs ----------------------------------------------------------------------------------------------------------------------


PROOF = pari.encode_g1(multiply(G1, 5)) + pari.encode_g1(multiply(G1, 6)) + (7).to_bytes(32, "little")


def test_a_proof_round_trips() -> None:
    proof = wire.decode_proof(PROOF)
    assert isinstance(proof, Proof)
    assert proof.v == 7
    assert wire.encode_g1(proof.T) + wire.encode_g1(proof.U) == PROOF[:96]
    assert wire.encode_proof(proof) == PROOF


def test_a_proof_names_its_first_fault() -> None:
    infinity, r = b"\xc0" + bytes(47), FR_MODULUS.to_bytes(32, "little")
    for data, name in (
        (replaced(PROOF, 0, infinity), "proof.T"),
        (replaced(PROOF, 48, infinity), "proof.U"),
        (replaced(PROOF, 96, r), "proof.v"),
        (infinity + infinity + r, "proof.T"),
        (PROOF[:48] + infinity + r, "proof.U"),
        (PROOF[:-1], "proof"),
        (PROOF + b"\0", "proof"),
        (b"", "proof"),
    ):
        with pytest.raises(WireError) as caught:
            wire.decode_proof(data)
        assert caught.value.field == name


# Public inputs ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [FR_MODULUS, FR_MODULUS + 3, 2**256 - 1, 2**256, -1])
def test_a_public_input_outside_the_field_is_an_error(x: int) -> None:
    with pytest.raises(InputError, match=r"^public\[1\]: not in \[0, r\)"):
        wire.encode_public_inputs([3, x], 2)


def test_public_inputs_are_integers() -> None:
    for x in (1.0, True, "1", b"\1", None):
        with pytest.raises(InputError, match=r"^public\[0\]: expected an integer"):
            wire.encode_public_inputs([x], 1)  # type: ignore[list-item]
    for values in (b"\1\2", "12", 12, None, {1, 2}):
        with pytest.raises(InputError, match=r"^public: expected a list of 2"):
            wire.encode_public_inputs(values, 2)  # type: ignore[arg-type]


def test_the_number_of_public_inputs_is_the_keys() -> None:
    for values in ([], [1], [1, 2, 3]):
        with pytest.raises(InputError, match=f"^public: {len(values)} public inputs, the key takes 2"):
            wire.encode_public_inputs(values, 2)
    assert wire.encode_public_inputs([], 0).shape == (0, 32)


def test_public_inputs_as_bytes() -> None:
    rows = wire.encode_public_inputs([3, FR_MODULUS - 1], 2)
    copy = wire.encode_public_inputs(rows, 2)
    assert copy.tobytes() == rows.tobytes() == (3).to_bytes(32, "little") + (FR_MODULUS - 1).to_bytes(32, "little")
    copy[1, 0] += 1
    assert not np.array_equal(copy, rows)
    with pytest.raises(InputError, match=r"^public\[1\]: not in"):
        wire.encode_public_inputs(copy, 2)
    with pytest.raises(InputError, match="of uint8"):
        wire.encode_public_inputs(copy[:, :31], 2)
    with pytest.raises(InputError, match="of uint8"):
        wire.encode_public_inputs(copy.astype("i8"), 2)
    with pytest.raises(InputError, match="of uint8"):
        wire.encode_public_inputs(np.array(0, np.uint8), 2)


# Verifying keys --------------------------------------------------------------------------------------------------------------


def test_a_key_round_trips_and_equals_the_reference() -> None:
    data = key_bytes()
    vk = wire.decode_verifying_key(data)
    theirs = pari.decode_verifying_key(data)
    assert isinstance(vk, VerifyingKey)
    assert (vk.domain_size, vk.n_public, vk.circuit_digest, vk.development) == (6, 2, CIRCUIT, False)
    assert vk.digest == theirs.digest
    assert wire.encode_verifying_key(vk) == data
    assert len(data) == wire.KEY_BYTES


@pytest.mark.parametrize(
    ("at", "new", "field"),
    [
        (0, b"bonsaivk", "vk.magic"),
        (8, b"\2\0", "vk.version"),
        (8, b"\1\1", "vk.version"),
        (10, b"\2\0", "vk.curve"),
        (12, b"\2\0\0\0", "vk.flags"),
        (12, b"\1\0\0\x80", "vk.flags"),
        (48, bytes(4), "vk.domain_size"),
        (48, (5).to_bytes(4, "little"), "vk.domain_size"),
        (48, (9).to_bytes(4, "little"), "vk.domain_size"),
        (48, b"\xff" * 4, "vk.domain_size"),
        (48, (2).to_bytes(4, "little"), "vk.n_public"),
        (52, (6).to_bytes(4, "little"), "vk.n_public"),
        (52, b"\xff" * 4, "vk.n_public"),
        *[(56, data, "vk.alpha") for data, _ in BAD_G1.values()],
        *[(104, data, "vk.tau") for data, _ in BAD_G2.values()],
        *[(200, data, "vk.delta") for data, _ in BAD_G2.values()],
    ],
)
def test_a_malformed_key_is_an_error(at: int, new: bytes, field: str) -> None:
    with pytest.raises(WireError) as caught:
        wire.decode_verifying_key(replaced(key_bytes(), at, new))
    assert caught.value.field == field


def test_a_key_has_one_length() -> None:
    for data in (b"", key_bytes()[:-1], key_bytes() + b"\0", key_bytes() * 2, key_bytes()[:200]):
        with pytest.raises(WireError, match=f"^vk: {len(data)} bytes, expected 296"):
            wire.decode_verifying_key(data)


def test_a_development_key_is_refused_unless_asked_for_by_name() -> None:
    data = key_bytes(development=True)
    with pytest.raises(KeyRefused, match="allow_development=True"):
        wire.decode_verifying_key(data)
    vk = wire.decode_verifying_key(data, allow_development=True)
    assert vk.development
    assert wire.encode_verifying_key(vk) == data
    assert not wire.decode_verifying_key(key_bytes(), allow_development=True).development


@pytest.mark.parametrize(
    ("trapdoors", "field"),
    [
        ({"alpha": 1}, "vk.alpha"),
        ({"alpha": FR_MODULUS - 1}, "vk.alpha"),
        ({"tau": 1}, "vk.tau"),
        ({"tau": FR_MODULUS - 1}, "vk.tau"),
        ({"delta": 1}, "vk.delta"),
        ({"delta": FR_MODULUS - 1}, "vk.delta"),
        ({"delta": TAU}, "vk.delta"),
        ({"alpha": TAU}, "vk.tau"),
        ({"alpha": DELTA}, "vk.delta"),
    ],
)
def test_trivial_or_equal_trapdoors_are_refused(trapdoors: dict[str, int], field: str) -> None:
    with pytest.raises(KeyRefused) as caught:
        wire.decode_verifying_key(key_bytes(**trapdoors))
    assert caught.value.field == field


def test_a_key_of_another_circuit_names_both_digests() -> None:
    assert wire.decode_verifying_key(key_bytes(), circuit_digest=CIRCUIT).circuit_digest == CIRCUIT
    with pytest.raises(CircuitMismatch) as caught:
        wire.decode_verifying_key(key_bytes(), circuit_digest=bytes(32))
    assert CIRCUIT.hex() in str(caught.value)
    assert bytes(32).hex() in str(caught.value)


def test_domain_sizes() -> None:
    for n in range(-2, 3000):
        assert wire.is_domain_size(n) == pari.is_domain_size(n)
    assert wire.is_domain_size(627 << 32)
    assert not wire.is_domain_size(1 << 33)


def test_a_key_that_does_not_fit_its_bytes_is_an_error() -> None:
    vk = wire.decode_verifying_key(key_bytes())
    with pytest.raises(InputError, match=r"^vk\.domain_size: .* 32 bits"):
        VerifyingKey(CIRCUIT, 1 << 32, 2, vk.alpha, vk.tau, vk.delta, False)
    with pytest.raises(InputError, match=r"^vk\.circuit_digest: expected 32 bytes"):
        VerifyingKey(CIRCUIT[1:], 6, 2, vk.alpha, vk.tau, vk.delta, False)


def test_torsion_added_to_a_point_is_seen() -> None:
    """The pairing would not see it: U + t would pass for U."""
    data = pari.encode_g1(add(multiply(G1, 9), (FQ(0), FQ(2), FQ(1))))
    with pytest.raises(WireError, match="outside the subgroup"):
        wire.decode_g1(data, "proof.U")
    with pytest.raises(ValueError, match="outside the subgroup"):
        pari.decode_g1(data, "proof.U")


# Payloads --------------------------------------------------------------------------------------------------------------------


scalars = st.integers(0, FR_MODULUS - 1)


@given(scalars, scalars, scalars, scalars, st.binary(min_size=128, max_size=128))
def test_payloads_survive_their_256_bytes(a: int, com_new: int, rho: int, root_rho: int, proof: bytes) -> None:
    payload = wire.Payload(a, com_new, rho, root_rho, proof)
    data = wire.encode_payload(payload)
    assert len(data) == 256
    assert wire.decode_payload(data) == payload


@pytest.mark.parametrize(("name", "at"), [("A", 0), ("com_new", 32), ("rho", 64), ("root_rho", 96)])
@pytest.mark.parametrize("value", [FR_MODULUS, 2**256 - 1])
def test_a_payload_has_one_form(name: str, at: int, value: int) -> None:
    data = bytearray(256)
    data[at : at + 32] = value.to_bytes(32, "little")
    with pytest.raises(WireError, match=rf"^payload\.{name}: not below r"):
        wire.decode_payload(bytes(data))
    with pytest.raises(InputError, match=rf"^payload\.{name}"):
        wire.encode_payload(replace(wire.decode_payload(bytes(256)), **{name: value}))


@pytest.mark.parametrize("length", [0, 128, 255, 257, 512])
def test_a_payload_has_one_length(length: int) -> None:
    with pytest.raises(WireError, match="expected 256"):
        wire.decode_payload(bytes(length))
    with pytest.raises(WireError, match="expected 128"):
        wire.encode_payload(wire.Payload(1, 2, 3, 4, bytes(length + 1)))


def test_payloads_back_to_back_are_rows() -> None:
    payloads = [wire.Payload(i, 2, 3, 4, bytes([i]) * 128) for i in range(3)]
    rows = wire.payload_rows(b"".join(map(wire.encode_payload, payloads)))
    assert rows.shape == (3, 256)
    assert [wire.decode_payload(row.tobytes()) for row in rows] == payloads
    assert wire.payload_rows(b"").shape == (0, 256)
    with pytest.raises(WireError, match="no whole number"):
        wire.payload_rows(bytes(300))

"""Untrusted bytes -> values, the only place where that happens; and back.  One value has one encoding.

Scalar          32 bytes little-endian, below r
Point           48 (G1) or 96 (G2) bytes, the compressed ZCash form; on the curve, in the subgroup, not infinity
Proof           T 48 | U 48 | v 32                                                                              128 bytes
Payload         of one operation: A 32 | com_new 32 | rho 32 | root_rho 32 | proof 128                          256 bytes
Verifying key   "BONSAIVK" 8 | version 2 | curve 2 | flags 4 | circuit digest 32 | domain size N 4 | number of public inputs 4
                | [alpha]_1 48 | [tau]_2 96 | [delta]_2 96, integers little-endian                               296 bytes
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .curve import (
    G1,
    G2,
    ONE_1,
    ONE_2,
    POINT_ERRORS,
    POINT_NOT_IN_SUBGROUP,
    POINT_OK,
    decode_g1_many,
    decode_g2_many,
    encode_g1_many,
    encode_g2_many,
    in_g1_many,
)
from .errors import CircuitMismatch, InputError, KeyRefused, WireError
from .field import Octets, Words, fr_below, fr_is_canonical
from .pairing import product_is_one
from .parameters import (
    DIGEST_BYTES,
    DOMAIN_ODD_PARTS,
    FR_MODULUS,
    G1_BYTES,
    G2_BYTES,
    PAYLOAD_BYTES,
    PROOF_BYTES,
    SCALAR_BYTES,
    TWO_ADICITY,
)
from .transcript import blake3

KEY_MAGIC = b"BONSAIVK"
_PAYLOAD_SCALARS = ("A", "com_new", "rho", "root_rho")
KEY_VERSION = 1
CURVE_BLS12_381 = 1
FLAG_DEVELOPMENT = 1
KEY_BYTES = 8 + 2 + 2 + 4 + DIGEST_BYTES + 4 + 4 + G1_BYTES + 2 * G2_BYTES

Bytes: TypeAlias = bytes | bytearray | memoryview
PublicInputs: TypeAlias = Sequence[int] | Octets  # of one proof: integers in [0, r), or rows of 32 bytes
Fees: TypeAlias = int | np.integer[Any] | Sequence[int] | NDArray[np.integer[Any]]  # one for all, or one each


# Values ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Proof:
    """T = [(alpha a' + p)(tau) / delta], U = the opening of a' and p at r, v = a'(r)."""

    T: G1
    U: G1
    v: int


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """What a verifier knows of one circuit and one setup.  Made by decode_verifying_key, or by a setup.

    `digest` is the BLAKE3 digest of its bytes: the `vk_digest` of the transcript.
    """

    circuit_digest: bytes
    domain_size: int
    n_public: int
    alpha: G1
    tau: G2
    delta: G2
    development: bool
    digest: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", blake3(encode_verifying_key(self)))


# Scalars and points ----------------------------------------------------------------------------------------------------------


def decode_scalar(data: Bytes, name: str) -> int:
    """32 little-endian bytes -> integer in [0, r).

    Raises WireError: wrong length, or a value not below r (one value, one encoding).
    """
    x = int.from_bytes(exactly(data, SCALAR_BYTES, name), "little")
    if x >= FR_MODULUS:
        raise WireError(name, "not below r: send the remainder modulo r")
    return x


def encode_scalar(x: int, name: str = "scalar") -> bytes:
    """Integer in [0, r) -> 32 little-endian bytes.  Raises InputError: outside."""
    if not 0 <= x < FR_MODULUS:
        raise InputError(name, "not in [0, r)")
    return x.to_bytes(SCALAR_BYTES, "little")


def decode_g1(data: Bytes, name: str) -> G1:
    """48 bytes -> point of G1 other than infinity.  Raises WireError."""
    points, status = decode_g1_many(_row(exactly(data, G1_BYTES, name)))
    _check_point(int(status[0]), name)
    return G1.from_words(points[0])


def decode_g2(data: Bytes, name: str) -> G2:
    """96 bytes -> point of G2 other than infinity.  Raises WireError."""
    points, status = decode_g2_many(_row(exactly(data, G2_BYTES, name)))
    _check_point(int(status[0]), name)
    return G2.from_words(points[0])


def encode_g1(point: G1) -> bytes:
    """Point -> 48 bytes."""
    return encode_g1_many(point.to_words()[None]).tobytes()


def encode_g2(point: G2) -> bytes:
    """Point -> 96 bytes."""
    return encode_g2_many(point.to_words()[None]).tobytes()


# Proofs ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DecodedProofs:
    """n proofs, row by row.  A row with a `fault` other than 0 is malformed and holds nothing of use."""

    t_bytes: Octets  # (n, 48), as they came: the transcript hashes them
    T: Words  # (n, 12)
    U: Words  # (n, 12)
    v: Words  # (n, 4) canonical
    fault: Octets  # (n,), what proof_fault puts into words


# Faults of a proof: 0, or the status of T; of U, if T is fine; of v, if both points are; the subgroup comes after all others
_FAULT_IN_U, _FAULT_IN_V = 16, 32


def proof_fault(fault: int) -> WireError:
    """The error that a fault stands for; it names proof.T, proof.U or proof.v."""
    if fault == _FAULT_IN_V:
        return WireError("proof.v", "not below r: send the remainder modulo r")
    name = "proof.U" if fault & _FAULT_IN_U else "proof.T"
    return WireError(name, POINT_ERRORS[fault & ~_FAULT_IN_U])


def decode_proof(data: Bytes) -> Proof:
    """128 bytes -> proof.  Raises WireError, naming proof.T, proof.U or proof.v."""
    data = exactly(data, PROOF_BYTES, "proof")
    decoded = decode_proofs(_row(data))
    if fault := int(decoded.fault[0]):
        raise proof_fault(fault)
    v = decode_scalar(data[2 * G1_BYTES :], "proof.v")
    return Proof(G1.from_words(decoded.T[0]), G1.from_words(decoded.U[0]), v)


def encode_proof(proof: Proof) -> bytes:
    """Proof -> 128 bytes."""
    return encode_g1(proof.T) + encode_g1(proof.U) + encode_scalar(proof.v, "proof.v")


def decode_proofs(data: Octets, *, subgroup: bool = True) -> DecodedProofs:
    """(n, 128) bytes -> n proofs, each sound or with its first fault.  Raises nothing.

    subgroup=False: points may lie outside the subgroup, anywhere on the curve; the caller sees to it.
    """
    n = len(data)
    t_bytes, u_bytes = data[:, :G1_BYTES], data[:, G1_BYTES : 2 * G1_BYTES]
    points, status = decode_g1_many(np.concatenate([t_bytes, u_bytes]), subgroup=False)
    v = scalar_words(data[:, 2 * G1_BYTES :])
    fault = np.where(fr_is_canonical(v), np.uint8(0), np.uint8(_FAULT_IN_V))
    fault = np.where(status[n:] != POINT_OK, status[n:] | np.uint8(_FAULT_IN_U), fault)
    fault = np.where(status[:n] != POINT_OK, status[:n], fault)
    if subgroup:
        whole = fault == 0
        fault[whole] = subgroup_faults(points[:n][whole], points[n:][whole])
    return DecodedProofs(np.ascontiguousarray(t_bytes), points[:n], points[n:], v, fault)


def subgroup_faults(T: Words, U: Words) -> Octets:
    """The faults of n proofs that have no other: 0, or that of a point outside the subgroup.  In: (n, 12) points on the curve."""
    t_member, u_member = in_g1_many(np.concatenate([T, U])).reshape(2, -1)
    fault = np.where(u_member, np.uint8(0), np.uint8(POINT_NOT_IN_SUBGROUP | _FAULT_IN_U))
    return np.where(t_member, fault, np.uint8(POINT_NOT_IN_SUBGROUP))


# Payloads --------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Payload:
    """What one operation sends: the account, its new commitment, the receipt, the root it names; com and fee are the ledger's.

    proof: its 128 bytes as they came, which `verify` decodes.
    """

    A: int
    com_new: int
    rho: int
    root_rho: int
    proof: bytes


def decode_payload(data: Bytes) -> Payload:
    """256 bytes -> payload.  Raises WireError, naming payload.A, payload.com_new, payload.rho or payload.root_rho."""
    octets = exactly(data, PAYLOAD_BYTES, "payload")
    a, com_new, rho, root_rho = (
        decode_scalar(octets[i * SCALAR_BYTES : (i + 1) * SCALAR_BYTES], f"payload.{name}")
        for i, name in enumerate(_PAYLOAD_SCALARS)
    )
    return Payload(a, com_new, rho, root_rho, octets[-PROOF_BYTES:])


def encode_payload(payload: Payload) -> bytes:
    """Payload -> 256 bytes.  Raises InputError: a scalar outside [0, r).  WireError: a proof of another length."""
    scalars = [encode_scalar(getattr(payload, name), f"payload.{name}") for name in _PAYLOAD_SCALARS]
    return b"".join(scalars) + exactly(payload.proof, PROOF_BYTES, "payload.proof")


def payload_rows(data: Bytes) -> Octets:
    """Payloads back to back -> (n, 256) uint8, not decoded.  Raises WireError: no whole number of them."""
    if len(data) % PAYLOAD_BYTES:
        raise WireError("payloads", f"{len(data)} bytes are no whole number of payloads of {PAYLOAD_BYTES}")
    return np.frombuffer(data, np.uint8).reshape(-1, PAYLOAD_BYTES)


# What the built-in relations take as public inputs, in their order (docs/relations.md): of the payload, and of the ledger com and fee
PAYLOAD_INPUTS = {
    "send": ("A", "com", "com_new", "rho", "fee"),
    "recv": ("A", "com", "com_new", "root_rho", "fee"),
    "op": ("A", "com", "com_new", "rho", "root_rho", "fee"),
}
_FEE_BITS = 64  # a larger fee could, as an element of Fr, be a gain


def payload_public_inputs(payloads: Octets, com: Octets, fee: Fees, relation: str) -> Octets:
    """The public inputs of n payloads -> (n, n_public, 32).  A field of the payload that the relation does not take is bound by nothing.

    In: payloads (n, 256) uint8 (payload_rows); com (n, 32) uint8, the ledger's commitment of each account A; fee an integer for all, or n
    of them, in a list or an array; relation: send, recv or op.  Whether the rest is canonical is for verify_batch to see.
    Raises InputError: another shape, a fee outside [0, 2^64), another relation.
    """
    if relation not in tuple(PAYLOAD_INPUTS):
        raise InputError("relation", f"{relation!r} is unknown; expected one of {', '.join(PAYLOAD_INPUTS)}")
    for name, rows in (("payloads", payloads), ("com", com)):
        if not isinstance(rows, np.ndarray):
            raise InputError(name, f"expected an array of rows of uint8, got {type(rows).__name__}")
    n = len(payloads) if payloads.ndim else 0
    for name, rows, width in (("payloads", payloads, PAYLOAD_BYTES), ("com", com, SCALAR_BYTES)):
        if rows.dtype != np.uint8 or rows.shape != (n, width):
            raise InputError(name, f"expected ({n}, {width}) of uint8, got {rows.shape} of {rows.dtype}")
    columns = {name: payloads[:, i * SCALAR_BYTES :][:, :SCALAR_BYTES] for i, name in enumerate(_PAYLOAD_SCALARS)}
    columns |= {"com": com, "fee": _fee_rows(fee, n)}
    return np.stack([columns[name] for name in PAYLOAD_INPUTS[relation]], axis=1)


def _fee_rows(fee: Fees, n: int) -> Octets:
    check_fee(fee)
    values: list[Any]
    if isinstance(fee, int | np.integer):
        values = [fee] * min(n, 1)
    else:
        if len(fee) != n:
            raise InputError("fee", f"{len(fee)} for {n} payloads")
        values = fee.tolist() if isinstance(fee, np.ndarray) else list(fee)
    wrong_type = isinstance(fee, np.ndarray) and fee.dtype.kind not in "iu"
    for i, x in enumerate(values):
        if wrong_type or isinstance(x, bool) or not isinstance(x, int | np.integer) or not 0 <= x < 1 << _FEE_BITS:
            raise InputError(f"fee[{i}]", f"expected an integer in [0, 2^{_FEE_BITS}), got {x!r}")
    rows = np.zeros((n, SCALAR_BYTES), np.uint8)
    rows[:, : _FEE_BITS // 8] = np.array(values, "<u8")[:, None].view(np.uint8)
    return rows


def check_fee(fee: object) -> None:
    """One for all, or a list or array of them.  Raises InputError: another type."""
    many = isinstance(fee, Sequence | np.ndarray) and not isinstance(fee, str | bytes) and getattr(fee, "ndim", 1) == 1
    if not many and not isinstance(fee, int | np.integer):
        raise InputError("fee", f"expected an integer for all, or a list or array of them, got {type(fee).__name__}")


# Public inputs ---------------------------------------------------------------------------------------------------------------


def encode_public_inputs(values: PublicInputs, n_public: int) -> Octets:
    """The public inputs of one proof -> (n_public, 32) bytes, a copy, checked.

    In: integers in [0, r), or an array of n_public rows of 32 bytes.
    Raises InputError: another number of them than the key's, something that is no integer, a value outside [0, r).
    """
    if isinstance(values, bytes | bytearray | memoryview | str) or not isinstance(values, Sequence | np.ndarray):
        raise InputError("public", f"expected a list of {n_public} integers, got {type(values).__name__}")
    if not isinstance(values, np.ndarray) and len(values) != n_public:
        raise InputError("public", f"{len(values)} public inputs, the key takes {n_public}")
    if isinstance(values, np.ndarray):
        if values.dtype != np.uint8 or values.shape != (n_public, SCALAR_BYTES):
            raise InputError(
                "public", f"expected ({n_public}, {SCALAR_BYTES}) of uint8, got {values.shape} of {values.dtype}"
            )
        rows = np.array(values, order="C")
        for i in np.flatnonzero(~fr_below(rows)[:, 0]):
            raise InputError(f"public[{i}]", "not in [0, r)")
        return rows
    data = b"".join([_encode_input(x, f"public[{i}]") for i, x in enumerate(values)])
    return np.frombuffer(data, np.uint8).reshape(n_public, SCALAR_BYTES)


def _encode_input(x: object, name: str) -> bytes:
    if isinstance(x, bool | np.bool_) or not isinstance(x, int | np.integer):
        raise InputError(name, f"expected an integer in [0, r), got {type(x).__name__}")
    return encode_scalar(int(x), name)


def scalar_words(data: Octets) -> Words:
    """(..., 32) bytes -> (..., 4) words, not checked to be below r."""
    return np.ascontiguousarray(data).view("<u8").astype(np.uint64, copy=False)


# Verifying keys --------------------------------------------------------------------------------------------------------------


def encode_verifying_key(vk: VerifyingKey) -> bytes:
    """Key -> 296 bytes.  Raises InputError: a number that does not fit its field."""
    if len(vk.circuit_digest) != DIGEST_BYTES:
        raise InputError("vk.circuit_digest", f"expected {DIGEST_BYTES} bytes, got {len(vk.circuit_digest)}")
    return b"".join(
        [
            KEY_MAGIC,
            _integer(KEY_VERSION, 2, "vk.version"),
            _integer(CURVE_BLS12_381, 2, "vk.curve"),
            _integer(FLAG_DEVELOPMENT if vk.development else 0, 4, "vk.flags"),
            vk.circuit_digest,
            _integer(vk.domain_size, 4, "vk.domain_size"),
            _integer(vk.n_public, 4, "vk.n_public"),
            encode_g1(vk.alpha),
            encode_g2(vk.tau),
            encode_g2(vk.delta),
        ]
    )


def decode_verifying_key(
    data: Bytes, *, allow_development: bool = False, circuit_digest: bytes | None = None
) -> VerifyingKey:
    """296 bytes -> key that may be used.

    circuit_digest: the digest of the circuit that the caller means, if it is known.
    Raises WireError: bytes that are no key.  KeyRefused: a key of the development setup, unless allow_development; a trapdoor that is
    1 or -1; two equal trapdoors.  CircuitMismatch: a key of another circuit; both digests are named.
    """
    rest = exactly(data, KEY_BYTES, "vk")

    def take(n: int) -> bytes:
        nonlocal rest
        head, rest = rest[:n], rest[n:]
        return head

    def take_integer(n: int) -> int:
        return int.from_bytes(take(n), "little")

    if take(len(KEY_MAGIC)) != KEY_MAGIC:
        raise WireError("vk.magic", f"not a verifying key: it does not start with {KEY_MAGIC.decode()}")
    if (version := take_integer(2)) != KEY_VERSION:
        raise WireError("vk.version", f"{version} is unknown, this verifier reads {KEY_VERSION}")
    if (curve := take_integer(2)) != CURVE_BLS12_381:
        raise WireError("vk.curve", f"{curve} is unknown, this verifier knows {CURVE_BLS12_381} (BLS12-381)")
    if (flags := take_integer(4)) & ~FLAG_DEVELOPMENT:
        raise WireError("vk.flags", f"{flags:#x} has bits that this verifier does not know")
    key_circuit = take(DIGEST_BYTES)
    if not is_domain_size(domain_size := take_integer(4)):
        raise WireError("vk.domain_size", f"{domain_size} is not m 2^k with m in {DOMAIN_ODD_PARTS}")
    if (n_public := take_integer(4)) + 1 > domain_size:
        raise WireError("vk.n_public", f"{n_public} public inputs do not fit a domain of {domain_size}")
    alpha = decode_g1(take(G1_BYTES), "vk.alpha")
    tau = decode_g2(take(G2_BYTES), "vk.tau")
    delta = decode_g2(take(G2_BYTES), "vk.delta")
    vk = VerifyingKey(key_circuit, domain_size, n_public, alpha, tau, delta, bool(flags & FLAG_DEVELOPMENT))
    _refuse(vk, allow_development, circuit_digest)
    return vk


def is_domain_size(n: int) -> bool:
    """n = m 2^k, m in DOMAIN_ODD_PARTS, k <= 32: a subgroup of Fr* with n elements exists and transforms over it are fast."""
    if n < 1:
        return False
    k = (n & -n).bit_length() - 1
    return k <= TWO_ADICITY and n >> k in DOMAIN_ODD_PARTS


def _refuse(vk: VerifyingKey, allow_development: bool, circuit_digest: bytes | None) -> None:
    if circuit_digest is not None and circuit_digest != vk.circuit_digest:
        raise CircuitMismatch(
            "vk.circuit_digest", f"the key is of circuit {vk.circuit_digest.hex()}, expected {circuit_digest.hex()}"
        )
    if vk.development and not allow_development:
        raise KeyRefused(
            "vk.flags",
            "made by the development setup, whose trapdoors somebody may know: use a key from a ceremony, "
            "or say allow_development=True (--allow-development) where forged proofs do no harm",
        )
    for name, trivial in (
        ("vk.alpha", vk.alpha in (ONE_1, -ONE_1)),
        ("vk.tau", vk.tau in (ONE_2, -ONE_2)),
        ("vk.delta", vk.delta in (ONE_2, -ONE_2)),
    ):
        if trivial:
            raise KeyRefused(name, "a trivial trapdoor, 1 or -1: nobody has contributed to this key")
    if vk.tau == vk.delta:
        raise KeyRefused("vk.delta", "equal to tau: two trapdoors must differ")
    for name, other in (("vk.tau", vk.tau), ("vk.delta", vk.delta)):
        # e([alpha], [1]) = e([1], [other])
        minus_one = (-ONE_1).to_words()
        if product_is_one([(vk.alpha.to_words(), ONE_2.to_words()), (minus_one, other.to_words())]):
            raise KeyRefused(name, "equal to alpha: two trapdoors must differ")


# Lengths ---------------------------------------------------------------------------------------------------------------------


def exactly(data: Bytes, length: int, name: str) -> bytes:
    """A copy of data.  Raises InputError: no bytes.  WireError: another length."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InputError(name, f"expected {length} bytes, got {type(data).__name__}")
    if (got := memoryview(data).nbytes) != length:
        raise WireError(name, f"{got} bytes, expected {length}")
    return bytes(data)


def _row(data: bytes) -> Octets:
    return np.frombuffer(data, np.uint8)[None]


def _integer(x: int, n_bytes: int, name: str) -> bytes:
    if not 0 <= x < 1 << (8 * n_bytes):
        raise InputError(name, f"{x} does not fit {8 * n_bytes} bits")
    return x.to_bytes(n_bytes, "little")


def _check_point(status: int, name: str) -> None:
    if status != POINT_OK:
        raise WireError(name, POINT_ERRORS[status])

"""Masked Pari, slowly: the protocol of docs/protocol.md in plain integers, and its verifier on py_ecc.

`Toy` replaces every group element by its exponent, with the trapdoors known: the algebra without a curve, for any domain size that
divides r - 1.  Its prover still touches key elements only.  `verify` reads real bytes.  `CurveKey` joins the two: a key whose
trapdoors are known, hence 128-byte proofs at the price of two scalar multiplications.  Nothing here is fast or secret.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from blake3 import blake3
from py_ecc.fields import optimized_bls12_381_FQ as FQ
from py_ecc.fields import optimized_bls12_381_FQ2 as FQ2
from py_ecc.fields import optimized_bls12_381_FQ12 as FQ12
from py_ecc.optimized_bls12_381.optimized_curve import (
    G1,
    G2,
    add,
    b2,
    curve_order,
    eq,
    field_modulus,
    is_inf,
    is_on_curve,
    multiply,
    neg,
    normalize,
)
from py_ecc.optimized_bls12_381.optimized_curve import b as b1
from py_ecc.optimized_bls12_381.optimized_pairing import final_exponentiate, pairing
from py_ecc.typing import Optimized_Point3D

R = curve_order
P = field_modulus
GENERATOR = 7
"""Generates Fr^*: 7^((r-1)/q) != 1 for every prime q dividing r - 1."""
ODD_PARTS = (1, 3, 11, 19, 33, 57, 209, 627)
"""The m of N = m * 2^k: products of distinct elements of {3, 11, 19}, which divide r - 1."""
TWO_ADICITY = 32

Poly = list[int]
"""Coefficients, constant term first, reduced modulo r."""
Row = Mapping[int, int]
"""Wire -> coefficient."""
PointG1 = Optimized_Point3D[FQ]
PointG2 = Optimized_Point3D[FQ2]
Challenge = Callable[[Sequence[int], int, bytes], int]
"""(public inputs, exponent of T, context) -> r."""


# ---------------------------------------------------------------------------------------------- field and polynomials


def inverse(x: int) -> int:
    """1/x in Fr.  Raises ZeroDivisionError: x = 0."""
    if x % R == 0:
        raise ZeroDivisionError("inverse of zero in Fr")
    return pow(x, -1, R)


def root_of_unity(n: int) -> int:
    """w = 7^((r-1)/n), of order exactly n.  Raises ValueError: n does not divide r - 1."""
    if n < 1 or (R - 1) % n:
        raise ValueError(f"domain size {n} does not divide r - 1")
    return pow(GENERATOR, (R - 1) // n, R)


def trim(f: Sequence[int]) -> Poly:
    """f without its leading zeros, reduced."""
    out = [c % R for c in f]
    while out and out[-1] == 0:
        out.pop()
    return out


def degree(f: Sequence[int]) -> int:
    """deg f; -1 for the zero polynomial."""
    return len(trim(f)) - 1


def poly_add(*fs: Sequence[int]) -> Poly:
    """f + g + ..."""
    return trim([sum(f[i] for f in fs if i < len(f)) for i in range(max(map(len, fs)))])


def poly_scale(f: Sequence[int], c: int) -> Poly:
    """c f"""
    return trim([c * x for x in f])


def poly_mul(f: Sequence[int], g: Sequence[int]) -> Poly:
    """f g, schoolbook."""
    out = [0] * (len(f) + len(g))
    for i, x in enumerate(f):
        for j, y in enumerate(g):
            out[i + j] += x * y
    return trim(out)


def poly_eval(f: Sequence[int], x: int) -> int:
    """f(x), Horner."""
    out = 0
    for c in reversed(f):
        out = (out * x + c) % R
    return out


def poly_derivative(f: Sequence[int]) -> Poly:
    """f'"""
    return trim([i * c for i, c in enumerate(f)][1:])


def vanishing(n: int) -> Poly:
    """Z = X^n - 1"""
    return [R - 1] + [0] * (n - 1) + [1]


def divide_by_vanishing(f: Sequence[int], n: int) -> tuple[Poly, Poly]:
    """(q, rem) with f = q (X^n - 1) + rem, deg rem < n: X^n is replaced by 1 from the top down."""
    rem = trim(f)
    q = [0] * max(0, len(rem) - n)
    for i in range(len(rem) - 1, n - 1, -1):
        q[i - n] = rem[i]
        rem[i - n] = (rem[i - n] + rem[i]) % R
        rem[i] = 0
    return trim(q), trim(rem)


def divide_by_root(f: Sequence[int], r: int) -> Poly:
    """(f(X) - f(r)) / (X - r), synthetic division."""
    f = trim(f)
    q = [0] * max(0, len(f) - 1)
    carry = 0
    for i in range(len(f) - 1, 0, -1):
        carry = (f[i] + carry * r) % R
        q[i - 1] = carry
    return trim(q)


def interpolate(values: Sequence[int], n: int) -> Poly:
    """The f of degree < n with f(w^i) = values[i]: coefficient k is (1/n) sum_i values[i] w^(-ik)."""
    w_inv = inverse(root_of_unity(n))
    powers = [pow(w_inv, i, R) for i in range(n)]
    n_inv = inverse(n)
    return trim([n_inv * sum(v * powers[i * k % n] for i, v in enumerate(values)) for k in range(n)])


def lagrange_sum(x: Sequence[int], n: int, at: int) -> int:
    """x_A(at) = sum_j x_j L_j(at) = sum_j x_j w^j (at^n - 1) / (n (at - w^j)), for `at` outside the domain."""
    w = root_of_unity(n)
    z = pow(at, n, R) - 1
    return sum(x_j * pow(w, j, R) * z * inverse(n * (at - pow(w, j, R))) for j, x_j in enumerate(x)) % R


# --------------------------------------------------------------------------------------------------- constraint system


def dot(row: Row, z: Sequence[int]) -> int:
    """<row, z>"""
    return sum(c * z[j] for j, c in row.items()) % R


@dataclass(frozen=True)
class SquareSystem:
    """Rows <a_i, z>^2 = <b_i, z> over z = (1, x_1 .. x_l, private ...)."""

    n_public: int
    n_wires: int
    a: tuple[Row, ...]
    b: tuple[Row, ...]

    def is_satisfied(self, z: Sequence[int]) -> bool:
        """Every row holds and z_0 = 1."""
        return z[0] == 1 and all(dot(a, z) ** 2 % R == dot(b, z) for a, b in zip(self.a, self.b, strict=True))

    def outline(self) -> SquareSystem:
        """Rows 0..l become x_j - w_j = 0 and every other row uses the copies w_j: wire j moves to l + 1 + j."""
        shift = self.n_public + 1
        copies: tuple[Row, ...] = tuple({j: 1, shift + j: R - 1} for j in range(shift))
        return SquareSystem(
            self.n_public,
            self.n_wires + shift,
            copies + tuple({shift + j: c for j, c in row.items()} for row in self.a),
            tuple({} for _ in range(shift)) + tuple({shift + j: c for j, c in row.items()} for row in self.b),
        )

    def outline_assignment(self, z: Sequence[int]) -> list[int]:
        """z of this system -> z of `outline()`."""
        return [*z[: self.n_public + 1], *z]

    def check_outlined(self) -> None:
        """Raises ValueError: rows 0..l are not exactly x_j - w_j = 0, or another row touches a public wire."""
        public = range(self.n_public + 1)
        if {j for row in (*self.a, *self.b) for j in row} != set(range(self.n_wires)):
            raise ValueError("a row names a wire that does not exist, or a wire stands in no row")
        for i, (a, b) in enumerate(zip(self.a, self.b, strict=True)):
            if i in public and (dict(a) != {i: 1, self.n_public + 1 + i: R - 1} or b):
                raise ValueError(f"row {i} is not x_{i} - w_{i} = 0")
            if i not in public and any(j in public for j in (*a, *b)):
                raise ValueError(f"row {i} touches a public wire")
        if len(self.a) <= self.n_public:
            raise ValueError("a public wire has no copy")


# --------------------------------------------------------------------------------------- the protocol in the exponents


class RestartError(Exception):
    """This choice of masks must be thrown away: r in H, T = O or U = O.  Nothing of it may be output."""


@dataclass(frozen=True)
class ToyProof:
    t: int
    u: int
    v: int


@dataclass(frozen=True)
class Masked:
    """The prover's polynomials: a = a' (masked), x_a, b, q, p = (a + x_a)^2 = b + q Z."""

    a: Poly
    x_a: Poly
    b: Poly
    q: Poly
    p: Poly


def hash_to_scalar(vk_digest: bytes, context: bytes, public_inputs: Sequence[int], t: bytes) -> int:
    """r = H(vk digest, context, inputs, T): 64 bytes of BLAKE3 in derive-key mode, little-endian, modulo r."""
    inputs = b"".join(x.to_bytes(32, "little") for x in public_inputs)
    material = vk_digest + context + len(public_inputs).to_bytes(4, "little") + inputs + t
    wide = blake3(material, derive_key_context=CHALLENGE_CONTEXT).digest(64)
    return int.from_bytes(wide, "little") % R


def combine(scalars: Sequence[int], elements: Sequence[int]) -> int:
    """sum scalars_i elements_i.  Raises ValueError: the key is too short for these scalars."""
    if len(scalars) > len(elements):
        raise ValueError(f"{len(scalars)} scalars, but the key holds {len(elements)} elements")
    return sum(s * e for s, e in zip(scalars, elements, strict=False)) % R


class Toy:
    """The protocol with exponents for group elements: [x]_1 and [x]_2 are both the integer x modulo r."""

    def __init__(
        self,
        system: SquareSystem,
        n: int,
        *,
        alpha: int,
        tau: int,
        delta: int,
        challenge: Challenge | None = None,
    ) -> None:
        """Setup (docs/protocol.md, section 3) for an outlined system on the domain of size n."""
        system.check_outlined()
        if n < len(system.a):
            raise ValueError(f"{len(system.a)} rows do not fit a domain of {n}")
        self.system, self.n, self.w = system, n, root_of_unity(n)
        self.alpha, self.tau, self.delta = alpha % R, tau % R, delta % R
        z_tau, d = pow(tau, n, R) - 1, inverse(delta)
        if z_tau == 0:
            raise ValueError("tau lies in the domain: quotient[0] = O")

        self.first_private = system.n_public + 1
        self.a_columns = [self._column(system.a, j) for j in range(system.n_wires)]
        self.b_columns = [self._column(system.b, j) for j in range(system.n_wires)]
        powers = [pow(tau, i, R) for i in range(2 * n + 2)]
        self.commit = [
            (alpha * poly_eval(self.a_columns[j], tau) + poly_eval(self.b_columns[j], tau)) * d % R
            for j in range(self.first_private, system.n_wires)
        ]
        self.quotient = [powers[i] * z_tau * d % R for i in range(n + 3)]
        self.mask = [alpha * powers[i] * z_tau * d % R for i in range(2)]
        self.open_alpha = [alpha * powers[i] % R for i in range(n + 1)]
        self.open = powers
        stand_in = b"".join(x.to_bytes(32, "little") for x in (self.alpha, self.tau, self.delta, n))
        digest = blake3(stand_in).digest()
        self.challenge = challenge or (lambda x, t, c: hash_to_scalar(digest, c, x, t.to_bytes(48, "little")))

    def _column(self, rows: Sequence[Row], j: int) -> Poly:
        return interpolate([row.get(j, 0) for row in rows], self.n)

    def x_a(self, x: Sequence[int]) -> Poly:
        """x_A = L_0 + sum x_j L_j, as a polynomial."""
        return interpolate([1, *x], self.n)

    def polynomials(self, z: Sequence[int], masks: tuple[int, int]) -> Masked:
        """Steps 1 and 2.  Raises ValueError: the quotient is not exact, so z does not satisfy the system."""
        if len(z) != self.system.n_wires or z[0] != 1:
            raise ValueError(f"{len(z)} values for {self.system.n_wires} wires, or z_0 is not 1")
        private = range(self.first_private, self.system.n_wires)
        a_w = poly_add([], *(poly_scale(self.a_columns[j], z[j]) for j in private))
        b_w = poly_add([], *(poly_scale(self.b_columns[j], z[j]) for j in private))
        a = poly_add(a_w, poly_mul(masks, vanishing(self.n)))
        x_a = self.x_a(z[1 : self.first_private])
        total = poly_add(a, x_a)
        p = poly_mul(total, total)
        q, remainder = divide_by_vanishing(poly_add(p, poly_scale(b_w, -1)), self.n)
        if remainder:
            raise ValueError("((a' + x_A)^2 - b_w) is not a multiple of Z: the assignment is not satisfying")
        return Masked(a, x_a, b_w, q, p)

    def commit_to(self, w: Sequence[int], q: Sequence[int], masks: Sequence[int]) -> int:
        """Step 3: T from the commit, quotient and mask keys."""
        return (combine(w, self.commit) + combine(q, self.quotient) + combine(masks, self.mask)) % R

    def open_at(self, x: Sequence[int], t: int, a: Poly, p: Poly, context: bytes) -> ToyProof:
        """Steps 4 to 6 for T = [(alpha a(tau) + p(tau)) / delta], with the open keys.  Raises RestartError."""
        r = self.challenge(x, t, context)
        if pow(r, self.n, R) == 1:
            raise RestartError("r lies in the domain")
        u = combine(divide_by_root(a, r), self.open_alpha) + combine(divide_by_root(p, r), self.open)
        if t % R == 0 or u % R == 0:
            raise RestartError("T or U is the point at infinity")
        return ToyProof(t, u % R, poly_eval(a, r))

    def prove(self, z: Sequence[int], masks: tuple[int, int], context: bytes = bytes(32)) -> ToyProof:
        """The proof for the full assignment z.  Raises ValueError (unsatisfied) or RestartError (new masks)."""
        m = self.polynomials(z, masks)
        t = self.commit_to(z[self.first_private :], m.q, masks)
        return self.open_at(z[1 : self.first_private], t, m.a, m.p, context)

    def equation_holds(self, x: Sequence[int], proof: ToyProof, r: int) -> bool:
        """delta T = (tau - r) U + alpha v + (v + x_A(r))^2"""
        v_p = (proof.v + poly_eval(self.x_a(x), r)) ** 2
        return (self.delta * proof.t - (self.tau - r) * proof.u - self.alpha * proof.v - v_p) % R == 0

    def verify(self, x: Sequence[int], proof: ToyProof, context: bytes = bytes(32)) -> bool:
        """The verdict on one proof."""
        if len(x) != self.system.n_public:
            raise ValueError(f"{len(x)} public inputs, the key takes {self.system.n_public}")
        r = self.challenge(x, proof.t, context)
        return pow(r, self.n, R) != 1 and self.equation_holds(x, proof, r)

    def verify_batch(self, claims: Sequence[tuple[Sequence[int], ToyProof]], weights: Sequence[int]) -> bool:
        """The three sums of the batch equation, zero contexts."""
        left = u_sum = right = 0
        for (x, proof), rho in zip(claims, weights, strict=True):
            r = self.challenge(x, proof.t, bytes(32))
            if pow(r, self.n, R) == 1:
                return False
            v_p = (proof.v + lagrange_sum([1, *x], self.n, r)) ** 2
            left += rho * proof.t
            u_sum += rho * proof.u
            right += rho * (proof.v * self.alpha + v_p - r * proof.u)
        return (left * self.delta - u_sum * self.tau - right) % R == 0

    def simulate(self, x: Sequence[int], y: int, v: int, context: bytes = bytes(32)) -> ToyProof:
        """A proof of x without a witness: y stands for a'(tau), v for a'(r) (for a''s derivative at tau if r = tau)."""
        x_a = self.x_a(x)
        t = (self.alpha * y + (y + poly_eval(x_a, self.tau)) ** 2) * inverse(self.delta) % R
        r = self.challenge(x, t, context)
        if pow(r, self.n, R) == 1:
            raise RestartError("r lies in the domain")
        if r == self.tau:
            slope = v + poly_eval(poly_derivative(x_a), r)
            u, v = (self.alpha * v + 2 * (y + poly_eval(x_a, r)) * slope) % R, y
        else:
            v_p = (v + poly_eval(x_a, r)) ** 2
            u = (self.delta * t - self.alpha * v - v_p) * inverse(self.tau - r) % R
        if t == 0 or u == 0:
            raise RestartError("T or U is the point at infinity")
        return ToyProof(t, u, v % R)


# --------------------------------------------------------------------------------------------------------------- bytes

MAGIC = b"BONSAIVK"
VERSION = 1
CURVE_BLS12_381 = 1
FLAG_DEVELOPMENT = 1
VERIFYING_KEY_BYTES = 8 + 2 + 2 + 4 + 32 + 4 + 4 + 48 + 96 + 96
PROOF_BYTES = 48 + 48 + 32
CONTEXT_BYTES = 32
CHALLENGE_CONTEXT = "bonsai-circuits 2026-11-30 masked Pari challenge v1"

COMPRESSED, INFINITY, LARGER = 1 << 383, 1 << 382, 1 << 381


def encode_g1(point: PointG1) -> bytes:
    """48 bytes: x big-endian, three flags on top."""
    if is_inf(point):
        return (COMPRESSED | INFINITY).to_bytes(48, "big")
    x, y = (int(c.n) for c in normalize(point))
    return (COMPRESSED | (LARGER if y > (P - 1) // 2 else 0) | x).to_bytes(48, "big")


def encode_g2(point: PointG2) -> bytes:
    """96 bytes: x_1, then x_0, big-endian, three flags on top of x_1."""
    if is_inf(point):
        return (COMPRESSED | INFINITY).to_bytes(48, "big") + bytes(48)
    x, y = ([int(c) for c in f.coeffs] for f in normalize(point))
    larger = (y[1] or y[0]) > (P - 1) // 2
    return (COMPRESSED | (LARGER if larger else 0) | x[1]).to_bytes(48, "big") + x[0].to_bytes(48, "big")


def _split_flags(data: bytes, size: int, name: str) -> tuple[bool, int]:
    """(the sign flag, the first 381-bit coordinate).  Raises ValueError: length, flags, infinity, x >= p."""
    if len(data) != size:
        raise ValueError(f"{name}: {len(data)} bytes, expected {size}")
    head = int.from_bytes(data[:48], "big")
    if not head & COMPRESSED:
        raise ValueError(f"{name}: the compression flag is not set")
    if head & INFINITY:
        raise ValueError(f"{name}: the point at infinity, or contradicting flags")
    x = head & (LARGER - 1)
    if x >= P:
        raise ValueError(f"{name}: coordinate not below p")
    return bool(head & LARGER), x


def decode_g1(data: bytes, name: str) -> PointG1:
    """48 bytes -> a point of G1, not infinity.  Raises ValueError."""
    larger, x = _split_flags(data, 48, name)
    square = (pow(x, 3, P) + 4) % P
    y = pow(square, (P + 1) // 4, P)
    if y * y % P != square:
        raise ValueError(f"{name}: not on the curve")
    if (y > (P - 1) // 2) != larger:
        y = P - y
    point: PointG1 = (FQ(x), FQ(y), FQ(1))
    if not is_on_curve(point, b1) or not is_inf(multiply(point, R)):
        raise ValueError(f"{name}: outside the subgroup")
    return point


def _sqrt_fp2(c0: int, c1: int) -> tuple[int, int] | None:
    """A root of c0 + c1 u, u^2 = -1, or None: with norm n^2, (c0 +- n)/2 is the square of the root's real part."""
    if c1 == 0:
        root = pow(c0, (P + 1) // 4, P)
        return (root, 0) if root * root % P == c0 else (0, pow(P - c0, (P + 1) // 4, P))
    norm = (c0 * c0 + c1 * c1) % P
    n = pow(norm, (P + 1) // 4, P)
    if n * n % P != norm:
        return None
    for sign in (1, -1):
        half = (c0 + sign * n) * pow(2, -1, P) % P
        y0 = pow(half, (P + 1) // 4, P)
        if y0 * y0 % P == half:
            return y0, c1 * pow(2 * y0, -1, P) % P
    return None


def decode_g2(data: bytes, name: str) -> PointG2:
    """96 bytes -> a point of G2, not infinity.  Raises ValueError."""
    larger, x1 = _split_flags(data, 96, name)
    x0 = int.from_bytes(data[48:], "big")
    if x0 >= P:
        raise ValueError(f"{name}: coordinate not below p")
    x = FQ2([x0, x1])
    c0, c1 = (int(c) for c in (x * x * x + b2).coeffs)
    root = _sqrt_fp2(c0, c1)
    if root is None:
        raise ValueError(f"{name}: not on the curve")
    if ((root[1] or root[0]) > (P - 1) // 2) != larger:
        root = (-root[0] % P, -root[1] % P)
    point: PointG2 = (x, FQ2(root), FQ2([1, 0]))
    if not is_on_curve(point, b2):
        raise ValueError(f"{name}: not on the curve")
    if not is_inf(multiply(point, R)):
        raise ValueError(f"{name}: outside the subgroup")
    return point


@dataclass(frozen=True)
class VerifyingKey:
    development: bool
    circuit_digest: bytes
    n: int
    n_public: int
    alpha_1: PointG1
    tau_2: PointG2
    delta_2: PointG2
    digest: bytes


def encode_verifying_key(
    *,
    development: bool,
    circuit_digest: bytes,
    n: int,
    n_public: int,
    alpha_1: PointG1,
    tau_2: PointG2,
    delta_2: PointG2,
) -> bytes:
    """296 bytes, unchecked: tests write broken keys with it."""
    head = MAGIC + VERSION.to_bytes(2, "little") + CURVE_BLS12_381.to_bytes(2, "little")
    flags = (FLAG_DEVELOPMENT if development else 0).to_bytes(4, "little")
    sizes = n.to_bytes(4, "little") + n_public.to_bytes(4, "little")
    return head + flags + circuit_digest + sizes + encode_g1(alpha_1) + encode_g2(tau_2) + encode_g2(delta_2)


def is_domain_size(n: int) -> bool:
    """n = m 2^k with m in ODD_PARTS and k <= 32."""
    if n < 1:
        return False
    k = (n & -n).bit_length() - 1
    return n >> k in ODD_PARTS and k <= TWO_ADICITY


@lru_cache(maxsize=64)
def decode_verifying_key(data: bytes) -> VerifyingKey:
    """296 bytes -> a key that passes every check of docs/protocol.md, section 3.  Raises ValueError."""
    if len(data) != VERIFYING_KEY_BYTES:
        raise ValueError(f"verifying key: {len(data)} bytes, expected {VERIFYING_KEY_BYTES}")
    if data[:8] != MAGIC:
        raise ValueError("verifying key: wrong magic")
    if int.from_bytes(data[8:10], "little") != VERSION:
        raise ValueError("verifying key: unknown version")
    if int.from_bytes(data[10:12], "little") != CURVE_BLS12_381:
        raise ValueError("verifying key: unknown curve")
    flags = int.from_bytes(data[12:16], "little")
    if flags & ~FLAG_DEVELOPMENT:
        raise ValueError("verifying key: unknown flags")
    n, n_public = int.from_bytes(data[48:52], "little"), int.from_bytes(data[52:56], "little")
    if not is_domain_size(n):
        raise ValueError(f"verifying key: {n} is not a domain size")
    if n_public + 1 > n:
        raise ValueError(f"verifying key: {n_public} public inputs do not fit a domain of {n}")
    alpha_1 = decode_g1(data[56:104], "verifying key: alpha")
    tau_2 = decode_g2(data[104:200], "verifying key: tau")
    delta_2 = decode_g2(data[200:296], "verifying key: delta")
    if any(eq(alpha_1, g) for g in (G1, neg(G1))) or any(eq(p, g) for p in (tau_2, delta_2) for g in (G2, neg(G2))):
        raise ValueError("verifying key: a trapdoor is 1 or -1 (no contribution)")
    alpha_t = pairing(G2, alpha_1)
    if eq(tau_2, delta_2) or alpha_t in (pairing(tau_2, G1), pairing(delta_2, G1)):
        raise ValueError("verifying key: two trapdoors are equal")
    return VerifyingKey(
        bool(flags & FLAG_DEVELOPMENT), data[16:48], n, n_public, alpha_1, tau_2, delta_2, blake3(data).digest()
    )


def verify(
    vk_bytes: bytes,
    public_inputs: Sequence[int],
    proof: bytes,
    context: bytes = bytes(CONTEXT_BYTES),
    *,
    allow_development: bool = True,
) -> bool:
    """e(T, [delta]) = e(U, [tau] - r [1]) e(v [alpha] + v_p [1], [1]), from bytes.

    Raises ValueError for malformed bytes, a wrong number of inputs, an input not below r, and, unlike production code,
    refuses a development key only when told to.
    """
    vk = decode_verifying_key(bytes(vk_bytes))
    if vk.development and not allow_development:
        raise ValueError("verifying key: made by the development setup")
    if len(context) != CONTEXT_BYTES:
        raise ValueError(f"context: {len(context)} bytes, expected {CONTEXT_BYTES}")
    if len(public_inputs) != vk.n_public:
        raise ValueError(f"public inputs: {len(public_inputs)} given, the key takes {vk.n_public}")
    for i, x in enumerate(public_inputs):
        if not 0 <= x < R:
            raise ValueError(f"public input {i}: not in [0, r)")
    if len(proof) != PROOF_BYTES:
        raise ValueError(f"proof: {len(proof)} bytes, expected {PROOF_BYTES}")
    v = int.from_bytes(proof[96:], "little")
    if v >= R:
        raise ValueError("proof: v is not below r")
    t, u = decode_g1(proof[:48], "proof: T"), decode_g1(proof[48:96], "proof: U")

    r = hash_to_scalar(vk.digest, context, public_inputs, proof[:48])
    if pow(r, vk.n, R) == 1:
        return False
    v_p = (v + lagrange_sum([1, *public_inputs], vk.n, r)) ** 2 % R
    tau_minus_r = add(vk.tau_2, neg(multiply(G2, r)))
    right = add(multiply(vk.alpha_1, v), multiply(G1, v_p))
    product = (
        pairing(vk.delta_2, t, final_exponentiate=False)
        * pairing(tau_minus_r, neg(u), final_exponentiate=False)
        * pairing(G2, neg(right), final_exponentiate=False)
    )
    return bool(final_exponentiate(product) == FQ12.one())


class CurveKey:
    """A key on the curve whose trapdoors are known: [x]_1 is computed from x, so a proof costs two multiplications."""

    def __init__(
        self,
        system: SquareSystem,
        n: int,
        *,
        alpha: int,
        tau: int,
        delta: int,
        circuit_digest: bytes = bytes(32),
        development: bool = True,
    ) -> None:
        self.vk_bytes = encode_verifying_key(
            development=development,
            circuit_digest=circuit_digest,
            n=n,
            n_public=system.n_public,
            alpha_1=multiply(G1, alpha),
            tau_2=multiply(G2, tau),
            delta_2=multiply(G2, delta),
        )
        self.digest = blake3(self.vk_bytes).digest()
        self.toy = Toy(system, n, alpha=alpha, tau=tau, delta=delta, challenge=self._challenge)

    def _challenge(self, x: Sequence[int], t: int, context: bytes) -> int:
        return hash_to_scalar(self.digest, context, x, encode_g1(multiply(G1, t)))

    def encode(self, proof: ToyProof) -> bytes:
        """Exponents -> the 128 bytes T, U, v."""
        points = encode_g1(multiply(G1, proof.t)) + encode_g1(multiply(G1, proof.u))
        return points + proof.v.to_bytes(32, "little")

    def prove(self, z: Sequence[int], masks: tuple[int, int], context: bytes = bytes(CONTEXT_BYTES)) -> bytes:
        """128 bytes for the full assignment z.  Raises ValueError (unsatisfied) or RestartError (new masks)."""
        return self.encode(self.toy.prove(z, masks, context))

"""Sinsemilla and Orchard's trees as the Zcash protocol specification writes them: an oracle, slow and plain.

Sections 5.4.9.8 "Group Hash into Pallas and Vesta", 5.4.1.9 "Sinsemilla Hash Function", 5.4.1.3 "MerkleCRH Hash Function", 5.4.8.4
"Sinsemilla commitments".  The coefficients of the isogeny: pasta_curves 0.5.1, curves.rs, IsoEp; the others from the same sections.
"""

from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b

P = 0x40000000000000000000000000000000224698FC094CF91B992D30ED00000001
Q = 0x40000000000000000000000000000000224698FC0994A8DD8C46EB2100000001
A = 10949663248450308183708987909873589833737836120165333298109615750520499732811
B = 1265
Z = P - 13
ISO = (
    0x0E38E38E38E38E38E38E38E38E38E38E4081775473D8375B775F6034AAAAAAAB,
    0x3509AFD51872D88E267C7FFA51CF412A0F93B82EE4B994958CF863B02814FB76,
    0x17329B9EC525375398C7D7AC3D98FD13380AF066CFEB6D690EB64FAEF37EA4F7,
    0x1C71C71C71C71C71C71C71C71C71C71C8102EEA8E7B06EB6EEBEC06955555580,
    0x1D572E7DDC099CFF5A607FCCE0494A799C434AC1C96B6980C47F2AB668BCD71F,
    0x325669BECAECD5D11D13BF2A7F22B105B4ABF9FB9A1FC81C2AA3AF1EAE5B6604,
    0x1A12F684BDA12F684BDA12F684BDA12F7642B01AD461BAD25AD985B5E38E38E4,
    0x1A84D7EA8C396C47133E3FFD28E7A09507C9DC17725CCA4AC67C31D8140A7DBB,
    0x3FB98FF0D2DDCADD303216CCE1DB9FF11765E924F745937802E2BE87D225B234,
    0x025ED097B425ED097B425ED097B425ED0AC03E8E134EB3E493E53AB371C71C4F,
    0x0C02C5BCCA0E6B7F0790BFB3506DEFB65941A3A4A97AA1B35A28279B1D1B42AE,
    0x17033D3C60C68173573B3D7F7D681310D976BBFABBC5661D4D90AB820B12320A,
    0x40000000000000000000000000000000224698FC094CF91B992D30ECFFFFFDE5,
)
DEPTH, UNCOMMITTED = 32, 2

Point = tuple[int, int]


def inv(a: int) -> int:
    return pow(a, P - 2, P)


def root(a: int) -> int | None:
    """A square root by Cipolla: (t + sqrt(t^2 - a))^((p + 1) / 2) in the field of p^2 elements."""
    a %= P
    if pow(a, (P - 1) // 2, P) == P - 1:
        return None
    t = 1
    while pow(t * t - a, (P - 1) // 2, P) != P - 1:
        if t * t % P == a:
            return t
        t += 1
    w = (t * t - a) % P
    out, power, n = (1, 0), (t, 1), (P + 1) // 2
    while n:
        if n % 2:
            out = (out[0] * power[0] + out[1] * power[1] * w) % P, (out[0] * power[1] + out[1] * power[0]) % P
        power = (power[0] * power[0] + power[1] * power[1] * w) % P, 2 * power[0] * power[1] % P
        n //= 2
    return out[0]


# Points of Pallas; None is infinity -----------------------------------------------------------------------------------------


def plus(p: Point | None, q: Point | None) -> Point | None:
    if p is None:
        return q
    if q is None:
        return p
    if p[0] == q[0] and (p[1] + q[1]) % P == 0:
        return None
    rise, run = (3 * p[0] * p[0], 2 * p[1]) if p == q else (q[1] - p[1], q[0] - p[0])
    slope = rise * inv(run)
    x = (slope * slope - p[0] - q[0]) % P
    return x, (slope * (p[0] - x) - p[1]) % P


def times(n: int, p: Point | None) -> Point | None:
    out = None
    while n:
        if n % 2:
            out = plus(out, p)
        p = plus(p, p)
        n //= 2
    return out


def incomplete(p: Point | None, q: Point | None) -> Point | None:
    """The specification's incomplete addition; None is failure here."""
    if p is None or q is None or p[0] == q[0]:
        return None
    return plus(p, q)


# The group hash --------------------------------------------------------------------------------------------------------------


def map_to_iso(u: int) -> Point:
    """RFC 9380, section 6.6.2."""
    t = Z * Z * u**4 + Z * u * u
    x = -B * inv(A) * (1 + inv(t)) if t % P else B * inv(Z * A)
    y = root(x**3 + A * x + B)
    if y is None:
        x = Z * u * u * x
        y = root(x**3 + A * x + B)
    assert y is not None
    return x % P, (y if y % 2 == u % 2 else P - y)


def iso_map(p: Point) -> Point:
    x, y = p
    c = ISO
    x_new = (c[0] * x**3 + c[1] * x**2 + c[2] * x + c[3]) * inv(x**2 + c[4] * x + c[5])
    y_new = y * (c[6] * x**3 + c[7] * x**2 + c[8] * x + c[9]) * inv(x**3 + c[10] * x**2 + c[11] * x + c[12])
    return x_new % P, y_new % P


@cache
def group_hash(domain: bytes, message: bytes) -> Point:
    tag = domain + b"-pallas_XMD:BLAKE2b_SSWU_RO_"
    tag += bytes([len(tag)])
    b0 = blake2b(b"\0" * 128 + message + b"\0\x80" + b"\0" + tag).digest()
    b1 = blake2b(b0 + b"\x01" + tag).digest()
    b2 = blake2b((int.from_bytes(b0, "big") ^ int.from_bytes(b1, "big")).to_bytes(64, "big") + b"\x02" + tag).digest()
    points = [iso_map(map_to_iso(int.from_bytes(b, "big") % P)) for b in (b1, b2)]
    out = plus(*points)
    assert out is not None
    return out


# Sinsemilla ------------------------------------------------------------------------------------------------------------------


def s(j: int) -> Point:
    return group_hash(b"z.cash:SinsemillaS", j.to_bytes(4, "little"))


def q(domain: bytes) -> Point:
    return group_hash(b"z.cash:SinsemillaQ", domain)


def words(bits: Sequence[int]) -> list[int]:
    padded = [*bits, *[0] * (-len(bits) % 10)]
    return [sum(bit << i for i, bit in enumerate(padded[k : k + 10])) for k in range(0, len(padded), 10)]


def recurrence(start: Point, points: Sequence[Point]) -> Point | None:
    """Acc = (Acc + S) + Acc, None for failure."""
    acc: Point | None = start
    for point in points:
        acc = incomplete(incomplete(acc, point), acc)
        if acc is None:
            return None
    return acc


def hash_to_point(domain: bytes, bits: Sequence[int], generator: Callable[[int], Point] = s) -> Point | None:
    return recurrence(q(domain), [generator(w) for w in words(bits)])


def commit(r: int, domain: bytes, bits: Sequence[int]) -> Point | None:
    p = hash_to_point(domain + b"-M", bits)
    return p and plus(p, times(r, group_hash(domain + b"-r", b"")))


def bits_of(x: int, n: int) -> list[int]:
    return [x >> i & 1 for i in range(n)]


def merkle(level: int, left: int, right: int) -> int:
    """MerkleCRH of two nodes `level` levels above the leaves; 0 for failure."""
    p = hash_to_point(b"z.cash:Orchard-MerkleCRH", [*bits_of(level, 10), *bits_of(left, 255), *bits_of(right, 255)])
    return p[0] if p else 0


def tree_root(leaves: Sequence[int], depth: int) -> int:
    """The root of a tree whose missing leaves are uncommitted."""
    nodes, empty = list(leaves), UNCOMMITTED
    for level in range(depth):
        nodes += [empty] * (len(nodes) % 2)
        nodes = [merkle(level, nodes[i], nodes[i + 1]) for i in range(0, len(nodes), 2)]
        empty = merkle(level, empty, empty)
    return nodes[0] if nodes else empty

"""The numbers of BLS12-381 and of the wire, each with its derivation; tests/verifier/test_parameters.py recomputes them.

Source of the curve: IETF draft-irtf-cfrg-pairing-friendly-curves-11, section 4.2.1 (BLS12_381); of the family: Barreto, Lynn,
Scott, "Constructing elliptic curves with prescribed embedding degrees" (2002).
"""

# The curve -------------------------------------------------------------------------------------------------------------------

# z, the parameter of the family: everything below follows from it.  -(2^63 + 2^62 + 2^60 + 2^57 + 2^48 + 2^16)
BLS_X = -0xD201000000010000
# r = z^4 - z^2 + 1, prime: the order of G1, G2 and GT
FR_MODULUS = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
# p = (z - 1)^2 r / 3 + z, prime, and 3 mod 4
FP_MODULUS = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB
# E: y^2 = x^3 + b over Fp.  E': y^2 = x^3 + b (u + 1) over Fp2 = Fp[u]/(u^2 + 1)
CURVE_B = 4
# h1 = (z - 1)^2 / 3: E(Fp) has h1 r points
G1_COFACTOR = 0x396C8C005555E1568C00AAAB0000AAAB
# h2 = (z^8 - 4 z^7 + 5 z^6 - 4 z^4 + 6 z^3 - 4 z^2 - 4 z + 13) / 9: E'(Fp2) has h2 r points
G2_COFACTOR = int(
    "5D543A95414E7F1091D50792876A202CD91DE4547085ABAA68A205B2E5A7DDFA628F1CB4D9E82EF21537E293A6691AE1"
    "616EC6E786F0C70CF1C38E31C7238E5",
    16,
)
# The point with the least x that has one on E (on E': least in c1, then c0) whose multiple by the cofactor is not infinity, with the
# lesser y (in the same order), times the cofactor
G1_GENERATOR = (
    0x17F1D3A73197D7942695638C4FA9AC0FC3688C4F9774B905A14E3A3F171BAC586C55E83FF97A1AEFFB3AF00ADB22C6BB,
    0x08B3F481E3AAA0F1A09E30ED741D8AE4FCF5E095D5D00AF600DB18CB2C04B3EDD03CC744A2888AE40CAA232946C5E7E1,
)
G2_GENERATOR = (  # ((x.c0, x.c1), (y.c0, y.c1))
    (
        0x024AA2B2F08F0A91260805272DC51051C6E47AD4FA403B02B4510B647AE3D1770BAC0326A805BBEFD48056C8C121BDB8,
        0x13E02B6052719F607DACD3A088274F65596BD0D09920B61AB5DA61BBDC7F5049334CF11213945D57E5AC7D055D042B7E,
    ),
    (
        0x0CE5D527727D6E118CC9CDC6DA2E351AADFD9BAA8CBDD3A76D429A695160D12C923AC9CC3BACA289E193548608B82801,
        0x0606C4A02EA734CC32ACD2B02BC28B99CB3E287E85A763AF267492AB572E99AB3F370D275CEC1DA1AAA9075FF05F79BE,
    ),
)

# Domains ---------------------------------------------------------------------------------------------------------------------

TWO_ADICITY = 32  # r - 1 = 2^32 t, t odd
FR_GENERATOR = 7  # generates Fr*; the least integer that does
# Every m for which a domain of m 2^k points exists in Fr, m odd and m's primes small: r - 1 is divisible by 3, 11 and 19, once each
DOMAIN_ODD_PARTS = (1, 3, 11, 19, 33, 57, 209, 627)

# The wire --------------------------------------------------------------------------------------------------------------------

SCALAR_BYTES = 32  # an integer below r < 2^255, little-endian
G1_BYTES = 48  # compressed: x, 381 bits, and three flags
G2_BYTES = 96
PROOF_BYTES = 128  # T | U | v = 2 G1_BYTES + SCALAR_BYTES
PAYLOAD_BYTES = 256  # A | com_new | rho | root_rho | proof = 4 SCALAR_BYTES + PROOF_BYTES
DIGEST_BYTES = 32  # BLAKE3
CONTEXT_BYTES = 32  # the caller's binding of a proof
CHALLENGE_BYTES = 64  # reduced modulo r: within 2^-257 of uniform
WEIGHT_BITS = 128  # weights of a batch

# Domain tags: BLAKE3 derive-key context strings, one a use -------------------------------------------------------------------

CHALLENGE_CONTEXT = "bonsai-circuits 2026-11-30 masked Pari challenge v1"

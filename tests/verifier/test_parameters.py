"""Every number of parameters.py, recomputed from z and from the definitions."""

import math
from itertools import count

import sympy
from py_ecc.fields import optimized_bls12_381_FQ as FQ
from py_ecc.fields import optimized_bls12_381_FQ2 as FQ2
from py_ecc.optimized_bls12_381 import b, b2, is_inf, is_on_curve, multiply, normalize

from bonsai_verifier import parameters as P

z, r, p = P.BLS_X, P.FR_MODULUS, P.FP_MODULUS


def test_z_has_hamming_weight_six():
    assert -z == 2**63 + 2**62 + 2**60 + 2**57 + 2**48 + 2**16


def test_moduli_follow_from_z_and_are_prime():
    assert r == z**4 - z**2 + 1
    assert 3 * (p - z) == (z - 1) ** 2 * r
    assert p % 4 == 3
    assert sympy.isprime(r)
    assert sympy.isprime(p)
    assert r.bit_length() == 255
    assert p.bit_length() == 381


def test_cofactors_follow_from_z():
    assert (z - 1) ** 2 == 3 * P.G1_COFACTOR
    assert z**8 - 4 * z**7 + 5 * z**6 - 4 * z**4 + 6 * z**3 - 4 * z**2 - 4 * z + 13 == 9 * P.G2_COFACTOR


def test_cofactors_give_the_orders_of_the_curves():
    trace = z + 1
    assert P.G1_COFACTOR * r == p + 1 - trace
    # The sextic twist that r divides: trace (t2 +- 3 f) / 2 with t2 = t^2 - 2 p and t2^2 - 4 p^2 = -3 f^2
    t2 = trace**2 - 2 * p
    f = math.isqrt((4 * p**2 - t2**2) // 3)
    assert 3 * f**2 == 4 * p**2 - t2**2
    assert P.G2_COFACTOR * r in {p**2 + 1 - (t2 + s * f) // 2 for s in (3, -3)}


def test_cofactor_of_g1_is_odd():
    assert P.G1_COFACTOR % 2 == 1


def g1_generator():
    for x in count():
        y = FQ(x**3 + P.CURVE_B) ** ((p + 1) // 4)
        if y * y == FQ(x**3 + P.CURVE_B):
            point = multiply((FQ(x), FQ(min(int(y), p - int(y))), FQ(1)), P.G1_COFACTOR)
            if not is_inf(point):
                return normalize(point)


def fp2_root(a):
    """A square root in Fp2, or None: sqrt(a0 + a1 u) = c + a1 u / (2 c) with c^2 = (a0 +- |a|) / 2."""
    a0, a1 = (FQ(int(c)) for c in a.coeffs)
    norm = (a0 * a0 + a1 * a1) ** ((p + 1) // 4)
    for n in (norm, -norm):
        c = ((a0 + n) / FQ(2)) ** ((p + 1) // 4)
        if c * c == (a0 + n) / FQ(2) and c != FQ(0):
            y = FQ2([int(c), int(a1 / (c * FQ(2)))])
            if y * y == a:
                return y
    return None


def g2_generator():
    for x in count():
        x2 = FQ2([x, 0])
        y = fp2_root(x2 * x2 * x2 + FQ2([P.CURVE_B, P.CURVE_B]))
        if y is not None:
            lesser = min(y, -y, key=lambda v: (int(v.coeffs[1]), int(v.coeffs[0])))
            point = multiply((x2, lesser, FQ2.one()), P.G2_COFACTOR)
            if not is_inf(point):
                return normalize(point)


def test_g1_generator_is_the_first_point():
    assert tuple(int(c) for c in g1_generator()) == P.G1_GENERATOR


def test_g2_generator_is_the_first_point():
    assert tuple(tuple(int(x) for x in c.coeffs) for c in g2_generator()) == P.G2_GENERATOR


def test_generators_lie_on_the_curve_and_have_order_r():
    g1 = (*(FQ(c) for c in P.G1_GENERATOR), FQ(1))
    g2 = (*(FQ2(list(c)) for c in P.G2_GENERATOR), FQ2.one())
    assert b == FQ(P.CURVE_B)
    assert b2 == FQ2([P.CURVE_B, P.CURVE_B])
    for point, coefficient in ((g1, b), (g2, b2)):
        assert is_on_curve(point, coefficient)
        assert not is_inf(point)
        assert is_inf(multiply(point, r))


def test_seven_is_the_least_generator_of_fr():
    primes = sympy.factorint(r - 1)
    assert math.prod(q**e for q, e in primes.items()) == r - 1
    generators = [g for g in range(1, 8) if all(pow(g, (r - 1) // q, r) != 1 for q in primes)]
    assert generators == [P.FR_GENERATOR]
    assert primes[2] == P.TWO_ADICITY


def test_domain_parts_are_the_divisors_made_of_3_11_19():
    primes = sympy.factorint(r - 1)
    assert [primes[q] for q in (3, 11, 19)] == [1, 1, 1]
    assert list(P.DOMAIN_ODD_PARTS) == sorted(sympy.divisors(3 * 11 * 19))


def test_sizes_of_the_wire():
    assert -(-r.bit_length() // 8) == P.SCALAR_BYTES
    assert -(-(p.bit_length() + 3) // 8) == P.G1_BYTES
    assert P.G2_BYTES == 2 * P.G1_BYTES
    assert P.PROOF_BYTES == 2 * P.G1_BYTES + P.SCALAR_BYTES == 128
    assert P.PAYLOAD_BYTES == 4 * P.SCALAR_BYTES + P.PROOF_BYTES == 256
    assert r * 2**256 < 2 ** (8 * P.CHALLENGE_BYTES)

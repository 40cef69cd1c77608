"""The numbers of BLS12-381 and of the wire format, each with its derivation; tests/test_parameters.py recomputes them.

Source of the curve: the zcash/pairing and IETF draft-irtf-cfrg-pairing-friendly-curves, section 4.2.1 (BLS12_381).
"""

BLS_X = -0xD201000000010000  # z, the parameter of the BLS12 family: Hamming weight 6, so a short Miller loop
FR_MODULUS = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001  # r = z^4 - z^2 + 1
FP_MODULUS = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB  # (z-1)^2 r/3 + z
CURVE_B = 4  # G1: y^2 = x^3 + 4 over Fp.  G2: y^2 = x^3 + 4 (u + 1) over Fp2

TWO_ADICITY = 32  # r - 1 = 2^32 * odd
FR_GENERATOR = 7  # the least generator of Fr*

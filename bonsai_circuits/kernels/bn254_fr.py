"""Fr of BN254, the scalar field of circom's default curve: 4 x 64-bit limbs (contract: bonsai_verifier/kernels/limbs.py)."""

from bonsai_verifier.kernels.limbs import field_operations

# The order of the curve y^2 = x^3 + 3: 36 u^4 + 36 u^3 + 18 u^2 + 6 u + 1, u = 4965661367192848881 (EIP-197)
BN254_U = 4965661367192848881
BN254_FR_MODULUS = 0x30644E72E131A029B85045B68181585D2833E84879B9709143E1F593F0000001
BN254_FR_WORDS = 4

BN254_FR = field_operations("bn254_fr", BN254_FR_MODULUS, BN254_FR_WORDS)

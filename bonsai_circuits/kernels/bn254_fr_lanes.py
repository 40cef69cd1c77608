"""Fr of BN254 eight at a time: 5 limbs of 52 bits in Montgomery form, R = 2^260 (contracts: bonsai_verifier/kernels/lanes.py).

A vector body: compiled only where cpu.py says that it may run.
"""

from bonsai_verifier.kernels.lane_machine import LaneField

from .bn254_fr import BN254_FR_MODULUS, BN254_FR_WORDS

BN254_FR_LANES = LaneField(BN254_FR_MODULUS, 5, BN254_FR_WORDS, folds=3)

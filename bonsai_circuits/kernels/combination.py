"""Linear combinations over Fr: most coefficients are one, the others' products are added up and reduced once."""

import numpy as np

from bonsai_verifier.kernels.cache import inner
from bonsai_verifier.kernels.fr import FR_BYTES, FR_WORDS, fr_add, fr_add_product, fr_zero
from bonsai_verifier.kernels.limbs import load_word, store_word

WIDE_WORDS = 2 * FR_WORDS + 1
_ZERO = np.uint64(0)


@inner
def combine(ones, others, start, end, index, coeff, values, one):
    """Terms start .. end - 1: ones = the sum of the values whose coefficient is the number at `one`; others = that of c v for the others.

    In: addresses of all coefficients and values, 32 bytes each; index, the value of each term.  Out: ones reduced; others WIDE_WORDS as
    fr_reduce takes them, and whether there are any: if not, nothing is written there.
    """
    fr_zero(ones)
    some = False
    first, second, third, fourth = load_word(one), load_word(one + 8), load_word(one + 16), load_word(one + 24)
    for e in range(start, end):
        c, value = coeff + FR_BYTES * e, values + FR_BYTES * index[e]
        different = (load_word(c) ^ first) | (load_word(c + 8) ^ second)
        different |= (load_word(c + 16) ^ third) | (load_word(c + 24) ^ fourth)
        if different == _ZERO:
            fr_add(ones, ones, value)
            continue
        if not some:
            some = True
            for i in range(WIDE_WORDS):
                store_word(others + 8 * i, _ZERO)
        fr_add_product(others, c, value)
    return some

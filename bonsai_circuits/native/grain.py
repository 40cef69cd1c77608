"""The Grain stream of ePrint 2019/458, appendix E: where Poseidon's constants come from.

An 80-bit register that encodes field, S-box, sizes and rounds; taps 62 51 38 23 13 0; 160 bits discarded; of every pair of bits the second
stays if the first is 1.
"""

from collections.abc import Iterator
from itertools import compress, islice

_TAPS = (62, 51, 38, 23, 13, 0)
_REGISTER_BITS = 80
_STEP_BITS = _REGISTER_BITS - _TAPS[0]  # so many new bits depend on old ones alone
_DISCARDED_BITS = 160
_BITS_A_BIT = 4  # of the register, on average, for a bit that stays


def grain_elements(modulus: int, sbox: int, t: int, r_f: int, r_p: int, count: int, *, seeds: int = 0) -> list[int]:
    """`count` elements below the modulus, as many bits each, the first bit highest, a larger value skipped; then `seeds` more, which are
    not skipped but reduced.

    In: sbox, the four bits that name it.
    """
    bits = modulus.bit_length()
    # The share of draws that stay is modulus / 2^bits; the loop corrects a bad guess
    length = _DISCARDED_BITS + int(_BITS_A_BIT * bits * (count * 2**bits / modulus + seeds))
    while True:
        length += length // 32
        draws = _draws(_stream(bits, sbox, t, r_f, r_p, length), bits)
        elements = list(islice((x for x in draws if x < modulus), count))
        rest = [x % modulus for x in islice(draws, seeds)]
        if len(elements) == count and len(rest) == seeds:
            return elements + rest


def _draws(stream: str, bits: int) -> Iterator[int]:
    """The self-shrunk stream, so many bits at a time."""
    kept = "".join(compress(stream[1::2], map(int, stream[0::2])))
    for start in range(0, len(kept) - bits + 1, bits):
        yield int(kept[start : start + bits], 2)


def _stream(bits: int, sbox: int, t: int, r_f: int, r_p: int, length: int) -> str:
    """At least `length` bits s_240, s_241, ... of the recurrence s_(i+80) = sum s_(i+tap), the first 160 discarded.

    The sequence is one integer, s_i its bit i. The characteristic polynomial squared is the same polynomial in X^2, so
    s_(i+80m) = sum s_(i+m tap) for every power of two m: from 80m known bits, 18m new ones cost six shifts.
    """
    fields = ((1, 2), (sbox, 4), (bits, 12), (t, 12), (r_f, 10), (r_p, 10), (2**30 - 1, 30))
    head = "".join(f"{value:0{width}b}" for value, width in fields)
    known, sequence = _REGISTER_BITS, int(head[::-1], 2)
    while known < _REGISTER_BITS + _DISCARDED_BITS + length:
        m = 1 << ((known // _REGISTER_BITS).bit_length() - 1)
        window = sequence >> (known - _REGISTER_BITS * m)
        new = 0
        for tap in _TAPS:
            new ^= window >> (m * tap)
        new &= (1 << (_STEP_BITS * m)) - 1
        sequence |= new << known
        known += _STEP_BITS * m
    return f"{sequence:0{known}b}"[::-1][_REGISTER_BITS + _DISCARDED_BITS :]

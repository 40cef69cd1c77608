"""The bytes of a point, as far as both groups share them: the compressed ZCash form, also that of the IETF.

A compressed point is x, big-endian (over Fp2 its coefficient of u first), and three flags in the top bits of the first byte, which x < p
leaves free.  Of the two points with this x, the flag LARGER names the one with the larger y.
Source: zkcrypto/pairing, src/bls12_381/README.md; IETF draft-irtf-cfrg-pairing-friendly-curves-11, "ZCash serialization format".
"""

import numpy as np
from llvmlite import ir

from .cache import inner
from .fp import FP_BYTES
from .intrinsics import operation
from .limbs import WORD_BYTES, load_word, store_word

# Status of a decoded point
POINT_OK = 0
POINT_INFINITY = 1  # a well-formed encoding of the point at infinity
POINT_NOT_COMPRESSED = 2  # the compression flag is unset
POINT_BAD_FLAGS = 3  # infinity, but another bit is set
POINT_NOT_CANONICAL = 4  # a coordinate >= p
POINT_NOT_ON_CURVE = 5  # x^3 + b has no root
POINT_NOT_IN_SUBGROUP = 6

# Flags, in the most significant word of x
FLAG_COMPRESSED = np.uint64(1 << 63)
FLAG_INFINITY = np.uint64(1 << 62)
FLAG_LARGER = np.uint64(1 << 61)  # y > -y
_ALL_FLAGS = FLAG_COMPRESSED | FLAG_INFINITY | FLAG_LARGER
_TOP_WORD = FP_BYTES - WORD_BYTES


@operation
def fp_reverse_bytes(b, d, a):
    """48 bytes in reverse order: big-endian bytes -> words, or back.  Both addresses of any alignment; d may be a."""
    p = ir.IntType(8 * FP_BYTES).as_pointer()
    b.store(b.bswap(b.load(b.inttoptr(a, p), align=1)), b.inttoptr(d, p), align=1)


@inner
def take_flags(x):
    """The flags of the words at x, which are cleared there."""
    top = load_word(x + _TOP_WORD)
    store_word(x + _TOP_WORD, top & ~_ALL_FLAGS)
    return top & _ALL_FLAGS


@inner
def put_flags(x, is_infinity, is_larger):
    """Sets the flags of a compressed point in the words at x."""
    flags = FLAG_COMPRESSED
    if is_infinity:
        flags |= FLAG_INFINITY
    elif is_larger:
        flags |= FLAG_LARGER
    store_word(x + _TOP_WORD, load_word(x + _TOP_WORD) | flags)


@inner
def flags_status(flags, x_is_zero):
    """POINT_OK if the flags promise a point other than infinity; else what they say instead."""
    if not flags & FLAG_COMPRESSED:
        return POINT_NOT_COMPRESSED
    if not flags & FLAG_INFINITY:
        return POINT_OK
    if flags & FLAG_LARGER or not x_is_zero:
        return POINT_BAD_FLAGS
    return POINT_INFINITY

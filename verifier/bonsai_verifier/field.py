"""Fr and Fp at the door: Python integers <-> arrays of 64-bit limbs, canonical <-> Montgomery.

Arrays are uint64, one element a row, limbs little-endian.  Fr rows have 4 words, Fp rows 6; the arithmetic on them is in kernels/.
Arrays of another shape or type raise TypeError or ValueError.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .kernels.fp import FP_WORDS, fp_from_mont_many, fp_to_mont_many
from .kernels.fr import (
    FR_BYTES,
    FR_WORDS,
    fr_add_many,
    fr_below_many,
    fr_from_mont_many,
    fr_inv_many,
    fr_mul_many,
    fr_sub_many,
    fr_to_mont_many,
)
from .kernels.limbs import WORD_BYTES, place, readable, rows
from .parameters import FP_MODULUS, FR_MODULUS

Words: TypeAlias = NDArray[np.uint64]
Octets: TypeAlias = NDArray[np.uint8]


def limbs_from_ints(values: Iterable[int], n_words: int) -> Words:
    """Integers in [0, 2^(64 n_words)) -> (n, n_words).  Raises OverflowError outside."""
    data = b"".join([int(x).to_bytes(n_words * WORD_BYTES, "little") for x in values])
    return np.frombuffer(data, "<u8").astype(np.uint64).reshape(-1, n_words)


def ints_from_limbs(limbs: Words) -> list[int]:
    """(n, n_words) -> n integers."""
    data = np.ascontiguousarray(limbs).astype("<u8", copy=False).tobytes()
    size = limbs.shape[1] * WORD_BYTES
    return [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data), size)]


def fr_from_canonical(a: Words) -> Words:
    """(n, 4) integers below r -> Montgomery form."""
    return _map(fr_to_mont_many, rows(a, FR_WORDS))


def fr_to_canonical(a: Words) -> Words:
    """(n, 4) Montgomery form -> integers below r."""
    return _map(fr_from_mont_many, rows(a, FR_WORDS))


def fr_from_ints(values: Iterable[int]) -> Words:
    """Integers, reduced modulo r -> (n, 4) Montgomery form."""
    return fr_from_canonical(limbs_from_ints([int(x) % FR_MODULUS for x in values], FR_WORDS))


def fr_to_ints(a: Words) -> list[int]:
    """(n, 4) Montgomery form -> integers in [0, r)."""
    return ints_from_limbs(fr_to_canonical(a))


def fp_from_ints(values: Iterable[int]) -> Words:
    """Integers, reduced modulo p -> (n, 6) Montgomery form."""
    canonical = limbs_from_ints([int(x) % FP_MODULUS for x in values], FP_WORDS)
    return _map(fp_to_mont_many, rows(canonical, FP_WORDS))


def fp_to_ints(a: Words) -> list[int]:
    """(n, 6) Montgomery form -> integers in [0, p)."""
    return ints_from_limbs(_map(fp_from_mont_many, rows(a, FP_WORDS)))


def _map(kernel: Callable[..., None], *operands: Words) -> Words:
    """The array that a kernel writes from operands that `rows` has checked."""
    out = np.empty_like(operands[0])
    kernel(out, *operands)
    return out


# Vectors of Fr, in Montgomery form: (n, 4) arrays; a second operand with one row stands for n equal rows ---------------------


def fr_add(a: Words, b: Words) -> Words:
    """a_i + b_i."""
    return _map(fr_add_many, *_pair(a, b))


def fr_sub(a: Words, b: Words) -> Words:
    """a_i - b_i."""
    return _map(fr_sub_many, *_pair(a, b))


def fr_mul(a: Words, b: Words) -> Words:
    """a_i b_i."""
    return _map(fr_mul_many, *_pair(a, b))


def _pair(a: Words, b: Words) -> tuple[Words, Words]:
    if len(b) not in (1, len(a)):
        raise ValueError(f"{len(a)} elements and {len(b)}")
    return rows(a, FR_WORDS), rows(b, FR_WORDS)


def fr_inv(a: Words) -> Words:
    """1/a_i, and 0 for 0.  One inversion for all."""
    return _map(fr_inv_many, rows(a, FR_WORDS))


def fr_pow(a: Words, exponent: int) -> Words:
    """a_i^exponent, exponent >= 0."""
    out = np.repeat(fr_from_ints([1]), len(a), axis=0)
    for bit in f"{exponent:b}":
        out = fr_mul(out, out)
        if bit == "1":
            out = fr_mul(out, a)
    return out


def fr_sum(a: Words) -> Words:
    """sum_i a_i, as (1, 4)."""
    if len(a) == 0:
        return np.zeros((1, FR_WORDS), np.uint64)
    while len(a) > 1:
        half = len(a) // 2
        a = np.concatenate([fr_add(a[:half], a[half : 2 * half]), a[2 * half :]])
    return a


def fr_is_canonical(a: Words) -> NDArray[np.bool_]:
    """Which rows of (n, 4) are below r as plain integers."""
    return fr_below(rows(a, FR_WORDS))[:, 0]


def fr_below(a: Words | Octets) -> NDArray[np.bool_]:
    """Which scalars are below r.  In: (n, ...), m scalars of 32 bytes a row, also as a column of something wider.  Out: (n, m)."""
    a = readable(a, WORD_BYTES)
    address, stride, size = place(a)
    out = np.empty((len(a), size // FR_BYTES), np.bool_)
    fr_below_many(out, address, stride)
    return out

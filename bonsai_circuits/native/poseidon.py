"""Poseidon over Fr of BLS12-381, the Filecoin instance: x^5, width t = arity + 1, the tag in state element 0.

Sources: Grassi, Khovratovich, Rechberger, Roy, Schofnegger, ePrint 2019/458 (permutation; round constants in appendix E);
Filecoin specification, section "Poseidon" (round numbers, matrix, tags); strengthened round numbers as in `neptune`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import compress

from bonsai_verifier.parameters import FR_MODULUS

from ..errors import InputError

FULL_ROUNDS = 8
# The fewest partial rounds that satisfy the paper's inequalities at 128 bits, plus its margin of 7.5 percent.
PARTIAL_ROUNDS = {1: 55, 2: 55, 3: 56, 4: 56, 8: 57, 11: 57, 16: 59}
OUTPUT = 1  # the state element that is the digest

_TAPS = (62, 51, 38, 23, 13, 0)
_REGISTER_BITS = 80
_STEP_BITS = _REGISTER_BITS - _TAPS[0]  # so many new bits depend on old ones alone
_DISCARDED_BITS = 160
_FIELD_BITS = FR_MODULUS.bit_length()


@dataclass(frozen=True, slots=True)
class PoseidonParameters:
    """One width's constants: round i adds round_constants[i], the matrix is mds[i][j] = 1 / (i + j + t)."""

    t: int
    r_f: int
    r_p: int
    round_constants: tuple[tuple[int, ...], ...]
    mds: tuple[tuple[int, ...], ...]


def merkle_tag(arity: int) -> int:
    """2^arity - 1: a tree node all of whose children are present."""
    return (1 << arity) - 1


def constant_length_tag(n: int) -> int:
    """n 2^64: a message of exactly n elements, zeros filling up the width."""
    return n << 64


def identifier_tag(i: int) -> int:
    """i 2^40: a function of its own, apart from trees (below 2^17) and from messages (multiples of 2^64)."""
    return i << 40


ACCOUNT_TAG = identifier_tag(1)
RECEIPT_TAG = identifier_tag(2)


@cache
def poseidon_parameters(arity: int, strengthened: bool = False) -> PoseidonParameters:
    """The constants of one arity; strengthened: R_P' = ceil(5 R_P / 4).

    Cost: milliseconds at the first call of an arity, nothing later.
    Raises InputError: an arity that has no published round numbers here.
    """
    if arity not in PARTIAL_ROUNDS:
        raise InputError("arity", f"{arity} is not one of {', '.join(map(str, PARTIAL_ROUNDS))}")
    t, r_p = arity + 1, PARTIAL_ROUNDS[arity]
    if strengthened:
        r_p = -(-5 * r_p // 4)
    rounds = FULL_ROUNDS + r_p
    constants = _grain_elements(t, r_p, count=t * rounds)
    return PoseidonParameters(
        t=t,
        r_f=FULL_ROUNDS,
        r_p=r_p,
        round_constants=tuple(tuple(constants[t * i : t * (i + 1)]) for i in range(rounds)),
        mds=tuple(tuple(pow(i + j + t, -1, FR_MODULUS) for j in range(t)) for i in range(t)),
    )


def poseidon(inputs: Sequence[int], tag: int, strengthened: bool = False) -> int:
    """Element 1 of the permutation of (tag, inputs).

    In: as many inputs as the arity, each in [0, r); the tag as well.
    Raises InputError: no such arity, or a value that is not an integer in [0, r).
    """
    parameters = poseidon_parameters(len(inputs), strengthened)
    _require_canonical(tag, "tag")
    for i, value in enumerate(inputs):
        _require_canonical(value, f"inputs[{i}]")
    return _permute([tag, *inputs], parameters)[OUTPUT]


def _permute(state: list[int], parameters: PoseidonParameters) -> list[int]:
    """R_F/2 full rounds, R_P partial ones (S-box on element 0 alone), R_F/2 full ones; x -> M (x + c)^5 each."""
    r = FR_MODULUS
    first_partial = parameters.r_f // 2
    first_full_again = first_partial + parameters.r_p
    for i, constants in enumerate(parameters.round_constants):
        added = [x + c for x, c in zip(state, constants, strict=True)]
        if first_partial <= i < first_full_again:
            added[0] = pow(added[0], 5, r)
        else:
            added = [pow(x, 5, r) for x in added]
        state = [sum(m * x for m, x in zip(row, added, strict=True)) % r for row in parameters.mds]
    return state


def _require_canonical(value: int, name: str) -> None:
    if not isinstance(value, int):
        raise InputError(name, f"an integer is needed, not {type(value).__name__}")
    if not 0 <= value < FR_MODULUS:
        raise InputError(name, "not in [0, r); reduce it modulo r first")


def _grain_elements(t: int, r_p: int, count: int) -> list[int]:
    """The first `count` field elements of the Grain stream: 255 bits each, first bit highest, values >= r skipped."""
    elements: list[int] = []
    # Every element costs 4 register bits a bit, and r / 2^255 of the draws are kept; the loop corrects a bad guess.
    length = _DISCARDED_BITS + int(4 * _FIELD_BITS * count * 2**_FIELD_BITS / FR_MODULUS)
    while len(elements) < count:
        length += length // 32
        elements = list(_elements_of(_grain_bits(t, r_p, length)))
    return elements[:count]


def _elements_of(bits: str) -> Iterator[int]:
    """Self-shrinking (of a pair, the second bit stays if the first is 1), then rejection sampling."""
    kept = "".join(compress(bits[1::2], map(int, bits[0::2])))
    for start in range(0, len(kept) - _FIELD_BITS + 1, _FIELD_BITS):
        value = int(kept[start : start + _FIELD_BITS], 2)
        if value < FR_MODULUS:
            yield value


def _grain_bits(t: int, r_p: int, length: int) -> str:
    """At least `length` bits s_240, s_241, ... of the recurrence s_(i+80) = sum s_(i+tap), the first 160 discarded.

    The sequence is one integer, s_i its bit i. The characteristic polynomial squared is the same polynomial in X^2, so
    s_(i+80m) = sum s_(i+m tap) for every power of two m: from 80m known bits, 18m new ones cost six shifts.
    """
    fields = ((1, 2), (1, 4), (_FIELD_BITS, 12), (t, 12), (FULL_ROUNDS, 10), (r_p, 10), (2**30 - 1, 30))
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

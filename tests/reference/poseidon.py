"""Poseidon as ePrint 2019/458 writes it, over Fr of BLS12-381 with the Filecoin choices: an oracle, slow and plain."""

from collections.abc import Iterator
from functools import cache

P = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
ALPHA = 5
R_F = 8
R_P = {t: 55 if t < 4 else 56 if t < 8 else 57 if t < 16 else 59 for t in range(2, 18)}  # by the width t


def partial_rounds(t: int, strengthened: bool) -> int:
    """A quarter more when strengthened, rounded up."""
    return (R_P[t] * 5 + 3) // 4 if strengthened else R_P[t]


def grain(n: int, t: int, r_f: int, r_p: int, sbox: int = 1) -> Iterator[int]:
    """Appendix E, steps 1 to 4: the bits that the self-shrinking Grain LFSR lets through."""
    b: list[int] = []
    for value, width in ((1, 2), (sbox, 4), (n, 12), (t, 12), (r_f, 10), (r_p, 10)):
        b += [value >> (width - 1 - k) & 1 for k in range(width)]
    b += [1] * 30
    i = 0

    def update() -> int:
        nonlocal i
        b.append(b[i + 62] ^ b[i + 51] ^ b[i + 38] ^ b[i + 23] ^ b[i + 13] ^ b[i])
        i += 1
        return b[-1]

    for _ in range(160):
        update()
    while True:
        first, second = update(), update()
        if first:
            yield second


@cache
def round_constants(t: int, strengthened: bool = False) -> list[list[int]]:
    """R_F + R_P vectors of t elements: n bits each, highest first, thrown away if not below p."""
    r_p = partial_rounds(t, strengthened)
    bits = grain(255, t, R_F, r_p)

    def element() -> int:
        while True:
            value = 0
            for _ in range(255):
                value = 2 * value + next(bits)
            if value < P:
                return value

    return [[element() for _ in range(t)] for _ in range(R_F + r_p)]


@cache
def mds(t: int) -> list[list[int]]:
    """The Cauchy matrix 1 / (x_i + y_j), x_i = i, y_j = t + j."""
    return [[pow(i + (t + j), P - 2, P) for j in range(t)] for i in range(t)]


def permutation(state: list[int], strengthened: bool = False) -> list[int]:
    """AddRoundConstants, SubWords (all words, or the first alone in the middle rounds), MixLayer."""
    t = len(state)
    constants, matrix = round_constants(t, strengthened), mds(t)
    for r in range(len(constants)):
        state = [(state[i] + constants[r][i]) % P for i in range(t)]
        full = r < R_F // 2 or r >= len(constants) - R_F // 2
        state = [pow(state[i], ALPHA, P) if full or i == 0 else state[i] for i in range(t)]
        state = [sum(matrix[i][j] * state[j] for j in range(t)) % P for i in range(t)]
    return state


def poseidon(inputs: list[int], tag: int, strengthened: bool = False) -> int:
    """The tag in front, the inputs behind it, the second word out."""
    return permutation([tag, *inputs], strengthened)[1]

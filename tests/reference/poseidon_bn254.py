"""Poseidon as ePrint 2019/458 writes it, over Fr of BN254 with circom's choices: an oracle, slow and plain."""

from functools import cache

from tests.reference.poseidon import ALPHA, R_F, grain

P = 21888242871839275222246405745257275088548364400416034343698204186575808495617
R_P = dict(enumerate([56, 57, 56, 60, 60, 63, 64, 63, 60, 66, 60, 65, 70, 60, 64, 68], start=2))  # by the width t


@cache
def parameters(t: int) -> tuple[list[list[int]], list[list[int]]]:
    """Round constants and matrix, as generate_parameters_grain.sage draws them, one after the other."""
    bits = grain(254, t, R_F, R_P[t], sbox=0)

    def draw() -> int:
        value = 0
        for _ in range(254):
            value = 2 * value + next(bits)
        return value

    def element() -> int:
        while (value := draw()) >= P:
            pass
        return value

    constants = [[element() for _ in range(t)] for _ in range(R_F + R_P[t])]
    while True:
        drawn = [draw() % P for _ in range(2 * t)]
        xs, ys = drawn[:t], drawn[t:]
        if len(set(drawn)) == 2 * t and all((x + y) % P for x in xs for y in ys):
            return constants, [[pow(x + y, P - 2, P) for y in ys] for x in xs]


def permutation(state: list[int]) -> list[int]:
    """AddRoundConstants, SubWords (all words, or the first alone in the middle rounds), MixLayer."""
    t = len(state)
    constants, matrix = parameters(t)
    for r in range(len(constants)):
        state = [(state[i] + constants[r][i]) % P for i in range(t)]
        full = r < R_F // 2 or r >= len(constants) - R_F // 2
        state = [pow(state[i], ALPHA, P) if full or i == 0 else state[i] for i in range(t)]
        state = [sum(matrix[i][j] * state[j] for j in range(t)) % P for i in range(t)]
    return state


def poseidon(inputs: list[int]) -> int:
    """0 in front of the inputs, the first word out."""
    return permutation([0, *inputs])[0]

"""The rows that the kernels run, on integers: a permutation without partial states, for every instance."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from bonsai_circuits.errors import InputError
from bonsai_circuits.kernels.poseidon import LEAST_FACTORS
from bonsai_circuits.native.poseidon import merkle_tag, poseidon, poseidon_parameters
from bonsai_circuits.native.poseidon_bn254 import poseidon_bn254, poseidon_bn254_parameters
from bonsai_circuits.native.poseidon_instance import PoseidonParameters
from bonsai_circuits.native.poseidon_schedule import schedule


def run(table: Sequence[int], inputs: Sequence[int], p: PoseidonParameters, radix: int) -> int:
    """The kernels on integers; elements are in Montgomery form, a of the inputs that of a / radix."""
    r, t, n, half = p.modulus, p.t, p.t - 1, p.r_f // 2
    numbers: Iterator[int] = iter(table)

    def row(v: Sequence[int], last: int = 0) -> int:
        return (next(numbers) * radix + sum(next(numbers) * x for x in v) + last) % r

    def fifth(x: int) -> int:
        return pow(x, 5, r) * pow(radix, -4, r) % r

    def full_round(state: Sequence[int]) -> list[int]:
        s = [fifth(x) for x in state]
        return [row(s[:-1], s[-1]) for _ in range(t)]

    state = [a + next(numbers) for a in inputs]
    for _ in range(half):
        state = full_round(state)
    x, *later = state
    history = [0] * LEAST_FACTORS
    for k in range(n):
        history += [x, fifth(x)]
        x = row(history[LEAST_FACTORS + 1 :: 2], later[k])
    for _ in range(n, p.r_p):
        s = fifth(x)
        history += [x, s]
        x = row(history[-max(2 * n, LEAST_FACTORS) - 1 : -1], s)
    window = [*history, x][-2 * n :]
    state = [x, *(row(window[:-1], x) for _ in range(n))]
    for _ in range(half - 1):
        state = full_round(state)
    digest = row([fifth(x) for x in state])
    assert next(numbers, None) is None
    return digest


@pytest.mark.parametrize("radix", [2**256, 2**260])
@pytest.mark.parametrize("arity", range(1, 17))
def test_rows_are_the_permutation(arity: int, radix: int) -> None:
    inputs = [pow(3, 200 + i) for i in range(arity)]
    p = poseidon_bn254_parameters(arity)
    reduced = [x % p.modulus for x in inputs]
    assert run(schedule(p, 0, radix), reduced, p, radix) == poseidon_bn254(reduced)
    for strengthened in (False, True):
        p, tag = poseidon_parameters(arity, strengthened), merkle_tag(arity)
        reduced = [x % p.modulus for x in inputs]
        assert run(schedule(p, tag, radix), reduced, p, radix) == poseidon(reduced, tag, strengthened)


def test_rows_take_fewer_products_than_a_sparse_matrix() -> None:
    """2 t - 2 a partial round from round t - 1 on, where a sparse matrix takes 2 t - 1, and one result for t."""
    for arity in (2, 4, 16):
        p = poseidon_bn254_parameters(arity)
        n, t, half = p.t - 1, p.t, p.r_f // 2
        full = t * n + t * t * (half - 1) + n * 2 * n + t * t * (half - 1) + t + 1
        partial = sum(i + 2 for i in range(n)) + (p.r_p - n) * (2 * n + 1)
        assert len(schedule(p, 0, 2**256)) == n + full + partial


def test_too_few_partial_rounds_are_refused() -> None:
    p = poseidon_bn254_parameters(8)
    short = replace(p, r_p=8, round_constants=p.round_constants[:16])
    with pytest.raises(InputError, match="too few"):
        schedule(short, 0, 2**256)

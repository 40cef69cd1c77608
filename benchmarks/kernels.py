"""What the verifier's kernels take, in each body that runs here: points decoded and tested, pairings, additions, sums of multiples."""

import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bonsai_verifier.curve import decode_g1_many, encode_g1_many, g1_sum, g1_sums, in_g1_many, one_words
from bonsai_verifier.field import Words, limbs_from_ints
from bonsai_verifier.kernels import cpu
from bonsai_verifier.kernels.msm import adder as adder_of
from bonsai_verifier.kernels.msm import g1_fixed_base_many
from bonsai_verifier.pairing import product_is_one
from bonsai_verifier.parameters import FR_MODULUS

from .measure import report

BATCHES = (32, 1024, 65536)
SINGLE = 65536
FEW = 3  # the points of a single proof's last term
PAIRS = 4096
DECODED = 1024


def main() -> None:
    for body in cpu.BODIES:
        if body == cpu.VECTOR and cpu.missing():
            continue
        with cpu.use(body):
            _measure(body)


def _measure(body: str) -> None:
    rng = random.Random(1)
    points = _points(max(BATCHES) + 2, rng)
    data, one_2 = encode_g1_many(points[:DECODED]), one_words()[1]
    pairs = [(p, one_2) for p in points[:3]]
    figures = {
        "decode_us": 1e6 * _least(lambda: decode_g1_many(data, subgroup=False)) / DECODED,
        "membership_us": 1e6 * _least(lambda: in_g1_many(points[:DECODED])) / DECODED,
        "three_pairings_us": 1e6 * _least(lambda: product_is_one(pairs)),
        "addition_ns": 1e9 * _addition(points) / PAIRS,
    }
    for n in BATCHES:
        rho, x = _scalars(n, 2**128, rng), _scalars(n + 2, FR_MODULUS, rng)
        t, u = points[:n], points[::-1][: n + 2]

        def three_sums(t: Words = t, u: Words = u, rho: Words = rho, x: Words = x) -> Any:
            return g1_sums([t, u], [rho, x], [(0, 0), (1, 0), (1, 1)])

        figures[f"three_sums_{n}_us_a_proof"] = 1e6 * _least(three_sums) / n
    for bits in (128, 255):
        scalars = _scalars(SINGLE, min(2**bits, FR_MODULUS), rng)
        figures[f"sum_{SINGLE}_{bits}_bits_ms"] = 1e3 * _least(partial(g1_sum, points[:SINGLE], scalars))
    equal = np.repeat(points[:1], SINGLE, axis=0)
    rho = _scalars(SINGLE, 2**128, rng)
    figures["equal_points_vs_random"] = _least(lambda: g1_sum(equal, rho)) / _least(
        lambda: g1_sum(points[:SINGLE], rho)
    )
    few = _scalars(FEW, FR_MODULUS, rng)
    figures[f"sum_{FEW}_us"] = 1e6 * _least(lambda: g1_sum(points[:FEW], few, in_g1=True))
    report(f"kernels-{body}", figures, {"least_of": "thread seconds of repeated calls"})


def _points(n: int, rng: random.Random) -> Words:
    out: Words = g1_fixed_base_many(one_words()[0], _scalars(n, 2**128, rng))
    return out


def _scalars(n: int, bound: int, rng: random.Random) -> Words:
    return limbs_from_ints([rng.randrange(bound) for _ in range(n)], 4)


def _addition(points: Words) -> float:
    """Seconds of PAIRS additions of distinct points, a wait apart as in a sum of many."""
    adder, n = adder_of(), len(points)
    pool, absent = adder.new_pool(n + PAIRS), np.empty(n, np.bool_)
    adder.put_points(pool, 0, points, absent)
    pairs = np.zeros((4, PAIRS + adder.SPARE_COLUMNS), np.int32)
    second = np.arange(PAIRS) * 7 % n
    first = (second + np.random.default_rng(1).integers(1, 4096, PAIRS)) % n
    for row, names in enumerate((2 * first, 2 * second + 1, 2 * (n + np.arange(PAIRS)))):
        pairs[row, :PAIRS] = names
    infinite, scratch = np.empty(PAIRS + adder.SPARE_COLUMNS, np.uint8), adder.scratch()
    return _least(lambda: adder.add_pairs(pool, pairs, infinite, PAIRS, scratch))


def _least(call: Callable[[], object], seconds: float = 2.0) -> float:
    """The least of this thread's seconds over calls until `seconds` have passed: near the truth on a machine that others use."""
    call()
    least, end = float("inf"), time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.thread_time()
        call()
        least = min(least, time.thread_time() - began)
    return least

"""Sums for Sinsemilla where the literal recurrence fails, and where it does not although a denominator vanishes.

With S[j] = [1 + j STEP] G and a start [q] G, found backwards from a message, every case can be brought about at every word, as it cannot
with points whose relations nobody knows.
"""

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from bonsai_circuits.kernels import sinsemilla as kernels
from bonsai_circuits.native import pallas
from bonsai_verifier.kernels import cpu
from tests.reference import sinsemilla as reference

Q = reference.Q
G = (reference.P - 1, 2)
STEP = 2**200 + 12345  # with it no sum of few generators is another by chance
CASES: dict[str, Callable[[int], int]] = {  # the logarithm of Acc_i from that of S[m_i]
    "Acc = S": lambda s: s,
    "Acc = -S": lambda s: -s,
    "2 Acc = -S": lambda s: -s * pow(2, -1, Q),
    "2 Acc = S": lambda s: s * pow(2, -1, Q),
    "Acc = 3 S": lambda s: 3 * s,
}
DOUBLING, FINE = "2 Acc = S", "Acc = 3 S"


@pytest.fixture(scope="module")
def generators() -> np.ndarray:
    points, step = [G], pallas.multiply(G, STEP)
    for _ in range(kernels.GENERATORS - 1):
        point = pallas.add(points[-1], step)
        assert point is not None
        points.append(point)
    return pallas.words_from_points(points)


@pytest.fixture(scope="module")
def module(body: str) -> ModuleType:
    if body == cpu.VECTOR:
        from bonsai_circuits.kernels import sinsemilla_lanes

        return sinsemilla_lanes
    return kernels


@pytest.fixture(scope="module")
def table(module: ModuleType, generators: np.ndarray) -> kernels.Rows:
    points = np.empty((kernels.TABLE_ROWS * kernels.GENERATORS, 8), np.uint64)
    points[-kernels.GENERATORS :] = generators
    kernels.fill_table(points)
    return kernels.Rows(points, module.packed(points))


def log_of(word: int) -> int:
    """The logarithm of S[word]."""
    return 1 + int(word) * STEP


def start_of(words: np.ndarray, at: int, case: str) -> int:
    """The logarithm of the start of a message that comes to the case at word `at`."""
    acc = CASES[case](log_of(words[at]))
    for word in words[:at][::-1]:
        acc = (acc - log_of(word)) * pow(2, -1, Q)
    return acc % Q


def expected(start: int, words: np.ndarray) -> int | None:
    """The logarithm of the hash, None for failure."""
    acc = start
    for s in map(log_of, words):
        if acc % Q in (0, s, Q - s) or (2 * acc + s) % Q == 0:
            return None
        acc = (2 * acc + s) % Q
    return acc


def points_of(logs: list[int]) -> np.ndarray:
    points = [pallas.multiply(G, n) for n in logs]
    assert None not in points
    return pallas.words_from_points(points)


def run(module, table, generators, logs: list[int], words: np.ndarray, way: str) -> tuple[np.ndarray, np.ndarray]:
    """Points and failures of messages that start at [log] G, by one way of evaluation."""
    n, k = words.shape
    names, out, failed = np.empty((k + 1, n), np.int32), np.zeros((n, 8), np.uint64), np.full(n, 9, np.uint8)
    kernels.name_words(names, words, kernels.TABLE_ROWS - k)
    names[0] = np.arange(n)
    if way == "literal":
        kernels.literal(out, failed, generators, points_of(logs), names)
    else:
        starts = points_of([log * pow(2, k, Q) for log in logs])
        module.sums(out, failed, table, kernels.Rows(starts, module.packed(starts)), names, way == "checked")
    return out, failed


def messages(seed: int, n: int, k: int, cases: list[str]) -> tuple[list[int], np.ndarray]:
    """n messages of k words that come to the cases in turn, at words from the first to the last."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 1024, (n, k)).astype(np.uint16)
    at = [i * (k - 1) // max(n - 1, 1) for i in range(n)]
    return [start_of(words[i], at[i], cases[i % len(cases)]) for i in range(n)], words


def test_the_logarithms_are_the_recurrence() -> None:
    """`expected` is what the oracle computes from points, in all cases."""
    for case in CASES:
        for at in (0, 2):
            words = np.array([3, 1000, 17], np.uint16)
            start = start_of(words, at, case)
            log = expected(start, words)
            point = reference.recurrence(
                reference.times(start, G),
                [reference.times(log_of(w), G) for w in words],
            )
            assert point == (None if log is None else reference.times(log, G))
            assert (log is None) == (case not in (DOUBLING, FINE))


@pytest.mark.parametrize("way", ["literal", "checked"])
@pytest.mark.parametrize(
    ("n", "k", "first"),
    [
        *((1, 52, first) for first in range(len(CASES))),
        *((3, 52, 0), (3, 52, 3), (7, 52, 1), (8, 15, 0), (9, 52, 4), (33, 20, 0), (70, 52, 0), (20, 1, 0)),
    ],
)
def test_evaluations_fail_in_exactly_the_literal_cases(
    module, table, generators, n: int, k: int, way: str, first: int
) -> None:
    """All cases in turn, at words from the first to the last."""
    names = list(CASES)
    logs, words = messages(first, n, k, names[first:] + names[:first])
    want = [expected(log, row) for log, row in zip(logs, words, strict=True)]
    out, failed = run(module, table, generators, logs, words, way)
    assert failed.tolist() == [w is None for w in want]
    fine = failed == 0
    assert (out[fine] == points_of([w for w in want if w is not None]).reshape(-1, 8)).all()


@pytest.mark.parametrize("n", [4, 48, 49])
@pytest.mark.parametrize("case", ["2 Acc = -S", DOUBLING])
def test_unchecked_sums_notice_a_denominator_that_vanishes(module, table, generators, n: int, case: str) -> None:
    """One message comes to the case at its first word; no other suffers."""
    logs, words = messages(n, n, 52, [FINE])
    logs[n // 2] = start_of(words[n // 2], 0, case)
    want = [expected(log, row) for log, row in zip(logs, words, strict=True)]
    out, failed = run(module, table, generators, logs, words, "unchecked")
    assert failed.tolist() == [w is None for w in want]
    fine = failed == 0
    assert (out[fine] == points_of([w for w in want if w is not None])).all()


@pytest.mark.parametrize("n", [1, 3, 4, 49])
@pytest.mark.parametrize("other", [1, 7, 51])
@pytest.mark.parametrize("sign", [1, -1])
def test_sums_in_any_order_of_additions_are_right(module, table, generators, n: int, other: int, sign: int) -> None:
    """The start is the point of another word or its opposite: where these two meet, a sum that has them alone has no slope."""
    logs, words = messages(n, n, 52, [FINE])
    logs[n // 2] = sign * log_of(words[n // 2, other]) * pow(2, -1 - other, Q) % Q
    want = [expected(log, row) for log, row in zip(logs, words, strict=True)]
    for way in ("unchecked", "checked"):
        out, failed = run(module, table, generators, logs, words, way)
        assert not failed.any()
        assert (out == points_of([w for w in want if w is not None])).all()


def test_a_failure_spoils_no_other_hash(module, table, generators) -> None:
    logs, words = messages(5, 100, 52, [FINE])
    bad = [0, 17, 99]
    for i, case in zip(bad, CASES, strict=False):
        logs[i] = start_of(words[i], 10, case)
    out, failed = run(module, table, generators, logs, words, "checked")
    assert np.flatnonzero(failed).tolist() == bad
    alone, _ = run(module, table, generators, logs, words, "literal")
    good = failed == 0
    assert (out[good] == alone[good]).all()


def test_unchecked_sums_pass_over_twice_the_point(module, table, generators) -> None:
    """What is given up: Acc = S is no failure then, but the sum."""
    logs, words = messages(6, 100, 52, [FINE])
    logs[50] = start_of(words[50], 10, "Acc = S")
    out, failed = run(module, table, generators, logs, words, "unchecked")
    assert not failed.any()
    total = logs[50]
    for word in words[50]:
        total = 2 * total + log_of(word)
    assert (out[50] == points_of([total])[0]).all()


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("where", ["in a lane", "in the last turn"])
def test_a_node_alone_notices_a_denominator_that_vanishes(
    body: str, module: ModuleType, table: kernels.Rows, where: str, sign: int
) -> None:
    """The start meets the ninth point, which is in its lane; or makes the sum of even lanes that of odd ones, or its opposite."""
    node = bytes(range(1, 32)) + b"\1"
    words = reference.words([*reference.bits_of(int.from_bytes(node, "little"), 255)] * 2)
    logs = [0] + [log_of(word) * 2 ** (50 - k) for k, word in enumerate(words) if k]
    start = sign * logs[8] if where == "in a lane" else sign * sum(logs[1::2]) - sum(logs[::2])
    for log, code in ((start, kernels.VANISHED if body == cpu.VECTOR else kernels.FINE), (start + 1, kernels.FINE)):
        starts = np.repeat(points_of([log % Q]), kernels.GENERATORS, axis=0)
        children = bytearray(2 * node)
        assert module.node(table.packed, module.packed(starts), children) == code
        if code == kernels.VANISHED:
            assert children == 2 * node
            continue
        total = pallas.multiply(G, (log + sum(logs)) % Q)
        assert int.from_bytes(children, "little") == (total[0] if total else 0)


def test_names_of_children_are_their_bits() -> None:
    rng = np.random.default_rng(3)
    left, right = (int.from_bytes(rng.bytes(32), "little") % 2**255 for _ in range(2))
    words = [*(left >> 64 * i & 2**64 - 1 for i in range(4)), *(right >> 64 * i & 2**64 - 1 for i in range(4))]
    names = np.empty((kernels.MERKLE_WORDS, 1), np.int32)
    kernels.name_children(names, np.array(words, np.uint64).reshape(8, 1))
    bits = [*reference.bits_of(left, 255), *reference.bits_of(right, 255)]
    rows = [0, *range(3, 53)]
    assert names[:, 0].tolist() == [1024 * r + w for r, w in zip(rows, reference.words(bits), strict=True)]

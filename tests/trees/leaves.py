"""Leaves for tests, and where nodes may be kept that a tree has not in memory."""

import threading
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bonsai_circuits.trees.lean_imt import Snapshot
from bonsai_circuits.trees.shape import n_complete
from tests.reference.lean_imt import counted_leaves


def as_array(leaves: list[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(leaves), np.uint8).reshape(-1, 32)


def counted(n: int) -> NDArray[np.uint8]:
    """The first n leaves of the vectors."""
    return as_array(counted_leaves(n))


@dataclass
class Kept:
    """All complete nodes of one snapshot, and what was asked for."""

    nodes_of: list[NDArray[np.uint8]]
    asked: list[tuple[int, int, int]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Kept":
        n = [n_complete(snapshot.size, snapshot.arity, level) for level in range(snapshot.depth + 1)]
        return cls([snapshot.complete(level, 0, m) for level, m in enumerate(n)])

    def nodes(self, level: int, start: int, stop: int) -> NDArray[np.uint8]:
        with self.lock:
            self.asked.append((level, start, stop))
        assert start < stop <= len(self.nodes_of[level])
        return self.nodes_of[level][start:stop]

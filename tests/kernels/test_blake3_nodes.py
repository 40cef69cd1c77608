"""Many nodes at once against the authors' implementation, one by one (PyPI blake3)."""

import os
import subprocess
import sys

import numpy as np
import pytest
from blake3 import blake3

from bonsai_circuits.kernels import blake3_nodes as kernels


def children_of(n: int, k: int) -> np.ndarray:
    return np.random.default_rng(n * 100 + k).integers(0, 256, (n, 32 * k), np.uint8)


@pytest.mark.parametrize("k", range(2, kernels.MAX_CHILDREN + 1))
def test_nodes_equal_the_reference(k):
    for n in (0, 1, 2, 3, 4, 5, 9, 10, 15, 16, 17, 19, 20, 26, 27, 33, 70):
        children = children_of(n, k)
        out = np.zeros((n, 32), np.uint8)
        kernels.nodes_into(out, children)
        assert [row.tobytes() for row in out] == [blake3(row.tobytes()).digest() for row in children], n


def test_nodes_write_nothing_behind_the_last():
    for n in (1, 5, 16, 21):
        out = np.full((n + 2, 32), 7, np.uint8)
        kernels.nodes_into(out[1:-1], children_of(n, 3))
        assert (out[[0, -1]] == 7).all()


def test_nodes_are_the_same_where_registers_are_narrow():
    """Sixteen lanes go four at a time where registers have 128 bits."""
    script = (
        "import numpy as np\n"
        "from bonsai_circuits.kernels.blake3_nodes import nodes_into\n"
        "for k in (2, 3, 5):\n"
        "    rows = np.random.default_rng(3700 + k).integers(0, 256, (37, 32 * k), np.uint8)\n"
        "    out = np.zeros((37, 32), np.uint8)\n"
        "    nodes_into(out, rows)\n"
        "    print(out.tobytes().hex())"
    )
    env = os.environ | {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    want = ["".join(blake3(row.tobytes()).hexdigest() for row in children_of(37, k)) for k in (2, 3, 5)]
    assert done.stdout.split() == want

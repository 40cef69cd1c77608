"""Which bodies run here: `portable`, or `vector` (AVX-512 IFMA: eight lanes side by side).

LLVM ends the process on an intrinsic that its target has not, so this is decided before a vector body is compiled, and modules of
vector bodies are imported only where it says so.  Two parties must agree: the processor, as LLVM detects it (with what the operating system
saves of its registers), and the target that numba compiles for, which NUMBA_CPU_NAME, NUMBA_CPU_FEATURES and NUMBA_ENABLE_AVX change.

$BONSAI_KERNELS = portable | vector forces one.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import llvmlite.binding as llvm
from numba import config
from numba.core.codegen import get_host_cpu_features

from ..errors import InputError

PORTABLE, VECTOR = "portable", "vector"
BODIES = (PORTABLE, VECTOR)
NEEDED = ("avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512ifma")
_SWITCH = "BONSAI_KERNELS"
_forced: list[str] = []


def vector() -> bool:
    """The vector bodies run.  Raises InputError: $BONSAI_KERNELS names no body, or one that cannot run here."""
    return (_forced[-1] if _forced else _chosen()) == VECTOR


@cache
def wide() -> bool:
    """Registers of 256 bits or more hold integers, in what numba compiles for."""
    return "avx2" in _target_features()


@contextmanager
def use(body: str) -> Iterator[None]:
    """`body` runs inside the block, for all threads; for tests and measurements.  Raises InputError as `vector` does."""
    _forced.append(_checked(body))
    try:
        yield
    finally:
        _forced.pop()


@cache
def missing() -> str:
    """Why no vector body can run here; the empty string if one can."""
    try:
        host = {name for name, present in llvm.get_host_cpu_features().items() if present}
    except RuntimeError:  # LLVM knows no way to ask
        host = set()
    if lacking := [name for name in NEEDED if name not in host]:
        return f"the processor has no {', '.join(lacking)}"
    if lacking := [name for name in NEEDED if name not in _target_features()]:
        return f"numba's target has no {', '.join(lacking)} (NUMBA_CPU_FEATURES, NUMBA_CPU_NAME, NUMBA_ENABLE_AVX)"
    return ""


def _target_features() -> set[str]:
    """The features that numba asks LLVM for by name; those that a forced CPU name implies do not count."""
    text = get_host_cpu_features() if config.CPU_FEATURES is None else config.CPU_FEATURES
    found: set[str] = set()
    for item in text.split(","):
        sign, name = item[:1], item[1:]
        if sign == "+":
            found.add(name)
        elif sign == "-":
            found.discard(name)
    return found


@cache
def _chosen() -> str:
    """The body that the environment asks for, else the better of those that can run."""
    if named := os.environ.get(_SWITCH):
        return _checked(named)
    return PORTABLE if missing() else VECTOR


def _checked(body: str) -> str:
    if body not in BODIES:
        raise InputError(_SWITCH, f"there is no body {body!r}; set it to {' or '.join(BODIES)}")
    if body == VECTOR and missing():
        raise InputError(_SWITCH, f"the vector bodies cannot run: {missing()}; set it to {PORTABLE}")
    return body

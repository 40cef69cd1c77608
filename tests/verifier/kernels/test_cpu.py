"""The choice of a body: by the processor, by numba's target, by the switch, and forced in a block."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bonsai_verifier.errors import InputError
from bonsai_verifier.kernels import cpu

SCRIPT = """
import sys
from bonsai_verifier.kernels import cpu
try:
    print(cpu.vector(), cpu.missing())
except Exception as e:
    print(type(e).__name__, e)
print([name for name in sys.modules if name.endswith("_lanes")])
"""
DECODE = """
import numpy as np, sys
from bonsai_verifier.curve import decode_g1_many, encode_g1_many, one_words
print(decode_g1_many(encode_g1_many(one_words()[0][None]))[1].tolist())
print([name for name in sys.modules if name.endswith("_lanes")])
"""


def run(script: str, **env: str) -> list[str]:
    """The lines that a new process prints."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_", "BONSAI_KERNELS"))}
    full = clean | {"PYTHONPATH": os.pathsep.join(sys.path)} | env
    done = subprocess.run([sys.executable, "-c", script], env=full, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_vector_runs_where_nothing_is_missing() -> None:
    line, modules = run(SCRIPT)
    assert line.split(" ", 1) == [str(not cpu.missing()), cpu.missing()]
    assert modules == "[]"


def test_the_switch_forces_portable() -> None:
    assert run(SCRIPT, BONSAI_KERNELS="portable")[0].startswith("False")


@pytest.mark.parametrize(
    "env",
    [
        {"NUMBA_CPU_NAME": "generic"},
        {"NUMBA_CPU_FEATURES": "+avx2,+avx512f"},
        {"NUMBA_CPU_FEATURES": "+avx512f,+avx512dq,+avx512bw,+avx512vl,+avx512ifma,-avx512ifma"},
        {"NUMBA_ENABLE_AVX": "0"},
    ],
    ids=["generic", "other features", "taken back", "no AVX"],
)
def test_a_target_without_the_feature_runs_portable_bodies(env: dict[str, str]) -> None:
    """LLVM would end the process: the whole decoding runs, and no vector module is imported."""
    assert run(SCRIPT, **env)[0].startswith("False ")
    assert "avx512ifma" in run(SCRIPT, **env)[0]
    assert run(DECODE, **env) == ["[0]", "[]"]


def test_vector_bodies_are_imported_where_they_were_chosen() -> None:
    """At the top of a module, by vector bodies alone: so a machine that cannot run them never compiles one."""
    folder = Path(cpu.__file__).parents[1]
    for file in folder.rglob("*.py"):
        names = [name for node in ast.parse(file.read_text()).body for name in imported(node)]
        assert is_vector(file.stem) or not any(map(is_vector, names)), file


def is_vector(module: str) -> bool:
    return module.endswith("lanes") or module.startswith("lane_")


def imported(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [*(node.module or "").split("."), *(alias.name for alias in node.names)]
    return [part for alias in node.names for part in alias.name.split(".")] if isinstance(node, ast.Import) else []


def test_vector_where_it_cannot_run_is_an_error_that_says_why() -> None:
    line, _ = run(SCRIPT, BONSAI_KERNELS="vector", NUMBA_CPU_NAME="generic")
    assert line.startswith("InputError BONSAI_KERNELS: the vector bodies cannot run: ")
    assert "set it to portable" in line


def test_another_value_is_an_error_that_names_both() -> None:
    assert run(SCRIPT, BONSAI_KERNELS="fast")[0] == (
        "InputError BONSAI_KERNELS: there is no body 'fast'; set it to portable or vector"
    )


def test_use_forces_a_body_and_restores_the_one_before() -> None:
    before = cpu.vector()
    with cpu.use(cpu.PORTABLE):
        assert not cpu.vector()
        with pytest.raises(InputError, match="no body 'other'"), cpu.use("other"):
            pass
        assert not cpu.vector()
    assert cpu.vector() == before


def test_use_of_vector_needs_the_processor(vector: None) -> None:
    with cpu.use(cpu.PORTABLE), cpu.use(cpu.VECTOR):
        assert cpu.vector()

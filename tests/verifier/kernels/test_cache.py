"""Compiled kernels: the second process compiles nothing, and a change of any source is another folder."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest

from bonsai_verifier.kernels import cache, g1

PACKAGE = {
    "__init__.py": "",
    "outside.py": "FACTOR = 3\n",
    "unrelated.py": "",
    "kernels/__init__.py": "",
    "kernels/low.py": "from ..outside import FACTOR\nfrom bonsai_verifier.kernels.cache import inner\n"
    "@inner\ndef triple(x):\n    return FACTOR * x\n",
    "kernels/middle.py": "from bonsai_verifier.kernels.cache import inner\nfrom .low import triple\n"
    "@inner\ndef nine(x):\n    return triple(triple(x))\n",
    "kernels/apart.py": "from bonsai_verifier.kernels.cache import inner\n@inner\ndef same(x):\n    return x\n",
    "kernels/top.py": "from bonsai_verifier.kernels.cache import kernel\nfrom . import low\nfrom .apart import same\n"
    "from .middle import nine\ntriple = low.triple\n"
    "@kernel\ndef run(x):\n    return same(x) + triple(x) + nine(x)\n",
}

SCRIPT = """
import json
import numba
before = {k: getattr(numba.config, k) for k in dir(numba.config) if k.isupper()}
from bonsai_verifier.kernels.cache import compilations
from toy.kernels.top import nine, run
results = [run(2), nine(2)]
assert before == {k: getattr(numba.config, k) for k in before}
print(json.dumps([results, list(compilations())]))
"""


@pytest.fixture
def toy(tmp_path):
    root = tmp_path / "source" / "toy"
    for name, text in PACKAGE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def run(toy, folder=None, **env):
    """(results, from cache, compiled) of a new process."""
    full = (
        os.environ | {"PYTHONPATH": os.pathsep.join([str(toy.parent), *sys.path]), "PYTHONDONTWRITEBYTECODE": "1"} | env
    )
    full["BONSAI_CACHE_DIR"] = str(folder or toy.parents[1] / "cache")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT], env=full, capture_output=True, text=True, check=False
    )
    assert not done.stderr
    results, (hits, misses) = json.loads(done.stdout)
    return results, hits, misses


def folders(toy):
    return {p.name for p in (toy.parents[1] / "cache").iterdir()}


GOOD = [2 * (1 + 3 + 9), 18]
MODULES = {"toy.kernels.low", "toy.kernels.middle", "toy.kernels.top"}  # those that FACTOR goes into


def test_second_process_compiles_nothing(toy):
    results, hits, misses = run(toy)
    assert (results, hits) == (GOOD, 0)
    assert misses > 0
    made = folders(toy)
    assert {name.rpartition("-")[0] for name in made} == MODULES | {"toy.kernels.apart"}
    results, hits, misses = run(toy)
    assert (results, misses) == (GOOD, 0)
    assert hits > 0
    assert folders(toy) == made
    assert not list(toy.rglob("*.nb?"))


def test_a_changed_constant_in_another_file_compiles_again(toy):
    run(toy)
    made = folders(toy)
    (toy / "outside.py").write_text("FACTOR = 5\n")
    results, hits, _ = run(toy)
    assert results == [2 * (1 + 5 + 25), 50]
    assert hits == 1  # apart.same
    assert {name.rpartition("-")[0] for name in folders(toy) - made} == MODULES


def test_an_unrelated_change_compiles_nothing(toy):
    run(toy)
    (toy / "unrelated.py").write_text("X = 1\n")
    assert run(toy)[2] == 0


def entries(toy):
    return sorted((toy.parents[1] / "cache").rglob("*.nbc"))


def flipped(data, at):
    i = int(at * len(data))
    return data[:i] + bytes([data[i] ^ 4]) + data[i + 1 :]


def test_a_damaged_file_is_compiled_again(toy):
    run(toy)
    n = len(entries(toy))
    flips = [lambda data, at=at: flipped(data, at) for at in (0, 0.3, 0.7, 0.999)]  # machine code is in the middle
    for change in (lambda data: data[:20], lambda data: data + b"\0", *flips):
        for path in entries(toy):
            path.write_bytes(change(path.read_bytes()))
        assert run(toy) == (GOOD, 0, n)
    assert run(toy)[::2] == (GOOD, 0)
    assert len(entries(toy)) == n


def test_exchanged_files_are_compiled_again(toy):
    """Whole files, but of another function, or of other sources."""
    run(toy)
    paths = entries(toy)
    contents = [path.read_bytes() for path in paths]
    assert len(set(contents)) == len(paths) > 2
    for path, other in zip(paths, contents[1:] + contents[:1]):
        path.write_bytes(other)
    assert run(toy) == (GOOD, 0, len(paths))
    (toy / "outside.py").write_text("FACTOR = 5\n")
    run(toy)
    for path in set(entries(toy)) - set(paths):
        (old,) = (p for p in paths if p.name.startswith(path.name.partition("-")[0]))
        path.write_bytes(old.read_bytes())
    assert run(toy) == ([2 * (1 + 5 + 25), 50], 1, 3)


def test_a_folder_that_cannot_be_made_means_no_cache(toy, tmp_path):
    (tmp_path / "file").write_text("")
    results, hits, misses = run(toy, tmp_path / "file" / "below")
    assert (results, hits) == (GOOD, 0)
    assert misses > 0
    assert not list(toy.rglob("*.nb?"))


def test_a_folder_that_everybody_may_write_is_not_trusted(toy):
    run(toy)
    for path in (toy.parents[1] / "cache").iterdir():
        assert path.stat().st_mode & 0o077 == 0
        path.chmod(0o777)
    results, hits, misses = run(toy)
    assert (results, hits) == (GOOD, 0)
    assert misses > 0


def test_a_folder_of_somebody_else_is_not_trusted(monkeypatch, tmp_path):
    assert cache._is_ours(tmp_path)
    theirs = SimpleNamespace(st_uid=os.getuid() + 1, st_mode=0o40700)
    monkeypatch.setattr(Path, "stat", lambda self: theirs)
    assert not cache._is_ours(tmp_path)


def test_jit_can_be_disabled(toy):
    assert run(toy, NUMBA_DISABLE_JIT="1") == (GOOD, 0, 0)


def test_numba_cache_settings_do_not_matter(toy, tmp_path):
    env = {"NUMBA_CACHE_DIR": str(tmp_path / "other")}
    run(toy, **env)
    assert run(toy, **env)[2] == 0
    assert not (tmp_path / "other").exists()


def test_cache_root_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("BONSAI_CACHE_DIR", str(tmp_path / "a"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "b"))
    assert cache.cache_root() == tmp_path / "a"
    monkeypatch.delenv("BONSAI_CACHE_DIR")
    assert cache.cache_root() == tmp_path / "b" / "bonsai"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "c"))
    assert cache.cache_root() == tmp_path / "c" / ".cache" / "bonsai"


def test_real_kernels_depend_on_what_they_import():
    assert {"bonsai_verifier.kernels.weierstrass", "bonsai_verifier.parameters"} <= cache._imports(g1.__name__)
    folder = Path(g1.g1_neg_many.stats.cache_path)
    assert folder.name == f"bonsai_verifier.kernels.g1-{cache.source_digest(g1.__name__)}"


def test_captured_values_are_refused():
    """Numba names code after source lines: from a cache, one of two such functions would run as the other."""
    n = 3
    with pytest.raises(TypeError, match="sees globals only"):
        cache.inner(lambda x: x + n)


def test_decorators_set_the_promised_options():
    @cache.kernel
    def f(x):
        return x

    options = f.targetoptions
    assert isinstance(f, numba.core.dispatcher.Dispatcher)
    assert options["nogil"] is True
    assert options["error_model"] == "numpy"
    assert options["boundscheck"] is False

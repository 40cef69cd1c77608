"""What a killed writer leaves behind goes with the next write into its folder; what a live one is writing stays."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bonsai_circuits.artifacts import atomic
from bonsai_circuits.artifacts.atomic import write_atomic

NAME = ".data.0123456789abcdef.partial"
WRITER = """
import sys, time
from pathlib import Path
from bonsai_circuits.artifacts.atomic import write_atomic

def data():
    yield b"half"
    print("writing", flush=True)
    time.sleep(600)

write_atomic(Path(sys.argv[1]), data())
"""


@pytest.fixture(autouse=True)
def _new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder was looked through yet."""
    monkeypatch.setattr(atomic, "_swept", set())


def aged(path: Path) -> Path:
    """The file as if it had last been written an hour ago."""
    past = time.time() - 3600
    os.utime(path, (past, past))
    return path


def left_over(folder: Path, name: str = NAME) -> Path:
    path = folder / name
    path.write_bytes(b"half")
    return aged(path)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process in the middle of a write."""
    words = [sys.executable, "-c", WRITER, str(tmp_path / "data")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        yield process
        process.kill()


def test_leftovers_of_a_killed_writer_are_removed(tmp_path: Path, writer: subprocess.Popen[str]) -> None:
    (partial,) = map(aged, tmp_path.glob(".data.*.partial"))
    write_atomic(tmp_path / "other", b"whole")
    assert partial.exists()  # its writer lives and holds the lock
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    atomic._swept.clear()
    write_atomic(tmp_path / "other", b"whole")
    assert not partial.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_a_young_leftover_stays_for_its_writer_may_not_have_its_lock_yet(tmp_path: Path) -> None:
    young = tmp_path / NAME
    young.write_bytes(b"")
    write_atomic(tmp_path / "data", b"whole")
    assert young.exists()


@pytest.mark.parametrize("name", ["data.partial", ".data.partial", ".data.0123.partial", "x.0123456789abcdef.partial"])
def test_other_names_are_left_alone(tmp_path: Path, name: str) -> None:
    path = left_over(tmp_path, name)
    write_atomic(tmp_path / "data", b"whole")
    assert path.exists()


def test_what_is_no_plain_file_is_left_alone(tmp_path: Path) -> None:
    target = left_over(tmp_path, "precious")
    (tmp_path / NAME).symlink_to(target)
    (tmp_path / NAME.replace("data", "folder")).mkdir()
    write_atomic(tmp_path / "data", b"whole")
    assert len(list(tmp_path.glob(".*.partial"))) == 2
    assert target.exists()


def test_a_file_of_another_user_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = left_over(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    write_atomic(tmp_path / "data", b"whole")
    assert path.exists()


def test_without_locks_a_file_is_written_and_nothing_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = left_over(tmp_path)

    def no_locks(descriptor: int, operation: int) -> None:
        raise OSError("no locks available")

    for flock in (None, no_locks):
        monkeypatch.setattr(atomic, "_flock", flock)
        atomic._swept.clear()
        write_atomic(tmp_path / "data", b"whole")
        assert (tmp_path / "data").read_bytes() == b"whole"
        assert path.exists()

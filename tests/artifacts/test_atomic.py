"""What a killed writer leaves behind goes with the next write into its folder; what a live one is writing stays."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bonsai_circuits import pipeline
from bonsai_circuits.artifacts import atomic
from bonsai_circuits.artifacts.atomic import locked, write_atomic
from bonsai_circuits.errors import InputError
from bonsai_circuits.pipeline import write
from tests.support import compiled

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


# Links and locks -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_its_file_is_written(tmp_path: Path, there: bool) -> None:
    folder, link = tmp_path / "elsewhere", tmp_path / "link"
    folder.mkdir()
    target = folder / "target"
    if there:
        target.write_bytes(b"before")
    link.symlink_to(target)
    write_atomic(link, b"after")
    assert link.is_symlink()
    assert target.read_bytes() == b"after"
    assert not target.is_symlink()


def test_links_that_lead_nowhere_are_refused(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.symlink_to(second)
    second.symlink_to(first)
    with pytest.raises(InputError, match="link"):
        write_atomic(first, b"data")
    assert first.is_symlink()
    first.unlink()
    first.symlink_to(tmp_path / "no folder" / "file")
    with pytest.raises(InputError, match="is no folder"):
        write_atomic(first, b"data")


def may_lock(folder: Path, operation: int) -> bool:
    """Whether somebody else could."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def test_a_locked_folder_keeps_others_out(tmp_path: Path) -> None:
    with locked(tmp_path):
        assert not may_lock(tmp_path, fcntl.LOCK_SH)
    with locked(tmp_path, shared=True):
        assert may_lock(tmp_path, fcntl.LOCK_SH)
        assert not may_lock(tmp_path, fcntl.LOCK_EX)
    assert may_lock(tmp_path, fcntl.LOCK_EX)


def test_two_keys_are_written_and_read_as_a_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the files of a pair nobody else writes one, or reads."""
    write(tmp_path, compiled(lambda c, p, w: p.x.must_equal(w.a * w.a), "x"))
    seen: list[bool] = []
    original, read = pipeline.write_atomic, pipeline._read_key_file

    def written(path: Path, data: bytes) -> None:
        seen.append(may_lock(tmp_path, fcntl.LOCK_SH))
        original(path, data)

    def was_read(path: Path) -> bytes:
        seen.append(may_lock(tmp_path, fcntl.LOCK_EX))
        return read(path)

    monkeypatch.setattr(pipeline, "write_atomic", written)
    monkeypatch.setattr(pipeline, "_read_key_file", was_read)
    circuit = pipeline.Circuit.open(tmp_path)
    circuit.make_development_keys()
    circuit.proving_key()
    assert seen == [False, False]

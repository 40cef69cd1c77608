"""python -m bonsai_verifier."""

import io
import json
import os
import signal
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from bonsai_verifier import __main__ as command
from bonsai_verifier.search import DOES_NOT_HOLD
from tests.verifier.proofs import claim, curve_key, flipped


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    key_file, record_file = tmp_path / "key", tmp_path / "records"
    key_file.write_bytes(curve_key().vk_bytes)
    record_file.write_bytes(b"".join(x.to_bytes(32, "little") for x in claim(3).inputs) + claim(3).proof)
    return str(key_file), str(record_file)


def test_command_line_verifies(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([*files, files[1], "--allow-development"]) == command.VALID
    assert capsys.readouterr().out == "2 of 2 valid\n"


def test_command_line_names_the_bad(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    bad = Path(files[1]).with_name("bad")
    data = Path(files[1]).read_bytes()
    bad.write_bytes(data + flipped(data, 0) + data)
    assert command.main([*files, str(bad), "--allow-development"]) == command.BAD
    assert capsys.readouterr().out == f"{bad}[1]: {DOES_NOT_HOLD}\n3 of 4 valid\n"
    assert command.main([*files, "--allow-development", "--context", "11" * 32]) == command.BAD


def test_command_line_refuses_what_is_malformed(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    key_file, record_file = files
    empty, short = Path(record_file).with_name("empty"), Path(record_file).with_name("short")
    empty.write_bytes(b"")
    short.write_bytes(bytes(191))
    allow = "--allow-development"
    for arguments, message in (
        ([key_file, record_file], "allow_development"),
        ([record_file, record_file, allow], "vk: 192 bytes"),
        ([key_file, str(short), allow], "191 bytes"),
        ([key_file, str(empty), allow], "no records"),
        ([key_file, "/nonexistent/file", allow], "No such file"),
        (["/nonexistent/key", record_file, allow], "key: /nonexistent/key cannot be read"),
        ([key_file, record_file, allow, "--context", "11"], "context: 1 bytes"),
    ):
        assert command.main(arguments) == command.MALFORMED
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main([key_file, record_file, "--context", "zz"])
    assert "expected 64 hexadecimal digits" in capsys.readouterr().err
    with pytest.raises(SystemExit) as caught:
        command.main([])
    assert caught.value.code == command.MALFORMED


def test_command_line_reads_large_files_in_chunks(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small files together, large ones in parts; every bad record by its place in its file."""
    record = Path(files[1]).read_bytes()
    names = []
    for i, n in enumerate((1, 7, 2, 11)):
        path = Path(files[1]).with_name(f"{i}")
        path.write_bytes(flipped(record, 0) + record * (n - 2) + flipped(record, 64 + 127) if n > 1 else record)
        names.append(str(path))
    sizes: list[int] = []
    original = command.stream_verdicts

    def seen(vk: Any, chunks: Any, *args: Any, **named: Any) -> Any:
        def counted() -> Any:
            for chunk in chunks:
                sizes.append(len(chunk[0]))
                yield chunk

        return original(vk, counted(), *args, **named)

    monkeypatch.setattr(command, "stream_verdicts", seen)
    monkeypatch.setattr(command, "CHUNK", 4)
    monkeypatch.setattr("bonsai_verifier.stream.read_records.__kwdefaults__", {"rows": 4})
    assert command.main([files[0], *names, "--allow-development", "--threads", "2"]) == command.BAD
    lines = capsys.readouterr().out.splitlines()
    bad = [f"{name}[{at}]" for name, n in zip(names[1:], (7, 2, 11), strict=True) for at in (0, n - 1)]
    assert [line.partition(":")[0] for line in lines[:-1]] == bad
    assert lines[-1] == "15 of 21 valid"
    assert sum(sizes) == 21
    assert max(sizes) <= 7
    assert len(sizes) > 3


def test_command_line_speaks_json(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    bad = Path(files[1]).with_name("bad")
    bad.write_bytes(flipped(Path(files[1]).read_bytes(), 0))
    options = ["--allow-development", "--json"]
    assert command.main([*files, *options]) == command.VALID
    assert json.loads(capsys.readouterr().out) == {"valid": True, "n": 1, "bad": [], "undecided": []}
    assert command.main([*files, str(bad), *options, "--search-limit", "9"]) == command.BAD
    out = json.loads(capsys.readouterr().out)
    assert out == {
        "valid": False,
        "n": 2,
        "bad": [{"file": str(bad), "index": 0, "reason": DOES_NOT_HOLD}],
        "undecided": [],
    }
    assert command.main([files[0], str(bad.with_name("nothing")), *options]) == command.MALFORMED
    streams = capsys.readouterr()
    error = json.loads(streams.out)
    assert error["ok"] is False
    assert error["error"]["type"] == "FileNotFoundError"
    assert "No such file" in error["error"]["message"]
    assert streams.err.startswith("error: ")
    assert command.main([*files, "--json"]) == command.MALFORMED
    assert json.loads(capsys.readouterr().out)["error"]["field"] == "vk.flags"


def test_command_line_says_what_is_undecided(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    bad = Path(files[1]).with_name("bad")
    record = Path(files[1]).read_bytes()
    bad.write_bytes(flipped(record, 0) + record)
    options = ["--allow-development", "--search-limit", "0"]
    assert command.main([files[0], str(bad), *options]) == command.BAD
    assert capsys.readouterr().out == f"{bad}[0]: undecided\n{bad}[1]: undecided\n0 of 2 valid, 2 undecided\n"
    assert command.main([files[0], str(bad), *options, "--json"]) == command.BAD
    assert json.loads(capsys.readouterr().out)["undecided"] == [{"file": str(bad), "index": i} for i in range(2)]


@pytest.mark.parametrize(("option", "field"), [("--threads=-1", "threads"), ("--search-limit=-1", "search_limit")])
def test_command_line_refuses_options_that_are_none(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], option: str, field: str
) -> None:
    assert command.main([*files, "--allow-development", option]) == command.MALFORMED
    assert capsys.readouterr().err.startswith(f"error: {field}: ")


def test_progress_is_for_people_alone(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(command, "_PROGRESS_S", 0)
    assert command.main([*files, "--allow-development"]) == command.VALID
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert command.main([*files, "--allow-development"]) == command.VALID
    assert "\r1 proofs" in terminal.getvalue()
    assert capsys.readouterr().out == "1 of 1 valid\n"


def test_an_interrupt_has_its_exit_code(files: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object, **named: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # it is ignored where the tests run in the background
    monkeypatch.setattr(command, "stream_verdicts", interrupted)
    try:
        assert command.main([*files, "--allow-development"]) == command.INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_defect_is_no_verdict(
    files: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def out_of_memory(*args: object, **named: object) -> None:
        raise MemoryError("too much")

    monkeypatch.setattr(command, "stream_verdicts", out_of_memory)
    assert command.main([*files, "--allow-development"]) == command.INTERNAL
    streams = capsys.readouterr()
    assert streams.out == ""
    assert "please report it" in streams.err
    assert "Traceback" in streams.err
    assert command.main([*files, "--allow-development", "--json"]) == command.INTERNAL
    assert json.loads(capsys.readouterr().out)["error"] == {"type": "MemoryError", "field": "", "message": "too much"}


def test_a_reader_who_is_gone_is_an_error(files: tuple[str, str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    line = [sys.executable, "-m", "bonsai_verifier", *files, "--allow-development"]
    run = subprocess.run(line, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert run.returncode == command.MALFORMED
    assert run.stderr.startswith("error: stdout: ")
    assert run.stderr.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("redirected", [">/dev/full", ">&-", "--json >/dev/full", "--context 11 --json >/dev/full"])
def test_what_cannot_be_said_is_an_error(files: tuple[str, str], redirected: str) -> None:
    """Exit code 1 would say that a proof is bad."""
    line = f'"$0" -m bonsai_verifier "$@" --allow-development {redirected}'
    run = subprocess.run(["sh", "-c", line, sys.executable, *files], capture_output=True, text=True, check=False)
    assert run.returncode == command.MALFORMED
    assert run.stderr.startswith("error: stdout: ")
    assert run.stderr.count("\n") == 1
    run = subprocess.run(["sh", "-c", line + " 2>&-", sys.executable, *files], check=False)
    assert run.returncode == command.MALFORMED


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("word", ["--help", "--nothing"])
def test_help_and_usage_that_cannot_be_said_are_errors(files: tuple[str, str], word: str) -> None:
    line = '"$0" -m bonsai_verifier "$@" >/dev/full 2>/dev/full'
    run = subprocess.run(["sh", "-c", line, sys.executable, *files, word], check=False)
    assert run.returncode == command.MALFORMED


def test_a_name_that_stdout_has_no_characters_for_is_an_error(files: tuple[str, str]) -> None:
    bad = Path(files[1]).with_name("b\u00e4d")
    bad.write_bytes(flipped(Path(files[1]).read_bytes(), 0))
    run = subprocess.run(
        [sys.executable, "-m", "bonsai_verifier", files[0], str(bad), "--allow-development"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii:strict"},
        check=False,
    )
    assert run.returncode == command.MALFORMED
    assert run.stderr.startswith("error: stdout: ")


def test_the_verifier_is_installed_alone(files: tuple[str, str], tmp_path: Path) -> None:
    """In a fresh environment that has numpy and numba, and nothing of the toolkit, the wheel of verifier/ verifies."""
    root = Path(__file__).parents[2]
    home = tmp_path / "alone"
    wheels = tmp_path / "wheels"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    source = tmp_path / "verifier"
    subprocess.run(["cp", "-r", str(root / "verifier"), str(source)], check=True)
    build = ["wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(wheels), str(source)]
    subprocess.run([*pip, *build], check=True)
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    where = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    target = Path(where.stdout.strip())
    subprocess.run(
        [*pip, "install", "--no-deps", "--no-index", "--target", str(target), *wheels.glob("*.whl")], check=True
    )
    site = Path(pytest.__file__).parents[1]
    for name in ("numba", "llvmlite", "numpy", "numpy.libs"):
        if (site / name).exists():
            (target / name).symlink_to(site / name)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run = subprocess.run(
        [python, "-m", "bonsai_verifier", *files, "--allow-development"],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (command.VALID, "1 of 1 valid\n", "")
    others = subprocess.run(
        [python, "-c", "import bonsai_circuits"], capture_output=True, env=environment, cwd=tmp_path, check=False
    )
    assert others.returncode != 0

import io

import pytest
from rich.console import Console

from bonsai_circuits.cli import console
from bonsai_circuits.cli.console import steps


def drawn(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> str:
    """What a command of three steps writes on stderr."""
    file = io.StringIO()
    monkeypatch.setattr(console, "_stderr", Console(file=file, force_terminal=terminal, width=100))
    with steps(3) as progress:
        progress.start("witness")
        progress.next("rows")
        progress.next("verify")
        progress.done()
    return file.getvalue()


def test_every_step_is_shown_on_a_terminal_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    text = drawn(monkeypatch, terminal=True)
    assert "verify" in text
    assert "3/3" in text


def test_a_pipe_sees_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, terminal=False) == ""


def test_what_is_quoted_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    console.say("a\x1b[2Jb\u202ec\u2066d\x9be")
    assert capsys.readouterr().err == "a?[2Jb?c?d?e\n"

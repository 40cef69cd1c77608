"""What every command says and how it ends: results on stdout, everything else on stderr, errors as exit codes.

0 valid   1 a proof, witness or lint failed   2 usage, bad input, no output   3 internal   4 an outside tool is missing   130 interrupted
"""

import json
import re
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from bonsai_verifier.kernels.cache import cache_root, compilations

from ..errors import BonsaiError, ToolFailed, ToolMissing, Unsatisfied
from ..r1cs.diagnose import HIDDEN

EXIT_FAILED, EXIT_MALFORMED, EXIT_INTERNAL, EXIT_TOOL_MISSING, EXIT_INTERRUPTED = 1, 2, 3, 4, 130

VALUES_HIDDEN = "values are hidden because they may be secret"
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)  # and what turns text around


class NoOutputError(Exception):
    """What was found cannot be said: no verdict, whatever it was."""


class _Stderr(Console):
    def on_broken_pipe(self) -> None:
        """Not rich's own, which ends the process with exit code 1."""
        raise BrokenPipeError


_stderr = _Stderr(stderr=True, highlight=False)


def exit_code(error: BaseException) -> int:
    """The exit code that an error ends a command with."""
    match error:
        case Unsatisfied() | ToolFailed():
            return EXIT_FAILED
        case ToolMissing():
            return EXIT_TOOL_MISSING
        case BonsaiError() | OSError():  # of a file that the user named
            return EXIT_MALFORMED
        case KeyboardInterrupt():
            return EXIT_INTERRUPTED
        case _:
            return EXIT_INTERNAL


def say(text: str, style: str | None = None) -> None:
    """A line for a person, on stderr, if it can be written; control characters of whatever is quoted in it do not reach the terminal."""
    try:
        _stderr.print(_CONTROL.sub("?", text), style=style, markup=False, soft_wrap=True)
    except (OSError, ValueError):
        sys.stderr = None  # the interpreter flushes it at exit, and would fail again


def warn(text: str) -> None:
    say(f"warning: {text}", "yellow")


def fail(error: BaseException, as_json: bool) -> int:
    """Says what went wrong and gives the exit code; with --json the error is an object on stdout as well."""
    code = exit_code(error)
    if isinstance(error, BonsaiError):
        text = str(error)
    elif isinstance(error, OSError):
        text = str(error) if error.filename is None else f"{error.filename}: {error.strerror}"
    elif isinstance(error, KeyboardInterrupt):
        text = "interrupted; nothing is half written"
    else:
        text = f"internal error, please report it: {type(error).__name__}: {error}"
        say("".join(traceback.format_exception(error)), "dim")
    if as_json:
        field = error.field if isinstance(error, BonsaiError) else ""
        with suppress(NoOutputError):  # stderr and the exit code say it
            print_json({"ok": False, "error": {"type": type(error).__name__, "field": field, "message": text}})
    say(f"error: {text}", "red")
    if isinstance(error, Unsatisfied) and HIDDEN in text:
        say(f"{VALUES_HIDDEN}; `bonsai check --show-values` prints them")
    return code


def print_json(value: Any) -> None:
    """The result, as JSON on stdout.  Raises NoOutputError."""
    _put(json.dumps(value, indent=2))


def result(value: Any, text: str, as_json: bool) -> None:
    """The result of a command: JSON, or a text for a person, on stdout.  Raises NoOutputError."""
    if as_json:
        print_json(value)
    else:
        _put(text)


def _put(text: str) -> None:
    try:
        if sys.stdout is None:
            raise OSError("it is closed")
        click.echo(text)
    except (OSError, ValueError) as error:  # ValueError: closed, or a file's name that has no characters
        sys.stdout = None  # the interpreter flushes it at exit, and would fail again
        raise NoOutputError(f"stdout: {error}") from None


class Steps:
    """A progress bar that counts steps; where stderr is not a terminal, silent, or with `lines` a line for each step of several."""

    def __init__(self, progress: Progress, total: int, lines: bool) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=total)
        self._total, self._done = total, 0
        self._lines = lines and total > 1 and not _stderr.is_terminal

    def start(self, what: str) -> None:
        """Names the step that begins now."""
        self._progress.update(self._task, description=what)
        if self._lines:
            say(f"[{self._done + 1}/{self._total}] {what}")

    def next(self, what: str) -> None:
        """The step that was begun is done, and this one begins."""
        self.done()
        self.start(what)

    def done(self, n: int = 1) -> None:
        self._done += n
        self._progress.advance(self._task, n)


@contextmanager
def steps(total: int, lines: bool = False) -> Iterator[Steps]:
    """Progress over `total` steps on stderr; says afterwards if kernels had to be compiled.

    lines: of a command that may take minutes, also into a pipe or a log.
    """
    before, began = compilations().compiled, time.perf_counter()
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=_stderr, transient=True, disable=not _stderr.is_terminal) as progress:
        yield Steps(progress, total, lines)
    if (compiled := compilations().compiled - before) and _stderr.is_terminal:
        seconds = time.perf_counter() - began
        say(
            f"first use: compiled {compiled} kernels in this run of {seconds:.1f} s; kept in {cache_root()} for the next",
            "dim",
        )

"""python -m bonsai_verifier KEY FILE...: verifies all proofs of the files, of any size, in bounded memory.

A file is records back to back, each the public inputs of a proof, 32 bytes each, and the proof, 128 bytes.
Exit code: 0 all valid, 1 a bad or undecided proof, 2 malformed input or usage, or an output that cannot be written, 3 a defect of this
program, 130 interrupted.
"""

import argparse
import bisect
import json
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from .batch import NO_CONTEXT, Verdict
from .errors import BonsaiError, InputError
from .stream import CHUNK, Chunk, read_records, record_bytes, rows_at_once, stream_verdicts
from .wire import decode_verifying_key

VALID, BAD, MALFORMED, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 130
_PROGRESS_S = 0.2  # from one line of progress to the next


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code; one line for each bad proof as it is found, and one for all, on stdout; with --json one object instead."""
    try:
        code = _answered(_parser().parse_args(arguments))
        _put("", flush=True)
    except KeyboardInterrupt:
        return INTERRUPTED
    except _NoOutputError as error:
        _complain(str(error))
        return MALFORMED
    return code


def _answered(args: argparse.Namespace) -> int:
    try:
        report = _verified(args)
    except _NoOutputError:
        raise
    except Exception as error:  # the interpreter's own exit code for it, 1, would be a verdict
        if args.json:
            about = {"type": type(error).__name__, "field": getattr(error, "field", ""), "message": str(error)}
            _put_json({"ok": False, "error": about})
        if isinstance(error, BonsaiError | OSError):
            _complain(str(error))
            return MALFORMED
        _complain("internal error, please report it\n" + "".join(traceback.format_exception(error)))
        return INTERNAL
    report.end()
    return BAD if report.n_bad or report.n_undecided else VALID


class _Parser(argparse.ArgumentParser):
    """Says help and usage as everything else is said."""

    def print_help(self, file: object = None) -> None:
        _put(self.format_help(), flush=True)

    def error(self, message: str) -> NoReturn:
        _complain(f"{message}\n{self.format_usage().rstrip()}")
        raise SystemExit(MALFORMED)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m bonsai_verifier", description=(__doc__ or "").partition("\n")[2])
    parser.add_argument("key", type=Path, help="verifying key, 296 bytes")
    parser.add_argument("files", type=Path, nargs="+", help="records: public inputs, 32 bytes each, then the proof")
    parser.add_argument("--context", type=_context, default=NO_CONTEXT, help="64 hex digits (default: zeros)")
    parser.add_argument("--allow-development", action="store_true", help="accept a key of the development setup")
    parser.add_argument("--threads", type=int, default=1, help="0 for one a core (default: 1)")
    parser.add_argument(
        "--search-limit",
        type=float,
        metavar="X",
        help=f"spend at most X times the cost of {CHUNK:,} good proofs on finding the bad ones among as many (default: find all)",
    )
    parser.add_argument("--json", action="store_true", help="one object on stdout")
    return parser


def _context(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected {2 * len(NO_CONTEXT)} hexadecimal digits") from None


def _read_key(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError("key", f"{path} cannot be read ({error.strerror}); name the file of a verifying key") from None


def _verified(args: argparse.Namespace) -> "_Report":
    vk = decode_verifying_key(_read_key(args.key), allow_development=args.allow_development)
    report = _Report(args.json)
    verdicts = stream_verdicts(
        vk,
        _chunks(args.files, vk.n_public, report),
        args.context,
        threads=args.threads,
        search_limit=args.search_limit,
    )
    for verdict in verdicts:
        report.add(verdict)
    if not report.n:
        raise InputError("files", "no records: nothing to verify")
    return report


def _chunks(paths: list[Path], n_public: int, report: "_Report") -> Iterator[Chunk]:
    """The records of all files, those of small ones together."""
    waiting: list[Any] = []
    n, most = 0, rows_at_once(record_bytes(n_public), CHUNK)
    for path in paths:
        report.begin(path)
        for chunk in read_records(path, n_public):
            waiting.append(chunk)
            report.n_read += len(chunk[0])
            n += len(chunk[0])
            if n >= most:
                yield chunk if len(waiting) == 1 else _joined(waiting)
                n, waiting = 0, []
    if waiting:
        yield _joined(waiting)


def _joined(chunks: list[Any]) -> Chunk:
    proofs, inputs = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
    return proofs, inputs


class _Report:
    """What is said while verdicts come in, and in the end."""

    def __init__(self, as_json: bool) -> None:
        self.n_read = self.n = self.n_bad = self.n_undecided = 0
        self._as_json = as_json
        self._files: list[Path] = []
        self._first: list[int] = []  # index of a file's first record
        self._bad: list[dict[str, object]] = []
        self._undecided: list[dict[str, object]] = []
        self._progress = sys.stderr is not None and sys.stderr.isatty()
        self._shown = time.monotonic()

    def begin(self, path: Path) -> None:
        self._files.append(path)
        self._first.append(self.n_read)

    def add(self, verdict: Verdict) -> None:
        self.n += verdict.n
        self.n_bad += len(verdict.bad)
        self.n_undecided += len(verdict.undecided)
        for bad in verdict.bad:
            file, at = self._place(bad.index)
            if self._as_json:
                self._bad.append({"file": str(file), "index": at, "reason": bad.reason})
            else:
                self._put(f"{file}[{at}]: {bad.reason}")
        for index in verdict.undecided:
            file, at = self._place(index)
            if self._as_json:
                self._undecided.append({"file": str(file), "index": at})
            else:
                self._put(f"{file}[{at}]: undecided")
        if self._progress and time.monotonic() - self._shown > _PROGRESS_S:
            self._shown = time.monotonic()
            sys.stderr.write(f"\r{self.n:,} proofs")
            sys.stderr.flush()

    def end(self) -> None:
        if self._as_json:
            valid = not self.n_bad and not self.n_undecided
            _put_json({"valid": valid, "n": self.n, "bad": self._bad, "undecided": self._undecided})
        else:
            undecided = f", {self.n_undecided} undecided" if self.n_undecided else ""
            self._put(f"{self.n - self.n_bad - self.n_undecided} of {self.n} valid{undecided}")

    def _place(self, index: int) -> tuple[Path, int]:
        i = bisect.bisect_right(self._first, index) - 1
        return self._files[i], index - self._first[i]

    def _put(self, line: str) -> None:
        if self._progress:
            sys.stderr.write("\r\x1b[K")  # the line of progress
            sys.stderr.flush()
        _put(line + "\n")


# Output ----------------------------------------------------------------------------------------------------------------------


class _NoOutputError(Exception):
    """What was found cannot be said."""


def _put(text: str, *, flush: bool = False) -> None:
    try:
        if sys.stdout is None:
            raise OSError("it is closed")
        sys.stdout.write(text)
        if flush:
            sys.stdout.flush()
    except (OSError, ValueError) as error:  # ValueError: closed, or a file's name that has no characters
        sys.stdout = None  # the interpreter flushes it at exit, and would fail again
        raise _NoOutputError(f"stdout: {error}; nothing is said of the proofs") from None


def _put_json(value: dict[str, object]) -> None:
    _put(json.dumps(value, indent=2) + "\n", flush=True)


def _complain(message: str) -> None:
    try:
        if sys.stderr is not None:
            sys.stderr.write(f"error: {message}\n")
            sys.stderr.flush()
    except (OSError, ValueError):  # then the exit code says it alone
        sys.stderr = None


if __name__ == "__main__":
    sys.exit(main())

"""Programs of the node.js world: found in the nearest node_modules folder, run without a shell, with a time limit."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..errors import ToolFailed, ToolMissing

_LAST_LINES = 20
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_INSTALL = "run `make setup` (it runs `npm ci` at the root of the repository)"


def find_node() -> Path:
    """The node interpreter.  Raises ToolMissing."""
    node = shutil.which("node")
    if node is None:
        raise ToolMissing("node", f"not on the PATH: install Node.js 20 or later, then {_INSTALL}")
    return Path(node)


def find_tool(name: str) -> Path:
    """A command of node_modules/.bin: above this package first, then above the working directory.

    Raises ToolMissing: no such folder has it; the message names the command that installs it.
    """
    here = Path.cwd()
    for folder in (*Path(__file__).resolve().parents, here, *here.parents):
        tool = folder / "node_modules" / ".bin" / name
        if tool.exists():
            return tool.resolve()
    raise ToolMissing(name, f"not in node_modules/.bin of {here} or of a folder above it: {_INSTALL}")


def run_tool(
    name: str, arguments: Sequence[str], cwd: Path, timeout: float, stdin: str = "", failures: Sequence[int] = ()
) -> tuple[int, str]:
    """Exit status and output of `node arguments...`; `failures` are non-zero statuses that are answers, not errors.

    Raises ToolFailed: another status, or the time limit; the message ends with the last lines of the output.
    """
    command = [str(find_node()), *arguments]
    try:
        done = subprocess.run(
            command, cwd=cwd, input=stdin, capture_output=True, encoding="utf-8", timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        raise ToolFailed(name, f"still running after {timeout:g} s, stopped") from None
    if done.returncode and done.returncode not in failures:
        lines = last_lines(done.stdout + done.stderr)
        raise ToolFailed(name, f"exit status {done.returncode}\n{lines}")
    return done.returncode, _COLOURS.sub("", done.stdout)


def last_lines(output: str) -> str:
    """The end of a program's output, without colours."""
    return "\n".join(_COLOURS.sub("", output).strip().splitlines()[-_LAST_LINES:])

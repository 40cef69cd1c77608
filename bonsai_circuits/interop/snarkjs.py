"""snarkjs, as a second opinion on our files."""

import re
from dataclasses import dataclass
from pathlib import Path

from ..errors import ToolFailed
from .node import find_tool, last_lines, run_tool

SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class R1CSInfo:
    """What `snarkjs r1cs info` reads in a file."""

    curve: str
    n_wires: int
    n_rows: int
    n_private_inputs: int
    n_public_inputs: int
    n_labels: int
    n_outputs: int


_LINES = {
    "curve": "Curve",
    "n_wires": "# of Wires",
    "n_rows": "# of Constraints",
    "n_private_inputs": "# of Private Inputs",
    "n_public_inputs": "# of Public Inputs",
    "n_labels": "# of Labels",
    "n_outputs": "# of Outputs",
}


def r1cs_info(r1cs: Path, timeout: float = SECONDS) -> R1CSInfo:
    """The counts of a constraint file.  Raises ToolMissing, ToolFailed."""
    _, output = _snarkjs(("r1cs", "info", str(r1cs.resolve())), timeout)
    found = {name: re.search(rf"{re.escape(text)}: (\S+)\s*$", output, re.MULTILINE) for name, text in _LINES.items()}
    texts = {name: match[1] for name, match in found.items() if match is not None}
    if len(texts) != len(_LINES):
        raise ToolFailed("snarkjs", f"unexpected output\n{last_lines(output)}")
    counts = {name: int(text) for name, text in texts.items() if name != "curve"}
    return R1CSInfo(curve=texts["curve"], **counts)


def wtns_check(r1cs: Path, wtns: Path, timeout: float = SECONDS) -> bool:
    """Whether the witness satisfies the constraints.  Raises ToolMissing, ToolFailed (files it cannot read)."""
    status, output = _snarkjs(("wtns", "check", str(r1cs.resolve()), str(wtns.resolve())), timeout, failures=(1,))
    if status == 0 and "WITNESS IS CORRECT" in output:
        return True
    if status == 1 and "WITNESS IS NOT CORRECT" in output:
        return False
    raise ToolFailed("snarkjs", f"exit status {status} without a verdict\n{last_lines(output)}")


def _snarkjs(arguments: tuple[str, ...], timeout: float, failures: tuple[int, ...] = ()) -> tuple[int, str]:
    return run_tool("snarkjs", (str(find_tool("snarkjs")), *arguments), Path.cwd(), timeout, failures=failures)

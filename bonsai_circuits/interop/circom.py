"""The circom 2 compiler and the witness calculators it writes."""

import contextlib
import json
import os
import shutil
import tempfile
import time
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.parameters import FR_MODULUS

from ..errors import InputError, ToolFailed
from .iden3 import CURVE
from .node import find_tool, run_tool
from .wtns_file import decode_wtns, write_wtns

Value: TypeAlias = "int | Sequence[Value]"

COMPILE_SECONDS = 600.0
WITNESS_SECONDS = 300.0
_CALCULATOR = "witness_calculator.js"
_SCRATCH = ".circom-"

# Reads a list of inputs, writes a list of {wtns: base64}, of {values: base64} if it is told how many wires are asked for, or of
# {error: text}. The program's own log must not mix with it.
_BATCH = """
const [calculator, wasm, wires] = process.argv.slice(1);
console.log = console.error;
const fs = require("fs"), build = require(calculator), code = fs.readFileSync(wasm);
(async () => {
  const results = [];
  for (const inputs of JSON.parse(fs.readFileSync(0, "utf8"))) {
    try {
      const circuit = await build(code);
      if (wires) {
        const values = Buffer.from(await circuit.calculateBinWitness(inputs, 1)).subarray(0, 32 * wires);
        results.push({ values: values.toString("base64") });
      } else {
        results.push({ wtns: Buffer.from(await circuit.calculateWTNSBin(inputs, 1)).toString("base64") });
      }
    } catch (error) {
      results.push({ error: String(error.message ?? error) });
    }
  }
  fs.writeFileSync(1, JSON.stringify(results));
})();
"""


@dataclass(frozen=True, slots=True)
class CompiledCircom:
    """What the compiler wrote: constraints, names, and the witness calculator's program beside its loader."""

    r1cs: Path
    sym: Path
    wasm: Path

    @classmethod
    def of(cls, name: str, out_dir: Path) -> "CompiledCircom":
        """Where the files of the program `name` lie, compiled or not."""
        return cls(out_dir / f"{name}.r1cs", out_dir / f"{name}.sym", out_dir / f"{name}_js" / f"{name}.wasm")

    def files(self) -> tuple[Path, ...]:
        """All that the compiler writes.  The constraints are put in place last: where they are, the others are too."""
        return self.wasm.with_name(_CALCULATOR), self.wasm, self.sym, self.r1cs


def compile_circom(
    source: Path,
    out_dir: Path,
    simplify: int = 2,
    includes: Sequence[Path] = (),
    timeout: float = COMPILE_SECONDS,
) -> CompiledCircom:
    """Compiles a program over our prime; simplify 0, 1, 2 as circom's --O0 (every signal keeps a wire), --O1, --O2.

    In: `includes`, further folders with files to be included. The compiler runs in a sandbox: it sees the folder that
    holds source, output and includes, and nothing above it, whatever paths the program writes.
    Raises ToolMissing, ToolFailed (with the compiler's message); then no file in out_dir is new.
    """
    if simplify not in (0, 1, 2):
        raise InputError("simplify", f"{simplify} is not 0, 1 or 2")
    source, out_dir = source.resolve(), out_dir.resolve()
    if not source.is_file():
        raise InputError("source", f"no file {source}")
    compiler = find_tool("circom2")
    out_dir.mkdir(parents=True, exist_ok=True)
    _remove_stale(out_dir, timeout)
    includes = [folder.resolve() for folder in includes]
    root = Path(os.path.commonpath([source.parent, out_dir, *includes]))
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=out_dir) as scratch:
        fresh = Path(scratch)
        options = ["--r1cs", "--wasm", "--sym", "--prime", CURVE, f"--O{simplify}"]
        paths = [str(source.relative_to(root)), "-o", str(fresh.relative_to(root))]
        for folder in includes:
            paths += ["-l", str(folder.relative_to(root))]
        run_tool("circom2", [str(compiler), *options, *paths], root, timeout)
        made = CompiledCircom.of(source.stem, out_dir)
        written = CompiledCircom.of(source.stem, fresh).files()
        for file in written:
            if not file.is_file():
                raise ToolFailed("circom2", f"did not write {file.name}")
        made.wasm.parent.mkdir(exist_ok=True)
        for file, place in zip(written, made.files(), strict=True):
            file.replace(place)
    return made


def _remove_stale(out_dir: Path, timeout: float) -> None:
    """Removes what compilers of killed processes left: none has a folder for longer than its time."""
    for folder in out_dir.glob(f"{_SCRATCH}*"):
        with contextlib.suppress(OSError):  # another process was faster
            if time.time() - folder.stat().st_mtime > 2 * max(timeout, COMPILE_SECONDS):
                shutil.rmtree(folder, ignore_errors=True)


def calculate_witness(
    wasm: Path, inputs: Mapping[str, Value], wtns: Path, timeout: float = WITNESS_SECONDS
) -> NDArray[np.uint64]:
    """The values of all wires, (n, 4) canonical, written to a .wtns file as well.

    Raises ToolFailed: the inputs do not satisfy the program (the message names the template and the line), or a name
    is unknown or missing; InputError: a value that is not in [0, r).
    """
    (result,) = calculate_witnesses(wasm, (inputs,), timeout)
    if isinstance(result, ToolFailed):
        raise result
    write_wtns(wtns, result)
    return result


def calculate_witnesses(
    wasm: Path, batch: Iterable[Mapping[str, Value]], timeout: float = WITNESS_SECONDS, n_wires: int | None = None
) -> list[NDArray[np.uint64] | ToolFailed]:
    """As calculate_witness, many in one process and nothing written: per inputs the values, or the failure.

    In: n_wires, if no more than the first so many wires are asked for, the constant being the first and the public ones next.  Of a large
    program all values of a few dozen witnesses are more than node can hand over.
    """
    wasm = wasm.resolve()
    if n_wires is not None and n_wires < 1:
        raise InputError("n_wires", f"{n_wires} is not positive; None asks for all wires")
    stdin = json.dumps([{name: _decimal(value, name) for name, value in inputs.items()} for inputs in batch])
    limit = "" if n_wires is None else str(n_wires)
    arguments = ["-e", _BATCH, str(wasm.with_name(_CALCULATOR)), str(wasm), limit]
    _, output = run_tool("witness calculator", arguments, wasm.parent, timeout, stdin)
    return [_decoded(result) for result in json.loads(output)]


def _decoded(result: Mapping[str, str]) -> NDArray[np.uint64] | ToolFailed:
    if "error" in result:
        return ToolFailed("witness", result["error"].strip())
    if "wtns" in result:
        return decode_wtns(b64decode(result["wtns"]))
    return np.frombuffer(b64decode(result["values"]), "<u8").astype(np.uint64).reshape(-1, 4)


def _decimal(value: Value, name: str) -> str | list[object]:
    if not isinstance(value, int):
        return [_decimal(item, f"{name}[{i}]") for i, item in enumerate(value)]
    if not 0 <= value < FR_MODULUS:
        raise InputError(name, "not in [0, r)")
    return str(value)

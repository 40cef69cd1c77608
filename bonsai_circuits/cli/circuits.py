"""bonsai compile."""

from pathlib import Path

import click

from ..artifacts.atomic import write_atomic
from ..errors import InputError
from ..interop.circom import CompiledCircom, compile_circom
from ..interop.circom_templates import has_program, render, simplification
from ..interop.r1cs_file import write_r1cs
from ..interop.sym_file import write_sym
from ..pipeline import Circuit, build, is_current, write
from ..relations.builtin import BUILT_IN, BuiltIn
from ..report.lock import check_lock, lock_entry, read_lock, write_lock
from .console import result, steps
from .options import built_in_or_folder, circuit_options

_INTEROP = {"iden3 r1cs": "circuit.r1cs", "iden3 sym": "circuit.sym"}


@click.command("compile")
@circuit_options(required=False)
@click.option("--force", is_flag=True, help="Compile even if the folder is up to date.")
@click.option("--circom/--no-circom", default=True, help="Compile the circom twin as well (needs `make setup`).")
@click.option("--update-lock", is_flag=True, help="Write counts and digests to LOCK.json instead of checking them.")
def compile_command(
    circuit: str | None,
    hash_name: str,
    tree: str,
    compiled: Path,
    as_json: bool,
    force: bool,
    circom: bool,
    update_lock: bool,
) -> None:
    """Compile CIRCUIT, or every built-in circuit, into its folder: systems, tape, .r1cs, .sym, and its circom twin, where there is one."""
    if circuit is None:
        chosen = BUILT_IN
    else:
        found, folder = built_in_or_folder(circuit, hash_name, tree, compiled)
        if found is None:
            raise InputError("circuit", f"{folder} is compiled already; name a built-in circuit to compile it anew")
        chosen = (found,)
    done, locked = [], (read_lock(compiled) or {}) if update_lock else {}
    n_steps = len(chosen) + sum(circom and has_program(one.name) for one in chosen)
    with steps(n_steps, lines=True) as progress:
        for one in chosen:
            folder = compiled / one.name
            fresh = force or not is_current(folder)
            progress.start(f"{one.name}: {'rows, lowering, tape' if fresh else 'up to date'}")
            if fresh:
                _compile(one, folder)
            progress.done()
            if circom and has_program(one.name):
                progress.start(f"{one.name}: circom twin")
                _compile_twin(one, folder, fresh)
                progress.done()
            locked[one.name] = entry = lock_entry(Circuit.open(folder))
            if not update_lock:
                check_lock(compiled, one.name, entry)
            done.append({**entry, "folder": str(folder), "compiled": fresh})
    if update_lock:
        write_lock(compiled, locked)
    lines = [f"{entry['folder']}: {'compiled' if entry['compiled'] else 'up to date'}" for entry in done]
    result(done, "\n".join(lines), as_json)


def _compile(circuit: BuiltIn, folder: Path) -> None:
    compiled = build(circuit)
    folder.mkdir(parents=True, exist_ok=True)
    write_r1cs(folder / _INTEROP["iden3 r1cs"], compiled.r1cs)
    write_sym(folder / _INTEROP["iden3 sym"], [name.replace("/", ".") for name in compiled.r1cs.wire_names])
    write(folder, compiled, _INTEROP)


def _compile_twin(circuit: BuiltIn, folder: Path, fresh: bool) -> None:
    """Renders and compiles the circom twin, unless it is there and its program is still the same."""
    out = folder / "circom"
    program = {out / name: text for name, text in render(circuit.name).items()}
    current = all(path.is_file() and path.read_text() == text for path, text in program.items())
    made = CompiledCircom.of(circuit.name, out)
    if current and not fresh and all(file.is_file() for file in made.files()):
        return
    out.mkdir(exist_ok=True)
    made.r1cs.unlink(missing_ok=True)  # it is current again when the compiler has written it anew, after all the others
    for path, text in program.items():
        write_atomic(path, text.encode())
    compile_circom(out / f"{circuit.name}.circom", out, simplification(circuit.name))

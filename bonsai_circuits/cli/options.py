"""The options that commands share: which circuit, where its folder is, JSON or text."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ..errors import InputError
from ..pipeline import FILES, Circuit
from ..relations.builtin import BUILT_IN, BuiltIn, built_in

HASHES = ("poseidon", "pedersen")
TREES = ("wide", "classic")
COMPILED = Path("compiled")
F = TypeVar("F", bound=Callable[..., Any])

_hash = click.option("--hash", "hash_name", type=click.Choice(HASHES), default="poseidon", show_default=True)
_tree = click.option("--tree", type=click.Choice(TREES), default="wide", show_default=True, help="Shape of the trees.")
compiled_option = click.option(
    "--compiled",
    type=click.Path(file_okay=False, path_type=Path),
    default=COMPILED,
    show_default=True,
    envvar="BONSAI_COMPILED",
    help="Folder of the compiled circuits.",
)
threads_option = click.option("--threads", default=1, show_default=True, help="How many threads; 0: one for each core.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on stdout.")


def circuit_options(required: bool = True) -> Callable[[F], F]:
    """CIRCUIT --hash --tree --compiled --json: a built-in name, or a circuit's folder."""

    def wrap(command: F) -> F:
        command = json_option(compiled_option(_tree(_hash(command))))
        return click.argument("circuit", required=required)(command)

    return wrap


def built_in_or_folder(circuit: str, hash_name: str, tree: str, compiled: Path) -> tuple[BuiltIn | None, Path]:
    """The built-in circuit that the words name, if any, and its folder.  A folder with a built-in's name wants a separator.

    Raises InputError.
    """
    folder, names = Path(circuit), {name for known in BUILT_IN for name in (known.relation, known.name)}
    if (folder.name != circuit or circuit not in names) and (folder / FILES["circuit"]).is_file():  # ./send, never send
        return None, folder
    found = built_in(circuit, hash_name, tree)
    return found, compiled / found.name


def open_circuit(circuit: str, hash_name: str, tree: str, compiled: Path) -> Circuit:
    """The compiled circuit that the words name.  Raises InputError: not compiled yet, with the command that does it."""
    found, folder = built_in_or_folder(circuit, hash_name, tree, compiled)
    if found is not None and not folder.is_dir():
        elsewhere = f" --compiled {compiled}" if compiled != COMPILED else ""
        command = f"bonsai compile {found.relation} --hash {found.hash}{elsewhere}"
        raise InputError("circuit", f"{found.name} is not compiled in {compiled}; run `{command}`")
    return Circuit.open(folder)

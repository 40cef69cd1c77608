"""LOCK.json: counts and digest of every built-in circuit, kept in version control, so that a change shows in review."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..artifacts.atomic import write_atomic
from ..artifacts.json_object import parse_json
from ..errors import CircuitMismatch, FileDamaged
from ..pipeline import Circuit

LOCK = "LOCK.json"


def lock_entry(circuit: Circuit) -> dict[str, Any]:
    """What the lock holds of one circuit: its counts and the digest of its square system."""
    return {**circuit.counts(), "digest": circuit.about.digest.hex()}


def read_lock(compiled: Path) -> dict[str, dict[str, Any]] | None:
    """The lock of a folder of circuits by name, None where there is none.  Raises FileDamaged."""
    path = compiled / LOCK
    try:
        return parse_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as e:
        raise FileDamaged(
            str(path), f"is not a lock: {e}; restore it, or write it with `bonsai compile --update-lock`"
        ) from e


def write_lock(compiled: Path, entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Writes the lock: sorted text, one value a line."""
    write_atomic(compiled / LOCK, (json.dumps(entries, indent=2, sort_keys=True) + "\n").encode())


def check_lock(compiled: Path, name: str, entry: Mapping[str, Any]) -> None:
    """Raises CircuitMismatch: the lock has this circuit with other counts or another digest; the first difference is named."""
    locked = (read_lock(compiled) or {}).get(name)
    if locked is None:
        return
    for key, value in entry.items():
        if locked.get(key) != value:
            raise CircuitMismatch(
                f"{compiled / LOCK}: {name}",
                f"{key} is {value}, locked {locked.get(key)}; if the change is meant, run `bonsai compile --update-lock`",
            )

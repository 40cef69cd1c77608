"""Timing and reporting for every benchmark: medians over interleaved rounds, the machine, one JSON file a benchmark."""

import json
import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent / "out"
_CORES = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def one_core() -> None:
    """Pins this process, and the threads that a peer may start, to one core where the system can."""
    os.environ.update(RAYON_NUM_THREADS="1", NUMBA_NUM_THREADS="1")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


@contextmanager
def all_cores() -> Iterator[None]:
    """The cores that this process began with, inside the block."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    now = os.sched_getaffinity(0)
    os.sched_setaffinity(0, _CORES)
    try:
        yield
    finally:
        os.sched_setaffinity(0, now)


def turns(asked: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The median of what each call says that it took, after one call to warm up; the calls take turns."""
    said: dict[str, list[float]] = {name: [] for name in asked}
    for call in asked.values():
        call()
    for _ in range(rounds):
        for name, call in asked.items():
            said[name].append(call())
    return {name: statistics.median(values) for name, values in said.items()}


def medians(calls: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each call, after one call to warm up; the calls take turns, so that a slow phase hits all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - began)
    return {name: statistics.median(values) for name, values in seconds.items()}


def peak_mib() -> float:
    """The most memory that this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def machine() -> dict[str, str]:
    """What the figures come from."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        names = [
            line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    return {"cpu": model, "system": f"{platform.system()} {platform.machine()}", "python": platform.python_version()}


def report(
    name: str,
    figures: Mapping[str, Any],
    details: Mapping[str, Any],
    rows: Mapping[str, Mapping[str, float]] | None = None,
    cores: str = "one core",
) -> None:
    """Prints the figures and writes benchmarks/out/<name>.json.  rows: {row: {column: figure}}, one table."""
    value = {"machine": machine(), "figures": dict(figures), "details": dict(details)}
    if rows:
        value["rows"] = {row: dict(columns) for row, columns in rows.items()}
    OUT.mkdir(exist_ok=True)
    path = OUT / f"{name}.json"
    path.write_text(json.dumps(value, indent=2) + "\n")
    print(f"{name} on {value['machine']['cpu']}, {cores}")
    for line in _table(rows or {}):
        print(f"  {line}")
    for key, figure in {**figures, **details}.items():
        print(f"  {key:40} {figure:.4g}" if isinstance(figure, float) else f"  {key:40} {figure}")
    print(f"  written to {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")


def _table(rows: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Lines of columns, flush right; a figure that a row has not stays blank."""
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    first = max(map(len, rows), default=0)
    titles = "  ".join([" " * first, *columns])
    lines = [
        "  ".join(
            [row.ljust(first), *(f"{rows[row][c]:{len(c)}.4g}" if c in rows[row] else " " * len(c) for c in columns)]
        )
        for row in rows
    ]
    return [titles, *lines] if rows else []

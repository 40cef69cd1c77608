"""Runs the named benchmarks; without a name those that take seconds."""

import importlib
import sys

from .measure import one_core

SHORT = ("send",)
NAMES = (*SHORT, "circuits", "kernels", "batch", "prover", "trees")


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    one_core()
    for name in names or SHORT:
        importlib.import_module(f".{name}", __package__).main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

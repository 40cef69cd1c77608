"""bonsai: the command line of the toolkit."""

import sys
from collections.abc import Sequence

import click

from . import circuits, keys, proving, reports, verifying
from .console import fail

VERSION_PACKAGE = "bonsai-circuits"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=VERSION_PACKAGE)
def bonsai() -> None:
    """Circuits, proofs and batch verification for private payments.

    CIRCUIT is a built-in name (send) with --hash and --tree, or the folder of a compiled circuit.

    Exit codes: 0 valid, 1 a proof, witness or lint failed, 2 usage or malformed input, 3 internal error, 4 an outside tool is missing.
    """


for command in (
    circuits.compile_command,
    reports.count,
    reports.profile,
    reports.lint_command,
    keys.setup,
    proving.witness,
    proving.check,
    proving.prove,
    verifying.verify,
    verifying.batch_verify,
):
    bonsai.add_command(command)


def run(words: Sequence[str]) -> int:
    """Runs one command and gives its exit code."""
    try:
        code = bonsai.main(list(words), prog_name="bonsai", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.ClickException as e:
        e.show()
        return e.exit_code
    except (click.Abort, KeyboardInterrupt):
        return fail(KeyboardInterrupt(), "--json" in words)
    except Exception as e:
        return fail(e, "--json" in words)


def main() -> None:
    """The console script."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()

"""bonsai: the command line of the toolkit."""

import contextlib
import sys
from collections.abc import Sequence

import click

from ..errors import InputError
from . import circuits, keys, proving, reports, trees, verifying
from .console import EXIT_MALFORMED, NoOutputError, fail, say

VERSION_PACKAGE = "bonsai-circuits"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=VERSION_PACKAGE)
def bonsai() -> None:
    """Circuits, proofs and batch verification for private payments.

    CIRCUIT is a built-in name (send, recv or op) with --hash and --tree, or the folder of a compiled circuit (./mine).

    Exit codes: 0 valid, 1 a proof, witness or lint failed, 2 usage, bad input or no output, 3 internal error, 4 an outside tool is missing.
    """


for command in (
    circuits.compile_command,
    reports.inputs,
    reports.count,
    reports.profile,
    reports.lint_command,
    keys.setup,
    proving.witness,
    proving.check,
    proving.prove,
    verifying.verify,
    verifying.batch_verify,
    verifying.export_records,
    trees.tree,
):
    bonsai.add_command(command)


def run(words: Sequence[str]) -> int:
    """Runs one command and gives its exit code."""
    try:
        code = bonsai.main(list(words), prog_name="bonsai", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.ClickException as e:
        if "--json" in words:
            return fail(InputError(type(e).__name__, e.format_message()), as_json=True)
        with contextlib.suppress(OSError, ValueError):  # then the exit code says it alone
            e.show()
        return e.exit_code
    except NoOutputError as e:
        say(f"error: {e}", "red")
        return EXIT_MALFORMED
    except SystemExit:  # click's own, where nobody reads its help
        return EXIT_MALFORMED
    except (click.Abort, KeyboardInterrupt):
        return fail(KeyboardInterrupt(), "--json" in words)
    except Exception as e:
        return fail(e, "--json" in words)


def main() -> None:
    """The console script."""
    code = run(sys.argv[1:])
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        sys.stdout, code = None, EXIT_MALFORMED
    sys.exit(code)


if __name__ == "__main__":
    main()

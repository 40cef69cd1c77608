"""python -m bonsai_verifier KEY FILE...: verifies all proofs of the files as one batch.

A file is records back to back, each the public inputs of a proof, 32 bytes each, and the proof, 128 bytes.
Exit code: 0 all valid, 1 a bad proof, 2 malformed input or usage.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .batch import NO_CONTEXT, verify_batch
from .errors import BonsaiError, InputError, WireError
from .parameters import PROOF_BYTES, SCALAR_BYTES
from .wire import decode_verifying_key

VALID, BAD, MALFORMED = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code; one line for each bad proof, and one for the batch, on stdout."""
    parser = argparse.ArgumentParser(prog="python -m bonsai_verifier", description=(__doc__ or "").partition("\n")[2])
    parser.add_argument("key", type=Path, help="verifying key, 296 bytes")
    parser.add_argument("files", type=Path, nargs="+", help="records: public inputs, 32 bytes each, then the proof")
    parser.add_argument("--context", type=bytes.fromhex, default=NO_CONTEXT, help="64 hex digits (default: zeros)")
    parser.add_argument("--allow-development", action="store_true", help="accept a key of the development setup")
    args = parser.parse_args(arguments)
    try:
        vk = decode_verifying_key(args.key.read_bytes(), allow_development=args.allow_development)
        inputs_size = SCALAR_BYTES * vk.n_public
        names: list[str] = []
        rows = []
        for path in args.files:
            data = np.frombuffer(path.read_bytes(), np.uint8)
            if len(data) % (inputs_size + PROOF_BYTES):
                raise WireError(str(path), f"{len(data)} bytes, no multiple of {inputs_size + PROOF_BYTES}")
            rows.append(data.reshape(-1, inputs_size + PROOF_BYTES))
            names += [f"{path}[{i}]" for i in range(len(rows[-1]))]
        records = np.concatenate(rows)
        if not len(records):
            raise InputError("files", "no records: nothing to verify")
        inputs = records[:, :inputs_size].reshape(len(records), vk.n_public, SCALAR_BYTES)
        verdict = verify_batch(vk, records[:, inputs_size:], inputs, args.context)
    except (BonsaiError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return MALFORMED
    for bad in verdict.bad:
        sys.stdout.write(f"{names[bad.index]}: {bad.reason}\n")
    sys.stdout.write(f"{verdict.n - len(verdict.bad)} of {verdict.n} valid\n")
    return VALID if verdict.valid else BAD


if __name__ == "__main__":
    sys.exit(main())

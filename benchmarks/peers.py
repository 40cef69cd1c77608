"""The programs of others, asked over a pipe so that they take turns with ours: the Rust program of benchmarks/peers, built with cargo where
it is installed, and snarkjs in one process of node.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from bonsai_circuits.interop.node import find_node
from bonsai_verifier.field import Octets

from .measure import OUT, all_cores

SOURCE = Path(__file__).parent / "peers"
SNARKJS = Path(__file__).with_name("groth16.mjs")


class PeersMissing(Exception):
    """No cargo, or the program does not build here; says what is missing."""


def build() -> tuple[Path, tuple[str, ...]]:
    """The program and the libraries that it knows.  mcl is one of them where cmake and a C++ compiler are installed."""
    with_mcl = shutil.which("cmake") is not None and shutil.which("c++") is not None
    ran("cargo", "build", "--release", "--quiet", *(["--features", "mcl"] if with_mcl else []), at=SOURCE)
    return SOURCE / "target" / "release" / "bonsai-peers", ("blst", "arkworks", *(["mcl"] if with_mcl else []))


def ran(*command: str, at: Path) -> None:
    """Runs what builds a program of others.  Raises PeersMissing: it is not installed, or it fails; the message says why."""
    if shutil.which(command[0]) is None:
        raise PeersMissing(f"{command[0]} is not installed: no peers to measure against")
    if (done := subprocess.run(command, cwd=at, capture_output=True, text=True, check=False)).returncode:
        raise PeersMissing(f"{' '.join(command)} in {at}: {done.stderr.strip()[-1000:]}")


class Asked:
    """A program at work: each line that it is asked, it answers with one."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | (environment or {}),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate()

    def ask(self, question: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(question + "\n")
        self._process.stdin.flush()
        return self.line(question)

    def line(self, question: str) -> str:
        """The next line of the answer.  Raises RuntimeError: there is none, or the question is unknown."""
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        if not answer or answer.startswith("unknown"):
            raise RuntimeError(f"{question}: {answer or 'the program has ended'}")
        return answer


# The prover's peers ----------------------------------------------------------------------------------------------------------


@contextmanager
def yardstick(program: Path) -> Iterator[Callable[[], float]]:
    """Seconds of blst's sum of 65,536 random points by scalars of 255 bits, one core, at each call."""
    with Asked([str(program), "yardstick"]) as peer:
        yield lambda: float(peer.ask("yardstick blst"))


@contextmanager
def arkworks_groth16(program: Path, r1cs: Path, wtns: Path) -> Iterator[Callable[[], float]]:
    """Seconds of arkworks' Groth16 prover, one core, at each call; its key takes seconds."""
    with Asked([str(program), "groth16", str(r1cs), str(wtns)]) as peer:
        yield lambda: float(peer.ask("groth16 arkworks"))


@contextmanager
def snarkjs_groth16(r1cs: Path, wtns: Path, power: int, key: Path) -> Iterator[Callable[[], float]]:
    """Seconds of snarkjs' Groth16 prover, all cores, without its start, at each call.

    key: where its proving key is or will be; one that is missing is made of a ptau of 2^power beside it, which takes minutes.
    """
    key.parent.mkdir(exist_ok=True)
    ptau = key.with_name(f"bls12-381-{power}.ptau")
    with all_cores():
        peer = Asked([str(find_node()), *map(str, (SNARKJS, power, ptau, key, r1cs, wtns))])
    with peer:
        peer.line("the start of snarkjs")
        yield lambda: float(peer.ask("prove"))


def snarkjs_key(r1cs: Path) -> Path:
    """The name that snarkjs' key of these rows has in benchmarks/out."""
    return OUT / f"{r1cs.stem}-{hashlib.sha256(r1cs.read_bytes()).hexdigest()[:16]}.zkey"


# The batch verifier's peers --------------------------------------------------------------------------------------------------


class Peers(Asked):
    """The libraries at work on the points and scalars of one batch.

    In: t, u (n, 48) compressed points; rho (n, 16) and rho_r (n, 32) integers, little-endian; all uint8.
    """

    def __init__(self, program: Path, t: Octets, u: Octets, rho: Octets, rho_r: Octets) -> None:
        self._folder = tempfile.TemporaryDirectory()
        file = Path(self._folder.name) / "batch"
        file.write_bytes(len(t).to_bytes(8, "little") + b"".join(a.tobytes() for a in (t, u, rho, rho_r)))
        super().__init__([str(program), "batch", str(file)])

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        super().__exit__(kind, error, at)
        self._folder.cleanup()

    def sums(self, library: str) -> tuple[list[float], list[bytes]]:
        """Seconds of sum rho T, sum rho U, sum (rho r) U, and the three sums, compressed."""
        answer = self.ask(f"sums {library}").split()
        return [float(x) for x in answer[:3]], [bytes.fromhex(x) for x in answer[3:]]

    def pairing(self, library: str) -> float:
        """Seconds of two Miller loops and one final exponentiation."""
        return float(self.ask(f"pairing {library}"))

"""The Rust program of benchmarks/peers: built with cargo where it is installed, asked over a pipe, so that peers take turns with ours."""

import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

from bonsai_verifier.field import Octets

SOURCE = Path(__file__).parent / "peers"


class PeersMissing(Exception):
    """No cargo, or the program does not build here; says what is missing."""


def build() -> tuple[Path, tuple[str, ...]]:
    """The program and the libraries that it knows.  mcl is one of them where cmake and a C++ compiler are installed."""
    if shutil.which("cargo") is None:
        raise PeersMissing("cargo is not installed: no peers to measure against")
    with_mcl = shutil.which("cmake") is not None and shutil.which("c++") is not None
    command = ["cargo", "build", "--release", "--quiet", *(["--features", "mcl"] if with_mcl else [])]
    if (done := subprocess.run(command, cwd=SOURCE, capture_output=True, text=True, check=False)).returncode:
        raise PeersMissing(f"{' '.join(command)} in {SOURCE}: {done.stderr.strip()[-1000:]}")
    return SOURCE / "target" / "release" / "bonsai-peers", ("blst", "arkworks", *(["mcl"] if with_mcl else []))


class Peers:
    """The program at work on the points and scalars of one batch.

    In: t, u (n, 48) compressed points; rho (n, 16) and rho_r (n, 32) integers, little-endian; all uint8.
    """

    def __init__(self, program: Path, t: Octets, u: Octets, rho: Octets, rho_r: Octets) -> None:
        self._folder = tempfile.TemporaryDirectory()
        file = Path(self._folder.name) / "batch"
        file.write_bytes(len(t).to_bytes(8, "little") + b"".join(a.tobytes() for a in (t, u, rho, rho_r)))
        self._process = subprocess.Popen(
            [str(program), str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> "Peers":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate()
        self._folder.cleanup()

    def sums(self, library: str) -> tuple[list[float], list[bytes]]:
        """Seconds of sum rho T, sum rho U, sum (rho r) U, and the three sums, compressed."""
        answer = self._ask(f"sums {library}").split()
        return [float(x) for x in answer[:3]], [bytes.fromhex(x) for x in answer[3:]]

    def decode(self, library: str) -> float:
        """Seconds to decode the 2n points, each checked to be on the curve and in the subgroup."""
        return float(self._ask(f"decode {library}"))

    def pairing(self, library: str) -> float:
        """Seconds of two Miller loops and one final exponentiation."""
        return float(self._ask(f"pairing {library}"))

    def _ask(self, question: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(question + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer or answer.startswith("unknown"):
            raise RuntimeError(f"{question}: {answer or 'the program has ended'}")
        return answer

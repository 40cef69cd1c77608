"""The trees and hashes of others, asked over a pipe so that they take turns with ours: the Rust program of benchmarks/tree_peers, built
with cargo, and zk-kit's package for JavaScript, installed there with npm.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bonsai_circuits.interop.node import find_node

from .peers import Asked, ran

SOURCE = Path(__file__).parent / "tree_peers"
PROGRAM = "bonsai-tree-peers"
JEMALLOC = f"{PROGRAM}-jemalloc"  # the same over another allocator


def build() -> None:
    """Makes all of them.  Raises PeersMissing: no cargo, node or npm, or something that does not build here."""
    ran("cargo", "build", "--release", "--quiet", at=SOURCE)
    installed, wanted = SOURCE / "node_modules" / ".package-lock.json", SOURCE / "package-lock.json"
    if not installed.is_file() or installed.stat().st_mtime < wanted.stat().st_mtime:
        ran("npm", "ci", "--loglevel=error", "--no-audit", "--no-fund", at=SOURCE)
        installed.touch()


def _threads(n: int) -> dict[str, str]:
    """0: as many as there are cores, in rayon too."""
    return {"RAYON_NUM_THREADS": str(n)}


def _program(name: str = PROGRAM) -> str:
    return str(SOURCE / "target" / "release" / name)


# rotortree over BLAKE3 -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grown:
    """A tree in memory: its leaves, counted from 0, inserted."""

    seconds: float
    root: bytes
    bytes: int  # resident after less before; 0 where the system does not say


@dataclass(frozen=True, slots=True)
class Stored:
    """A new store: seconds until its last token and until its checkpoint, both from the start."""

    last_token: float
    checkpoint: float
    root: bytes


@dataclass(frozen=True, slots=True)
class Rotortree:
    """Four children a node."""

    peer: Asked

    def grow(self, size: int, batch: int) -> Grown:
        seconds, root, before, after = self.peer.ask(f"grow {size} {batch}").split()
        return Grown(float(seconds), bytes.fromhex(root), int(after) - int(before))

    def proofs(self, indices: Path) -> tuple[float, float]:
        """Seconds to make a proof for each index of the file, and to verify them, from the tree that grew last."""
        proving, verifying = self.peer.ask(f"proofs {indices}").split()
        return float(proving), float(verifying)

    def store(self, size: int, batch: int, folder: Path) -> Stored:
        last_token, checkpoint, root = self.peer.ask(f"durable {size} {batch} {folder}").split()
        return Stored(float(last_token), float(checkpoint), bytes.fromhex(root))


@contextmanager
def rotortree(threads: int = 0, name: str = PROGRAM) -> Iterator[Rotortree]:
    with Asked([_program(name), "blake3"], _threads(threads)) as peer:
        yield Rotortree(peer)


# Poseidon and Sinsemilla, one core -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Poseidon:
    """Binary trees over circom's Poseidon.  In: a file of leaves.  Out: seconds of all of them inserted at once, and the root."""

    rust: Asked
    node: Asked

    def zk_kit(self, leaves: Path) -> tuple[float, bytes]:
        return _seconds_and_bytes(self.rust.ask(f"zk-kit {leaves}"))

    def rotortree(self, leaves: Path) -> tuple[float, bytes]:
        return _seconds_and_bytes(self.rust.ask(f"rotortree {leaves}"))

    def npm(self, leaves: Path) -> tuple[float, bytes]:
        return _seconds_and_bytes(self.node.ask(str(leaves)))


@contextmanager
def poseidon() -> Iterator[Poseidon]:
    node = [str(find_node()), str(SOURCE / "lean_imt.mjs")]
    with Asked([_program(), "poseidon"], _threads(1)) as rust, Asked(node) as javascript:
        yield Poseidon(rust, javascript)


@dataclass(frozen=True, slots=True)
class Sinsemilla:
    """The crate's Merkle hash of Orchard.  In: a file of pairs of nodes.  Out: seconds of all, and the hashes one after the other."""

    peer: Asked

    def hashes(self, pairs: Path) -> tuple[float, bytes]:
        return _seconds_and_bytes(self.peer.ask(f"sinsemilla {pairs}"))


@contextmanager
def sinsemilla() -> Iterator[Sinsemilla]:
    with Asked([_program(), "sinsemilla"]) as peer:
        yield Sinsemilla(peer)


def _seconds_and_bytes(answer: str) -> tuple[float, bytes]:
    seconds, found = answer.split()
    return float(seconds), bytes.fromhex(found)

"""The trees and their hashes beside rotortree, zk-kit and sinsemilla, in the same run; roots are equal before a ratio is printed.

Every part has a process of its own.  Inserted are counters, as in rotortree's own benchmarks, into a new tree each time.  Memory is what
the first tree of a size adds to what the process held before: when it stands, and, `peak`, at most while it grew.

    BLAKE3      N = 4, all cores; in memory, and into a new store until its checkpoint is on disk; proofs on one core
    Poseidon    binary, circom's constants over BN254, one core; the Rust crates take the hash of light-poseidon, JavaScript poseidon-lite's
    Sinsemilla  Orchard's Merkle hash, one core
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np

from bonsai_circuits.kernels.bn254_fr import BN254_FR_MODULUS
from bonsai_circuits.native.pallas import P as PALLAS_MODULUS
from bonsai_circuits.native.sinsemilla import merkle_hash, merkle_hash_many, table
from bonsai_circuits.trees.lean_imt import LeanIMT
from bonsai_circuits.trees.node_hash import BLAKE3, node_hash
from bonsai_circuits.trees.orchard import DEPTH as PATH_NODES
from bonsai_circuits.trees.shape import NODE_BYTES, n_nodes
from bonsai_circuits.trees.store import TreeStore
from bonsai_verifier.field import Octets
from bonsai_verifier.kernels import cpu

from . import tree_peers
from .measure import OUT, all_cores, medians, one_core, peak_mib, report, turns
from .plot import plot

SIZES = {90_435: 51, 1_000_000: 21, 10_000_000: 9, 100_000_000: 3}  # leaves: rounds
NEEDED_GIB = {100_000_000: 16}  # of memory in the machine, for two trees
TEN_MILLION, NAMED = 10_000_000, 90_435
BATCH = 10_000_000  # of leaves inserted at once, at most
STORE_BATCH, STORE_ROUNDS = 1_000_000, 7
ARITY = 4
PROOFS, PROOF_ROUNDS = 10_000, 9
PATH_ROUNDS = 501
POSEIDON_ROUNDS = 3  # of JavaScript a quarter of a minute each
SEED = 20261207
Found: TypeAlias = dict[str, float]


def main() -> None:
    tree_peers.build()
    rows = {str(size): _child(growing, size) for size in SIZES if _memory_gib() >= NEEDED_GIB.get(size, 0)}
    ten = rows[str(TEN_MILLION)]
    found = {step.__name__: _child(step) for step in (comparing, proving, storing, poseidon, sinsemilla)}
    stored, proved = found["storing"], found["proving"]
    hashed, words = found["poseidon"], found["sinsemilla"]
    figures = {
        "blake3_4ary_10m_vs_rotortree": ten["rotortree_ns"] / ten["ns"],
        "blake3_4ary_10m_durable_vs_rotortree": stored["rotortree_s"] / stored["s"],
        "poseidon_bn254_vs_zkkit_rust": hashed["zkkit_rust_us"] / hashed["us"],
        "poseidon_bn254_vs_zkkit_npm": hashed["zkkit_npm_us"] / hashed["us"],
        "sinsemilla_weighted_vs_literal": words["literal_us"] / words["weighted_us"],
        "sinsemilla_batch_vs_crate": words["crate_us"] / words["batch_us"],
        "bytes_vs_nodes_10m": ten["peak_bytes"] * TEN_MILLION / (NODE_BYTES * n_nodes(TEN_MILLION, ARITY)),
        "inclusion_proof_10m_vs_rotortree": proved["rotortree_proof_us"] / proved["proof_us"],
        "verification_10m_vs_rotortree": proved["rotortree_verification_us"] / proved["verification_us"],
        "poseidon_bn254_vs_rotortree": hashed["rotortree_us"] / hashed["us"],
    }
    details = {
        "body": "vector" if cpu.vector() else "portable",
        **{f"{part}_{name}": value for part, columns in found.items() for name, value in columns.items()},
    }
    report("trees", figures, details, rows, "one core or all, as the lines say")
    times = {row: {"ours": columns["ns"], "rotortree": columns["rotortree_ns"]} for row, columns in rows.items()}
    plot("trees", times, "leaves, BLAKE3, four children a node", "ns a leaf, all cores")


def _child(step: Callable[..., Found], *words: int) -> Found:
    """What one step measures in a process of its own."""
    print(f"trees: {step.__name__} {' '.join(map(str, words))}", file=sys.stderr)
    command = [sys.executable, "-m", f"{__package__}.trees", step.__name__, *map(str, words)]
    with all_cores():
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: Found = json.loads(done.stdout)
    return found


def _memory_gib() -> float:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30


# BLAKE3, four children -------------------------------------------------------------------------------------------------------


class Counters:
    """Leaves 0, 1, ..., little-endian, a batch at a time in the same place."""

    def __init__(self, size: int, batch: int) -> None:
        self.size = size
        self._leaves = np.zeros((min(size, batch), NODE_BYTES), np.uint8)

    def __iter__(self) -> Iterator[Octets]:
        numbers = self._leaves.view("<u8")[:, 0]
        for start in range(0, self.size, len(self._leaves)):
            n = min(len(self._leaves), self.size - start)
            numbers[:n] = np.arange(start, start + n, dtype=np.uint64)
            yield self._leaves[:n]


class Grower:
    """Ours: a new tree each time, kept until the next."""

    def __init__(self, leaves: Counters, threads: int = 0) -> None:
        self.tree = LeanIMT(ARITY, BLAKE3, threads=threads)
        self._leaves = leaves
        self._threads = threads

    def __call__(self) -> float:
        self.tree = LeanIMT(ARITY, BLAKE3, threads=self._threads)
        return sum(_seconds(partial(self.tree.insert_many, batch)) for batch in self._leaves)

    @property
    def root(self) -> bytes:
        assert self.tree.root is not None
        return self.tree.root


def growing(size: int) -> Found:
    """Nanoseconds a leaf, ours and rotortree's, all cores, and bytes of memory a leaf."""
    _compiled()
    leaves = Counters(size, BATCH)
    ours = Grower(leaves)
    for _ in leaves:
        pass
    before = _resident()
    ours()
    held, most = _resident() - before, 2**20 * peak_mib() - before
    most = max(most, ours.tree.resident_bytes)  # of what is reserved, all counts
    with tree_peers.rotortree() as peer:
        theirs = peer.grow(size, BATCH)
        assert theirs.root == ours.root, "rotortree has another root"
        calls: dict[str, Callable[[], float]] = {
            "ns": ours,
            "rotortree_ns": lambda: peer.grow(size, BATCH).seconds,
        }
        seconds = turns(calls, SIZES[size])
    return {name: 1e9 * s / size for name, s in seconds.items()} | {
        "bytes": held / size,
        "rotortree_bytes": theirs.bytes / size,
        "peak_bytes": most / size,
    }


def comparing() -> Found:
    """Million leaves a second at 10 million: one core, portable bodies, and rotortree over another allocator."""
    _compiled()
    leaves = Counters(TEN_MILLION, BATCH)
    ours, alone = Grower(leaves), Grower(leaves, threads=1)
    with (
        tree_peers.rotortree() as peer,
        tree_peers.rotortree(name=tree_peers.JEMALLOC) as jemalloc,
        tree_peers.rotortree(threads=1) as peer_alone,
    ):

        def portable() -> float:
            with cpu.use(cpu.PORTABLE):
                return ours()

        calls: dict[str, Callable[[], float]] = {
            "all_cores": ours,
            "one_core": alone,
            "portable_all_cores": portable,
            "rotortree_all_cores": lambda: peer.grow(TEN_MILLION, BATCH).seconds,
            "rotortree_jemalloc_all_cores": lambda: jemalloc.grow(TEN_MILLION, BATCH).seconds,
            "rotortree_one_core": lambda: peer_alone.grow(TEN_MILLION, BATCH).seconds,
        }
        seconds = turns(calls, 7)
    return {f"{name}_million_a_s": TEN_MILLION / s / 1e6 for name, s in seconds.items()}


def proving() -> Found:
    """Microseconds a proof and a verification, one core, of random leaves of 10 million: ours all in one call, rotortree's one by one."""
    ours = Grower(Counters(TEN_MILLION, BATCH))
    ours()
    snapshot = ours.tree.snapshot()
    indices = np.random.default_rng(SEED).integers(0, TEN_MILLION, PROOFS, np.int64)
    with _file(indices.astype("<u8").tobytes()) as file, tree_peers.rotortree() as peer:
        assert peer.grow(TEN_MILLION, BATCH).root == ours.root, "rotortree has another root"
        proofs = snapshot.prove_many(indices)
        assert proofs.verify(snapshot.head).all()
        taken: dict[str, list[float]] = {}

        def one_core_each() -> None:
            proving, verifying = peer.proofs(file)
            for name, s in (("rotortree_proof_us", proving), ("rotortree_verification_us", verifying)):
                taken.setdefault(name, []).append(s)

        calls: dict[str, Callable[[], object]] = {
            "proof_us": lambda: snapshot.prove_many(indices, threads=1),
            "verification_us": lambda: proofs.verify(snapshot.head, threads=1),
            "proof_all_cores_us": lambda: snapshot.prove_many(indices),
            "verification_all_cores_us": lambda: proofs.verify(snapshot.head),
            "asked": one_core_each,
        }
        seconds = medians(calls, PROOF_ROUNDS)
        one = medians(
            {
                "single_proof_us": lambda: snapshot.prove(TEN_MILLION // 3),
                "single_verification_us": lambda: proofs[0].verify(snapshot.head),
            },
            1001,
        )
    del seconds["asked"]
    seconds |= {name: float(np.median(values)) for name, values in taken.items()}
    return {name: 1e6 * s / PROOFS for name, s in seconds.items()} | {name: 1e6 * s for name, s in one.items()}


def storing() -> Found:
    """Seconds from a new store until the checkpoint of 10 million leaves is on disk, and until their last token; policies as they come."""
    leaves = Counters(TEN_MILLION, STORE_BATCH)
    last_token: dict[str, list[float]] = {"": [], "rotortree_": []}
    size: dict[str, float] = {}
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=OUT) as folder, tree_peers.rotortree() as peer:
        roots: set[bytes | None] = set()

        def measured(name: str, store: Callable[[Path], tree_peers.Stored]) -> float:
            at = Path(folder) / "store"
            os.sync()  # what others have left to write
            stored = store(at)
            roots.add(stored.root)
            assert len(roots) == 1, "rotortree has another root"
            last_token[name].append(stored.last_token)
            size[name] = sum(file.stat().st_size for file in at.rglob("*") if file.is_file())
            shutil.rmtree(at)
            return stored.checkpoint

        seconds = turns(
            {
                "s": lambda: measured("", partial(_store, leaves)),
                "rotortree_s": lambda: measured("rotortree_", lambda at: peer.store(TEN_MILLION, STORE_BATCH, at)),
            },
            STORE_ROUNDS,
        )
    return (
        seconds
        | {f"{name}last_token_s": float(np.median(values)) for name, (_, *values) in last_token.items()}
        | {f"{name}disk_bytes_a_leaf": n / TEN_MILLION for name, n in size.items()}
    )


def _store(leaves: Counters, folder: Path) -> tree_peers.Stored:
    """Ours, as the peer does it."""
    with TreeStore.create(folder, ARITY, BLAKE3) as store:
        seconds = 0.0
        for batch in leaves:
            began = time.perf_counter()
            _, token = store.insert_many(batch)
            seconds += time.perf_counter() - began
        seconds += _seconds(token.wait)
        checkpoint = seconds + _seconds(store.checkpoint)
        assert store.root is not None
        return tree_peers.Stored(seconds, checkpoint, store.root)


def _compiled() -> None:
    """Every kernel compiled or read, before memory or time is looked at."""
    for size in (1, 1_000, 20_000):
        Grower(Counters(size, size))()


# Hashes, one core ------------------------------------------------------------------------------------------------------------


def poseidon() -> Found:
    """Microseconds a hash, binary trees of 90,435 leaves; 1 million of ours on all cores."""
    leaves = _elements(NAMED, BN254_FR_MODULUS)
    hash_ = node_hash("poseidon_bn254")

    def grow(leaves: Octets, threads: int = 1) -> bytes | None:
        return LeanIMT(2, hash_, threads=threads).insert_many(leaves)

    def portable() -> None:
        with cpu.use(cpu.PORTABLE):
            grow(leaves)

    root = grow(leaves)
    many = _elements(1_000_000, BN254_FR_MODULUS)
    with all_cores():
        million = medians({"s": lambda: grow(many, threads=0)}, 3)["s"]
    with _file(leaves.tobytes()) as file, tree_peers.poseidon() as peers:

        def asked(ask: Callable[[Path], tuple[float, bytes]]) -> float:
            seconds, found = ask(file)
            assert found == root, "a peer has another root"
            return seconds

        calls: dict[str, Callable[[], float]] = {
            "us": lambda: _seconds(lambda: grow(leaves)),
            "portable_us": lambda: _seconds(portable),
            "zkkit_rust_us": lambda: asked(peers.zk_kit),
            "rotortree_us": lambda: asked(peers.rotortree),
            "zkkit_npm_us": lambda: asked(peers.npm),
        }
        seconds = turns(calls, POSEIDON_ROUNDS)
    hashes = NAMED - 1  # a node with one child is none
    return {name: 1e6 * s / hashes for name, s in seconds.items()} | {"million_leaves_all_cores_s": million}


def sinsemilla() -> Found:
    """Microseconds a Merkle hash: one by one, literal and weighted; 1,024 at once beside the crate.  And the weighted table.

    One by one as a wallet takes them, up a path of Orchard's tree.
    """
    pairs = _elements(2 * 1024, PALLAS_MODULUS).reshape(-1, 2, NODE_BYTES)
    leaf, *siblings = (int.from_bytes(x.tobytes(), "little") for x in pairs.reshape(-1, NODE_BYTES)[: PATH_NODES + 1])
    made = table()
    hashes = merkle_hash_many(0, pairs)
    assert hashes[0].tobytes() == merkle_hash(0, leaf, siblings[0], literal=True).to_bytes(NODE_BYTES, "little")

    def root(**way: bool) -> int:
        node = leaf
        for level, sibling in enumerate(siblings):
            node = merkle_hash(level, node, sibling, **way)
        return node

    paths: dict[str, Callable[[], int]] = {
        "literal_us": partial(root, literal=True),
        "weighted_us": root,
        "weighted_checked_us": partial(root, checked=True),
    }
    assert len({path() for path in paths.values()}) == 1
    seconds = {name: s / PATH_NODES for name, s in medians(paths, PATH_ROUNDS).items()}

    def portable() -> None:
        with cpu.use(cpu.PORTABLE):
            merkle_hash_many(0, pairs)

    with _file(pairs.tobytes()) as file, tree_peers.sinsemilla() as peer:
        assert peer.hashes(file)[1] == hashes.tobytes(), "the crate has other hashes"
        batch = turns(
            {
                "batch_us": lambda: _seconds(lambda: merkle_hash_many(0, pairs)),
                "batch_checked_us": lambda: _seconds(lambda: merkle_hash_many(0, pairs, checked=True)),
                "batch_literal_us": lambda: _seconds(lambda: merkle_hash_many(0, pairs, literal=True)),
                "batch_portable_us": lambda: _seconds(portable),
                "crate_us": lambda: peer.hashes(file)[0],
            },
            21,
        )
    return (
        {name: 1e6 * s for name, s in seconds.items()}
        | {name: 1e6 * s / len(pairs) for name, s in batch.items()}
        | {"table_s": made.seconds, "table_mib": made.n_bytes / 2**20}
    )


def _elements(n: int, modulus: int) -> Octets:
    """Random ones, 32 bytes each, little-endian, (n, 32)."""
    draw = np.random.default_rng(SEED)
    data = b"".join(
        (int.from_bytes(draw.bytes(48), "little") % modulus).to_bytes(NODE_BYTES, "little") for _ in range(n)
    )
    return np.frombuffer(data, np.uint8).reshape(n, NODE_BYTES)


# Small things ----------------------------------------------------------------------------------------------------------------


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _resident() -> float:
    """Bytes of this process in memory now; where the system does not say, the most there were so far."""
    statm = Path("/proc/self/statm")
    if not statm.is_file():
        return 2**20 * peak_mib()
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def _file(data: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data"
        path.write_bytes(data)
        yield path


if __name__ == "__main__":
    measured = {step.__name__: step for step in (growing, comparing, proving, storing, poseidon, sinsemilla)}
    chosen = measured[sys.argv[1]]
    if chosen in (poseidon, sinsemilla):
        one_core()
    print(json.dumps(chosen(*map(int, sys.argv[2:]))))

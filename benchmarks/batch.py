"""The batch verifier beside blst, arkworks and mcl at its three sums, on the same points and in the same run.

Two accountings.  'field+curve', as published: from decoded points to the verdict - challenge, statement, weights, three sums, one product
of pairings; no decoding, no test of membership.  'wire': from bytes to the verdict, everything checked.  The peers' sums are sum rho T,
sum rho U and sum (rho r) U with weights rho of 128 bits, and nothing else.

The circuit is that of the published figures, 4,096 squarings and one public input (examples/squarings.py); the file of 1,000,000 payloads
holds proofs of the shape of op over Poseidon.  Proofs are simulated (simulated.py), all different in a batch; in the file they repeat.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from bonsai_circuits.keys.domain import smallest_domain
from bonsai_circuits.pipeline import build
from bonsai_verifier import (
    decode_verifying_key,
    encode_verifying_key,
    equation,
    read_payloads,
    verify,
    verify_batch,
    verify_stream,
)
from bonsai_verifier.batch import draw_weights
from bonsai_verifier.curve import encode_g1_many, g1_sum
from bonsai_verifier.field import Octets, Words, fr_from_canonical, fr_mul, fr_to_canonical
from bonsai_verifier.kernels import cpu
from bonsai_verifier.transcript import challenge_bytes_many
from bonsai_verifier.wire import VerifyingKey, decode_proofs
from examples.squarings import squarings

from .measure import all_cores, medians, peak_mib, report
from .peers import Peers
from .peers import build as build_peers
from .plot import plot
from .simulated import CONTEXT, KnownKey, Proofs, known_key, scalars, simulate

SIZES = 1, 2, 32, 512, 8192, 65_536
LARGE, CHUNK = 65_536, 80_000
ROUNDS = {1: 101, 2: 101, 32: 51, 512: 21, 8192: 9, 65_536: 5}
THREAD_ROUNDS = 15  # a second core is disturbed more often than one
PUBLISHED_US = 11.7  # field+curve, 65,536 proofs of this circuit, one thread of an Apple M5
SEED = 20261130


@dataclass(frozen=True, slots=True)
class Batch:
    """n proofs, as bytes and decoded."""

    vk: VerifyingKey
    bytes: Proofs
    T: Words
    U: Words
    v: Words
    t_bytes: Octets

    @classmethod
    def of(cls, vk: VerifyingKey, proofs: Proofs) -> "Batch":
        decoded = decode_proofs(proofs.proofs)
        return cls(vk, proofs, decoded.T, decoded.U, decoded.v, decoded.t_bytes)

    def __len__(self) -> int:
        return len(self.T)

    def claims(self) -> equation.Claims:
        """Challenge and statement."""
        return equation.claims(self.vk, CONTEXT, self.bytes.public_inputs, self.t_bytes, self.T, self.U, self.v)

    def field_and_curve(self) -> None:
        """From decoded points to the verdict."""
        alone = np.array([[1, 0, 0, 0]], np.uint64)  # as `verify` weighs a proof
        assert equation.holds(self.vk, self.claims(), alone if len(self) == 1 else draw_weights(len(self)))

    def wire(self, threads: int = 1) -> None:
        """From bytes to the verdict; a single proof through the door for one."""
        if len(self) == 1:
            assert verify(self.vk, self.bytes.public_inputs[0], self.bytes.proofs[0].tobytes())
            return
        assert verify_batch(self.vk, self.bytes.proofs, self.bytes.public_inputs, threads=threads).valid


def main() -> None:
    rng = np.random.default_rng(SEED)
    circuit = build(squarings.trace("squarings"))
    key = known_key(circuit.about.digest, smallest_domain(circuit.square.n_rows).size, 1, rng)
    proofs = simulate(key, scalars(CHUNK, rng).reshape(-1, 1, 32), rng)
    program, libraries = build_peers()
    rows = {}
    for n in SIZES:
        batch = Batch.of(key.vk, proofs[:n])
        rows[str(n)] = _measure(batch, program, libraries)
    large = Batch.of(key.vk, proofs[:LARGE])
    split = _split(large)
    hostile = _hostile(key, large, rng)
    stream = _stream(rng)
    threads = _threads(Batch.of(key.vk, proofs))
    start = _start(key, proofs[:512])
    one, many = rows["1"], rows[str(LARGE)]
    figures = {
        "field_curve_65536_vs_blst_sums": many["field+curve"] / many["blst"],
        "wire_65536_vs_blst_sums": many["wire"] / many["blst"],
        "portable_field_curve_65536_vs_blst_sums": many["portable"] / many["blst"],
        "single_ms": one["wire"] / 1e3,
        "wire_32_us": rows["32"]["wire"],
        "threads2_speedup": threads["threads2_speedup"],
        "adversarial_vs_honest": max(hostile.values()),
        "stream_1m_peak_mib": stream["peak_mib"],
    }
    details = {
        "single_vs_blst_two_pairings": one["wire"] / one["blst pairings"],
        "field_curve_published_us": PUBLISHED_US,
        "body": "vector" if cpu.vector() else "portable",
        **{f"split_65536_{name}_us": us for name, us in split.items()},
        **{f"hostile_{name}": ratio for name, ratio in hostile.items()},
        **{f"stream_{name}": value for name, value in stream.items()},
        **start,
        **threads,
    }
    report("batch", figures, details, rows)
    plot("batch", rows, "proofs in a batch", "us a proof, one core")


# Sizes -----------------------------------------------------------------------------------------------------------------------


def _measure(batch: Batch, program: Path, libraries: tuple[str, ...]) -> dict[str, float]:
    """Microseconds a proof: ours in both accountings and with portable bodies, the peers' sums; of two pairings, the peers'."""
    n, rho = len(batch), draw_weights(len(batch))
    rho_r = fr_to_canonical(fr_mul(batch.claims().r, fr_from_canonical(rho)))
    data = batch.bytes.proofs
    scalars_of_peers = rho[:, :2].copy().view(np.uint8).reshape(n, 16), rho_r.view(np.uint8).reshape(n, 32)
    with Peers(program, data[:, :48], data[:, 48:96], *scalars_of_peers) as peers:
        ours = [g1_sum(points, k) for points, k in ((batch.T, rho), (batch.U, rho), (batch.U, rho_r))]
        expected = [row.tobytes() for row in encode_g1_many(np.array(ours))]
        for library in libraries:
            assert peers.sums(library)[1] == expected, f"{library} has other sums"
        seconds: dict[str, list[float]] = {}

        def took(name: str, value: float) -> None:
            seconds.setdefault(name, []).append(value)

        def sums_of(library: str) -> None:
            took(library, sum(peers.sums(library)[0]))

        def pairings_of(library: str) -> None:
            took(f"{library} pairings", peers.pairing(library))

        def portable() -> None:
            with cpu.use(cpu.PORTABLE):
                batch.field_and_curve()

        calls: dict[str, Callable[[], object]] = {
            "field+curve": batch.field_and_curve,
            "wire": batch.wire,
            "portable": portable,
        }
        for library in libraries:
            calls[f"{library}, asked"] = partial(sums_of, library)
            if n == 1:
                calls[f"{library} pairings, asked"] = partial(pairings_of, library)
        asked = medians(calls, ROUNDS[n])
        found = {name: s for name, s in asked.items() if not name.endswith("asked")}
        found |= {name: float(np.median(values)) for name, values in seconds.items()}
    return {name: 1e6 * s / n for name, s in found.items()}


def _split(batch: Batch) -> dict[str, float]:
    """Microseconds a proof of each stage of a large batch, by itself."""
    n, vk, data = len(batch), batch.vk, batch.bytes
    claims, weights = batch.claims(), draw_weights(n)
    sums = equation.sums(vk, claims, weights)
    seconds = medians(
        {
            "decode": lambda: decode_proofs(data.proofs, subgroup=False),
            "challenge": lambda: challenge_bytes_many(vk.digest, CONTEXT, data.public_inputs, batch.t_bytes),
            "challenge_statement": batch.claims,
            "weights": lambda: draw_weights(n),
            "sums": lambda: equation.sums(vk, claims, weights),
            "sums_subgroup": lambda: equation.sums(vk, claims, weights, test=True),
            "pairing": lambda: equation.value([(vk, sums)]),
        },
        ROUNDS[n],
    )
    seconds["statement"] = seconds.pop("challenge_statement") - seconds["challenge"]
    seconds["subgroup"] = seconds.pop("sums_subgroup") - seconds["sums"]
    return {name: 1e6 * s / n for name, s in seconds.items()}


# Start -----------------------------------------------------------------------------------------------------------------------


def _start(key: KnownKey, proofs: Proofs) -> dict[str, float]:
    """Seconds of `python -m bonsai_verifier` on a few hundred records: with no kernel compiled before, and once more with all of them."""
    records = np.concatenate([proofs.public_inputs.reshape(len(proofs.proofs), -1), proofs.proofs], axis=1)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "records").write_bytes(records.tobytes())
        (Path(folder) / "key").write_bytes(encode_verifying_key(key.vk))
        words = [sys.executable, "-m", "bonsai_verifier", "key", "records", "--allow-development"]
        seconds = []
        for _ in range(2):
            began = time.perf_counter()
            subprocess.run(
                words,
                cwd=folder,
                env=os.environ | {"BONSAI_CACHE_DIR": str(Path(folder) / "kernels")},
                stdout=subprocess.DEVNULL,
                check=True,
            )
            seconds.append(time.perf_counter() - began)
    return {"cold_compilation_s": seconds[0], "cached_start_s": seconds[1]}


# Threads ---------------------------------------------------------------------------------------------------------------------


def _threads(batch: Batch) -> dict[str, float]:
    """Wire to verdict of a chunk on one thread and two, and on all cores."""
    with all_cores():
        seconds = medians({str(n): partial(batch.wire, n) for n in (1, 2, 0)}, THREAD_ROUNDS)
    return {
        "threads2_speedup": seconds["1"] / seconds["2"],
        "chunk_80000_all_cores_us": 1e6 * seconds["0"] / len(batch),
    }


# Adversaries -----------------------------------------------------------------------------------------------------------------


def _hostile(key: KnownKey, batch: Batch, rng: np.random.Generator) -> dict[str, float]:
    """Seconds of hostile batches over an honest one's, wire to verdict, with search_limit=1 as a validator under attack sets it."""
    honest, n = batch.bytes, len(batch)
    equal = replace(honest, proofs=np.repeat(honest.proofs[:1], n, axis=0))
    opposite = replace(honest, proofs=equal.proofs.copy())
    opposite.proofs[1::2, 0] ^= 0x20
    opposite.proofs[1::2, 48] ^= 0x20
    low_order = replace(honest, proofs=honest.proofs.copy())
    order_3 = np.zeros(48, np.uint8)  # x = 0 and y = +-2
    order_3[0] = 0x80
    low_order.proofs[:, :48] = order_3
    all_bad = replace(honest, public_inputs=honest.public_inputs[::-1].copy())
    one_bad = replace(honest, public_inputs=honest.public_inputs.copy())
    one_bad.public_inputs[n // 3] ^= 1
    malformed = replace(honest, proofs=rng.integers(0, 256, honest.proofs.shape, np.uint8))

    def verdict(proofs: Proofs) -> Callable[[], object]:
        return lambda: verify_batch(key.vk, proofs.proofs, proofs.public_inputs, search_limit=1)

    batches = {
        "honest": honest,
        "equal_points": equal,
        "opposite_points": opposite,
        "low_order": low_order,
        "all_bad": all_bad,
        "one_bad": one_bad,
        "malformed": malformed,
    }
    seconds = medians({name: verdict(proofs) for name, proofs in batches.items()}, 3)
    return {name: s / seconds["honest"] for name, s in seconds.items() if name != "honest"}


# A file of a million payloads ------------------------------------------------------------------------------------------------

_OP_ROWS, _OP_PUBLIC = 18_985, 6
_PAYLOADS, _BLOCK = 1_000_000, 50_000  # of the file; of different ones in it


def _stream(rng: np.random.Generator) -> dict[str, float]:
    """Microseconds a payload and the peak memory of a fresh process that verifies 1,000,000 payloads of op from a file."""
    key = known_key(bytes(32), smallest_domain(_OP_ROWS).size, _OP_PUBLIC, rng)
    a, com, com_new, rho, root_rho, fee = (scalars(_BLOCK, rng) for _ in range(_OP_PUBLIC))
    fee[:] = 0
    inputs = np.stack([a, com, com_new, rho, root_rho, fee], axis=1)
    proofs = simulate(key, inputs, rng).proofs
    payloads = np.concatenate([a, com_new, rho, root_rho, proofs], axis=1)
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in (("payloads", payloads), ("com", com)):
            with (Path(folder) / name).open("wb") as file:
                for _ in range(_PAYLOADS // _BLOCK):
                    file.write(rows.tobytes())
        (Path(folder) / "key").write_bytes(encode_verifying_key(key.vk))
        words = [sys.executable, "-m", f"{__package__}.batch", folder]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _read_a_million(folder: Path) -> dict[str, float]:
    vk = decode_verifying_key((folder / "key").read_bytes(), allow_development=True)
    com = np.memmap(folder / "com", np.uint8, "r", shape=(_PAYLOADS, 32))
    began = time.perf_counter()
    verdict = verify_stream(vk, read_payloads(folder / "payloads", com, 0, "op"))
    seconds = time.perf_counter() - began
    assert verdict.valid
    assert verdict.n == _PAYLOADS
    return {"us": 1e6 * seconds / _PAYLOADS, "peak_mib": peak_mib()}


if __name__ == "__main__":
    print(json.dumps(_read_a_million(Path(sys.argv[1]))))

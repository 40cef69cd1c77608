"""Streams: chunks of an iterator, files of records and of payloads, in bounded memory."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bonsai_verifier as bv
from bonsai_circuits.relations.operation import operation
from bonsai_circuits.relations.receive import receive
from bonsai_circuits.relations.send import send
from bonsai_verifier import batch, stream, wire
from bonsai_verifier.search import DOES_NOT_HOLD
from tests.verifier.proofs import CONTEXT, R, arrays, claim, claims, curve_key, key, tiled

RECORD = 2 * 32 + 128


def records(n: int) -> bytes:
    proofs, inputs = tiled(n)
    return np.concatenate([inputs.reshape(n, 64), proofs], axis=1).tobytes()


@pytest.fixture
def record_file(tmp_path: Path) -> Path:
    path = tmp_path / "records"
    path.write_bytes(records(50))
    os.utime(path, (1, 1))  # so that whatever writes to it later is seen, however coarse the clock of the file system
    return path


# Chunks ----------------------------------------------------------------------------------------------------------------------


def test_a_stream_is_as_one_batch() -> None:
    proofs, inputs = tiled(40)
    proofs[[0, 17, 39], 96] ^= 1
    proofs[20, 0] = 0
    expected = bv.verify_batch(key(), proofs, inputs)
    for size in (1, 7, 39, 40, 100):
        chunks = ((proofs[i : i + size], inputs[i : i + size]) for i in range(0, 40, size))
        assert bv.verify_stream(key(), chunks) == expected
        parts = list(stream.cut([(proofs, inputs)], rows=size))
        assert [len(p) for p, _, _ in parts] == [min(size, 40 - i) for i in range(0, 40, size)]
    assert bv.verify_stream(key(), [(proofs, inputs)], threads=2) == expected
    assert bv.verify_stream(key(), []) == bv.Verdict(True, (), 0)


def test_verdicts_come_as_chunks_do() -> None:
    """The iterator is asked for a chunk when the one before has its verdict."""
    proofs, inputs = tiled(6)
    proofs[3, 96] ^= 1
    given: list[int] = []

    def chunks() -> Iterator[tuple[NDArray[np.uint8], NDArray[np.uint8]]]:
        for i in range(0, 6, 2):
            given.append(i)
            yield proofs[i : i + 2], inputs[i : i + 2]

    verdicts = bv.stream_verdicts(key(), chunks())
    assert next(verdicts) == bv.Verdict(True, (), 2)
    assert given == [0]
    assert next(verdicts) == bv.Verdict(False, (bv.BadProof(3, DOES_NOT_HOLD),), 2)
    assert list(verdicts) == [bv.Verdict(True, (), 2)]


def test_undecided_proofs_keep_their_indices() -> None:
    proofs, inputs = tiled(300)
    proofs[150:, 96] ^= 1
    chunks = [(proofs[i : i + 100], inputs[i : i + 100]) for i in (0, 100, 200)]
    verdict = bv.verify_stream(key(), chunks, search_limit=0)
    assert verdict.undecided == tuple(range(100, 300))
    assert (verdict.valid, verdict.bad, verdict.n) == (False, (), 300)


def test_contexts_of_a_stream() -> None:
    chosen = [claim(5, CONTEXT), claim(6, CONTEXT)]
    proofs, inputs = arrays(chosen)
    plain, plain_inputs = arrays([claim(3)])
    assert bv.verify_stream(key(), [(proofs, inputs)], CONTEXT)
    each = np.frombuffer(CONTEXT * 2, np.uint8).reshape(2, 32)
    for contexts in (CONTEXT, [CONTEXT] * 2, each, each[0]):
        assert bv.verify_stream(key(), [(plain, plain_inputs), (proofs, inputs, contexts)])
    assert not bv.verify_stream(key(), [(proofs, inputs)])


def test_chunks_of_lists_and_of_wrong_lengths() -> None:
    chosen = claims(3)
    lists: tuple[list[bytes], list[list[int]]] = ([c.proof for c in chosen], [c.inputs for c in chosen])
    assert bv.verify_stream(key(), [lists, lists]).n == 6
    for wrong, field in (
        ((lists[0], lists[1][:2]), "chunks[1].public_inputs"),
        ((*lists, [bytes(32)]), "chunks[1].contexts"),
        ((lists[0],), "chunks[1]"),
    ):
        with pytest.raises(bv.InputError) as caught:
            bv.verify_stream(key(), [lists, wrong])  # type: ignore[list-item]
        assert caught.value.field == field


def test_an_error_of_the_iterator_leaves_no_verdict() -> None:
    proofs, inputs = tiled(2)

    def chunks() -> Iterator[tuple[NDArray[np.uint8], NDArray[np.uint8]]]:
        yield proofs, inputs
        raise ConnectionError("the sender is gone")

    with pytest.raises(ConnectionError, match="gone"):
        bv.verify_stream(key(), chunks())


def test_a_chunk_is_fixed_before_its_weights_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    proofs, inputs = tiled(4)

    def source(n: int) -> bytes:
        proofs[:] = inputs[:] = 255
        return os.urandom(n)

    monkeypatch.setattr(batch, "_random_bytes", source)
    assert bv.verify_stream(key(), [(proofs, inputs)])


def test_seeds_of_chunks_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    proofs, inputs = tiled(4)
    seeds: list[bytes] = []
    original = batch.draw_weights

    def seen(n: int, seed: bytes | None = None, run: object = None) -> Any:
        assert seed is not None
        seeds.append(seed)
        return original(n, seed)

    monkeypatch.setattr(batch, "draw_weights", seen)
    assert bv.verify_stream(key(), [(proofs, inputs)] * 3, seed_for_tests=b"s")
    assert len(set(seeds)) == 3


def test_mapped_arrays_are_a_chunk(record_file: Path) -> None:
    rows = np.memmap(record_file, np.uint8, "r").reshape(-1, RECORD)
    verdict = bv.verify_stream(key(), [(rows[:, 64:], rows[:, :64].reshape(-1, 2, 32))])
    assert verdict == bv.Verdict(True, (), 50)


# Files of records ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 7, 49, 50, 51])
def test_a_file_of_records(record_file: Path, rows: int) -> None:
    chunks = list(bv.read_records(record_file, 2, rows=rows))
    assert [len(proofs) for proofs, _ in chunks] == [min(rows, 50 - i) for i in range(0, 50, rows)]
    assert bv.verify_stream(key(), chunks) == bv.Verdict(True, (), 50)
    data = bytearray(record_file.read_bytes())
    data[RECORD * 41 + 64 + 96] ^= 1
    record_file.write_bytes(data)
    verdict = bv.verify_stream(key(), bv.read_records(str(record_file), 2, rows=rows))
    assert verdict.bad == (bv.BadProof(41, DOES_NOT_HOLD),)


def test_wide_records_are_read_in_fewer_rows(record_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe does not say how much comes: room for 65,536 records of a key of many inputs would be terabytes."""
    assert stream.rows_at_once(stream.record_bytes(28), stream.CHUNK) == stream.CHUNK
    assert stream.rows_at_once(stream.record_bytes(2**24 - 1), stream.CHUNK) == 1
    monkeypatch.setattr(stream, "CHUNK_BYTES", 10 * RECORD + 1)
    assert [len(proofs) for proofs, _ in bv.read_records(record_file, 2, rows=20)] == [10] * 5


def test_a_file_that_is_no_whole_number_of_records(record_file: Path) -> None:
    for size in (1, RECORD - 1, RECORD * 3 + 1):
        record_file.write_bytes(records(50)[:size])
        with pytest.raises(bv.WireError, match=f"{size} bytes, no multiple of {RECORD}"):
            list(bv.read_records(record_file, 2))
    record_file.write_bytes(b"")
    assert list(bv.read_records(record_file, 2)) == []
    with pytest.raises(FileNotFoundError):
        list(bv.read_records(record_file.with_name("nothing"), 2))


def cut_in_half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(records(5))


def change(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"\0")


def replace_in_place(path: Path) -> None:
    path.write_bytes(records(50))


def change_and_set_back_the_time(path: Path) -> None:
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # its clock is coarse
        change(path)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def exchange(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(records(50))
    other.replace(path)


def remove(path: Path) -> None:
    path.unlink()


CHANGES = [cut_in_half, grow, change, replace_in_place, change_and_set_back_the_time, exchange, remove]


@pytest.mark.parametrize("happens", CHANGES)
@pytest.mark.parametrize("after", [1, 3, 5])
def test_a_file_that_changes_while_it_is_read_has_no_verdict(
    record_file: Path, happens: Callable[[Path], None], after: int
) -> None:
    def chunks() -> Iterator[Any]:
        for i, chunk in enumerate(bv.read_records(record_file, 2, rows=10)):
            yield chunk
            if i + 1 == after:
                happens(record_file)

    with pytest.raises(bv.WireError, match=r"cut while it was read|changed while it was read"):
        bv.verify_stream(key(), chunks())


def test_a_name_that_leads_to_another_file_has_no_verdict(record_file: Path) -> None:
    """Though no time of the file that is read changes."""
    other, link = record_file.with_name("other"), record_file.with_name("link")
    other.write_bytes(records(50))
    link.symlink_to(record_file)

    def chunks() -> Iterator[Any]:
        for chunk in bv.read_records(link, 2, rows=10):
            yield chunk
            link.unlink(missing_ok=True)
            link.symlink_to(other)

    with pytest.raises(bv.WireError, match="changed while it was read"):
        bv.verify_stream(key(), chunks())
    assert bv.verify_stream(key(), bv.read_records(link, 2)) == bv.Verdict(True, (), 50)


def test_a_file_without_a_size_is_read_until_it_ends() -> None:
    path = Path("/proc/self/cmdline")
    if not path.exists():
        pytest.skip("this system has no /proc")
    assert path.stat().st_size == 0
    parts = list(stream._read_rows(path, 1, 5))
    assert len(parts) > 1
    assert np.concatenate(parts).tobytes() == path.read_bytes()
    with pytest.raises(bv.WireError, match="ends within a record"):
        list(stream._read_rows(path, len(path.read_bytes()) - 1, 5))


@pytest.mark.parametrize("wrong", [0, -1, 2.0, "1", None, True])
def test_rows_and_public_inputs_are_counts(record_file: Path, wrong: Any) -> None:
    for chunks in (
        bv.read_records(record_file, 2, rows=wrong),
        bv.read_payloads(record_file, np.zeros((50, 32), np.uint8), 1, "op", rows=wrong),
    ):
        with pytest.raises(bv.InputError, match=r"^rows: "):
            list(chunks)
    if wrong != 0:
        with pytest.raises(bv.InputError, match=r"^n_public: "):
            list(bv.read_records(record_file, wrong))


def test_records_from_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    for data, whole in ((records(25), True), (records(25)[:-1], False)):
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(data,))
        writer.start()
        if whole:
            assert bv.verify_stream(key(), bv.read_records(pipe, 2, rows=10)) == bv.Verdict(True, (), 25)
        else:
            with pytest.raises(bv.WireError, match="ends within a record"):
                bv.verify_stream(key(), bv.read_records(pipe, 2, rows=10))
        writer.join()
        pipe.unlink()


# Payloads --------------------------------------------------------------------------------------------------------------------


def test_payload_inputs_are_those_of_the_relations() -> None:
    assert {"send": send.public, "recv": receive.public, "op": operation.public} == wire.PAYLOAD_INPUTS


def payloads(n: int) -> NDArray[np.uint8]:
    rows = np.zeros((n, 256), np.uint8)
    rows[:, :128] = np.random.default_rng(n).integers(0, 100, (n, 128))
    return rows


@pytest.mark.parametrize("relation", ["send", "recv", "op"])
@pytest.mark.parametrize(
    "fee", [7, 2**64 - 1, [1, 2, 3], np.array([1, 2, 3], np.uint64), np.array([1, 2, 3]), np.int64(9)], ids=str
)
def test_public_inputs_of_payloads(relation: str, fee: Any) -> None:
    rows, com = payloads(3), np.arange(96, dtype=np.uint8).reshape(3, 32)
    got = bv.payload_public_inputs(rows, com, fee, relation)
    names = wire.PAYLOAD_INPUTS[relation]
    assert got.shape == (3, len(names), 32)
    for i in range(3):
        decoded = bv.decode_payload(rows[i].tobytes())
        ledger = {"com": com[i].tobytes(), "fee": int(fee if np.ndim(fee) == 0 else fee[i]).to_bytes(32, "little")}
        for j, name in enumerate(names):
            expected = ledger[name] if name in ledger else getattr(decoded, name).to_bytes(32, "little")
            assert got[i, j].tobytes() == expected, name


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"relation": "pay"}, "relation"),
        ({"relation": ["op"]}, "relation"),
        ({"payloads": b"payloads"}, "payloads"),
        ({"payloads": np.array(0, np.uint8)}, "payloads"),
        ({"com": [bytes(32)] * 3}, "com"),
        ({"com": None}, "com"),
        ({"fee": None}, "fee"),
        ({"fee": 1.5}, "fee"),
        ({"fee": "123"}, "fee"),
        ({"fee": np.float64(1)}, "fee"),
        ({"fee": np.array(1)}, "fee"),
        ({"fee": [1, [2, 3], 4]}, "fee[1]"),
        ({"payloads": np.zeros((3, 255), np.uint8)}, "payloads"),
        ({"com": np.zeros((2, 32), np.uint8)}, "com"),
        ({"com": np.zeros((3, 32), np.int64)}, "com"),
        ({"fee": -1}, "fee[0]"),
        ({"fee": 2**64}, "fee[0]"),
        ({"fee": True}, "fee[0]"),
        ({"fee": [1, 2]}, "fee"),
        ({"fee": [1, 2, R - 1]}, "fee[2]"),
        ({"fee": [1, 2.0, 3]}, "fee[1]"),
        ({"fee": np.array([1.0, 2, 3])}, "fee[0]"),
        ({"fee": np.array([1, -2, 3])}, "fee[1]"),
    ],
)
def test_public_inputs_of_payloads_have_one_form(wrong: dict[str, Any], field: str) -> None:
    arguments: dict[str, Any] = {
        "payloads": payloads(3),
        "com": np.zeros((3, 32), np.uint8),
        "fee": 1,
        "relation": "op",
    }
    with pytest.raises(bv.InputError) as caught:
        bv.payload_public_inputs(**(arguments | wrong))
    assert caught.value.field == field


@pytest.mark.parametrize("rows", [2, 100])
def test_a_file_of_payloads(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "payloads"
    data = payloads(5)
    path.write_bytes(data.tobytes())
    com = np.arange(5 * 32, dtype=np.uint8).reshape(5, 32)
    of_account = {row[:32].tobytes(): com[i] for i, row in enumerate(data)}

    def look_up(accounts: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return np.array([of_account[a.tobytes()] for a in accounts])

    expected = bv.payload_public_inputs(data, com, [5, 6, 7, 8, 9], "send")
    for source in (com, look_up):
        chunks = list(bv.read_payloads(path, source, np.arange(5, 10), "send", rows=rows))
        assert np.array_equal(np.concatenate([np.asarray(p) for p, _ in chunks]), data[:, 128:])
        assert np.array_equal(np.concatenate([np.asarray(x) for _, x in chunks]), expected)
    for com_wrong, fee, field in ((com[:4], 1, "com"), (np.repeat(com, 2, axis=0), 1, "com"), (com, [1] * 6, "fee")):
        with pytest.raises(bv.InputError) as caught:
            list(bv.read_payloads(path, com_wrong, fee, "send", rows=rows))
        assert caught.value.field == field
    for com_of_type, fee_of_type, field in (
        (None, 1, "com"),
        ([bytes(32)] * 5, 1, "com"),
        (com, None, "fee"),
        (com, 2.5, "fee"),
    ):
        with pytest.raises(bv.InputError) as caught:
            list(bv.read_payloads(path, com_of_type, fee_of_type, "send", rows=rows))  # type: ignore[arg-type]
        assert caught.value.field == field
    ((_, inputs),) = bv.read_payloads(path, com, np.int64(9), "send")
    assert np.array_equal(inputs, bv.payload_public_inputs(data, com, 9, "send"))
    path.write_bytes(data.tobytes()[:-1])
    with pytest.raises(bv.WireError, match="no multiple of 256"):
        list(bv.read_payloads(path, com, 1, "send"))


# Memory ----------------------------------------------------------------------------------------------------------------------


def test_memory_does_not_grow_with_the_stream(tmp_path: Path) -> None:
    """A file of four chunks takes what one of two does: far less than the file, and in kilobytes of what `getrusage` reports."""
    path = tmp_path / "records"
    script = f"""
import resource, sys
import numpy as np
import bonsai_verifier as bv
vk = bv.decode_verifying_key(bytes.fromhex("{curve_key().vk_bytes.hex()}"), allow_development=True)
for n in (2, 8):
    with open({str(path)!r}, "wb") as file:
        for _ in range(n):
            file.write(open({str(path) + ".chunk"!r}, "rb").read())
    verdict = bv.verify_stream(vk, bv.read_records({str(path)!r}, 2, rows=4096))
    print(verdict.valid, verdict.n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    path.with_name("records.chunk").write_bytes(records(4096))
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    (valid, n, small), (valid_8, n_8, large) = (line.split() for line in run.stdout.splitlines())
    assert (valid, n, valid_8, n_8) == ("True", "8192", "True", "32768")
    assert int(large) - int(small) < (6 * 4096 * RECORD >> 10) / 2

"""The store under kill -9, changed bytes, missing and cut files, a full disk and two openers: nothing acknowledged is lost without a word.

More of the same: BONSAI_FAULTS=20 repeats the random tests twenty times as often, with other seeds.
"""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from bonsai_circuits.errors import FileDamaged, StoreLocked
from bonsai_circuits.trees.mark import MARK, SLOT_BYTES
from bonsai_circuits.trees.records import LEVELS, TAIL
from bonsai_circuits.trees.store import Policies, TreeStore
from tests.trees.victim import PHASES, Page, Server, leaves, reference_root

TIMES = int(os.environ.get("BONSAI_FAULTS", "1"))
SEED = int(os.environ.get("BONSAI_FAULTS_SEED", "1"))
KILLS, FLIPS = 200 * TIMES, 240 * TIMES
HEADER = 100  # bytes before the first page of a database: SQLite's file format, section 1.3
RECORD = 4096  # leaves of a record of a tree of arity 4
MANUAL = Policies(flush_interval=None)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that no disk delays, where there is one; for tests of what files hold, not of when."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path_factory.mktemp("memory")
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="bonsai-") as folder:
        yield Path(folder)


def tell(text: str) -> None:
    """For whoever runs this with `pytest -s`."""
    sys.stdout.write(f"{text}\n")


# Killed ----------------------------------------------------------------------------------------------------------------------


def test_a_killed_process_loses_nothing_that_was_acknowledged(server: Server, tmp_path: Path) -> None:
    rng, phases = random.Random(SEED), Counter[str]()
    kills = 0
    while kills < KILLS:
        folder, page = tmp_path / f"store-{kills}", tmp_path / f"page-{kills}"
        arity = rng.choice([2, 4, 4, 16])
        Page(page)
        for _ in range(25):  # of one store, again and again
            order = {"folder": folder, "page": page, "arity": arity, "hash": "blake3"}
            child = server.start("write", **order, seed=rng.randrange(2**32), rounds=1000, most=3000)
            await_phase(Page(page), "open" if rng.random() < 0.15 else "insert")
            time.sleep(rng.choice([0.002, 0.02, 0.06]) * rng.random())
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            if server.end() == 0:
                continue  # it did all its rounds: somebody kept this process waiting
            kills += 1
            phases[Page(page).phase] += 1
            Page(page).enter("before")
            server.run("look", **order)
        shutil.rmtree(folder, ignore_errors=True)
    tell(f"{kills} kills: {dict(phases)}")
    assert {"open", "insert", "tail", "records", "mark"} <= phases.keys(), phases
    assert sum(phases[phase] for phase in ("insert", "tail", "records", "mark")) >= kills / 2, phases


def await_phase(page: Page, least: str) -> None:
    """Until the child is so far."""
    end = time.monotonic() + 60
    while PHASES.index(page.phase) < PHASES.index(least):
        assert time.monotonic() < end, page.phase
        time.sleep(0.0003)


# Changed bytes ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stores(memory: Path) -> dict[str, tuple[Path, int]]:
    """Stores that were closed, killed with a log, and killed amid a checkpoint; with how many leaves each has acknowledged."""
    root = memory / "stores"
    root.mkdir()
    size = 2 * RECORD * 4 + 1234  # leaves in eight records, those above in two, some in the tail
    for name in ("closed", "foreign", "logged", "amid"):
        with TreeStore.create(root / name, 4, policies=MANUAL) as store:
            store.insert_many(leaves(0, size // 2))
            store.checkpoint()
            if name == "closed":
                shutil.copytree(root / name, root / "older")
            store.insert_many(leaves(size // 2, size - 900))
            store.checkpoint()
            store.insert_many(leaves(size - 900, size - 400))
            store.flush()
            if name in ("closed", "foreign"):
                store.insert_many(leaves(size - 400, size))
    with TreeStore.open(root / "logged", policies=MANUAL) as store:
        for at in range(size - 400, size, 100):
            store.insert_many(leaves(at, at + 100))
            store.flush()
        shutil.copytree(root / "logged", root / "killed")  # what kill -9 leaves behind: the log is not in the file yet
    shutil.rmtree(root / "logged")
    (root / "killed").rename(root / "logged")
    assert (root / "logged" / f"{TAIL}-wal").stat().st_size > 0
    _amid_a_checkpoint(root / "amid", size - 400)
    return {"closed": (root / "closed", size), "logged": (root / "logged", size), "amid": (root / "amid", size - 400)}


def _amid_a_checkpoint(folder: Path, size: int) -> None:
    """Leaves the store as a crash does while records are written: some are there, and the journal that takes them away again."""
    copy = folder.with_name("copy")
    with TreeStore.open(folder, policies=MANUAL) as store:
        levels = store._levels._connection
        levels.execute("PRAGMA cache_size = 4")  # what does not fit goes to the file before the transaction ends
        levels.execute("BEGIN IMMEDIATE")
        for place in range(100):
            levels.execute("INSERT INTO nodes VALUES (?, ?, ?)", ((9 << 52) + place, b"", bytes(100_000)))
        shutil.copytree(folder, copy)
        levels.execute("ROLLBACK")
    shutil.rmtree(folder)
    copy.rename(folder)
    assert (folder / f"{LEVELS}-journal").stat().st_size > 0
    assert (folder / LEVELS).stat().st_size > 5_000_000
    with TreeStore.open(shutil.copytree(folder, folder.with_name("again")), policies=MANUAL) as store:
        assert store.size == size


def outcome(folder: Path, size: int, policies: Policies = MANUAL) -> str:
    """Refused; repaired or whole: the same tree, which goes on as it should.  Anything else fails."""
    try:
        store = TreeStore.open(folder, policies=policies)
    except FileDamaged as e:
        return "refused" if str(folder) in e.field else f"refused without a name: {e}"
    with store:
        assert store.size == size
        assert store.root == ROOTS[size]
        assert store.snapshot().level(0).tobytes() == leaves(0, size).tobytes()
        repaired = bool(store.repairs)
        store.insert_many(leaves(size, 2 * RECORD * 4 * 2))
        store.checkpoint()
        store.check()
    with TreeStore.open(folder, policies=MANUAL) as store:  # it wrote over nothing that it needs
        assert store.root == ROOTS[store.size]
        assert store.repairs == []
    return "repaired" if repaired else "whole"


ROOTS = {size: reference_root(size, 4) for size in (33602, 34002, 65536)}


def flipped(path: Path, at: int, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    path.write_bytes(data)


def test_a_flipped_bit_anywhere_is_repaired_or_refused(stores: dict[str, tuple[Path, int]], memory: Path) -> None:
    rng, outcomes = random.Random(SEED), Counter[tuple[str, str]]()
    places: list[tuple[Path, Path, int]] = []
    for folder, _ in stores.values():
        files = [path for path in folder.iterdir() if path.stat().st_size]
        chosen = [rng.choice(files) for _ in range(FLIPS // len(stores))]  # their beginnings as often as all the rest
        places += [(folder, path, rng.randrange(rng.choice([path.stat().st_size, 512]))) for path in chosen]
        if folder.name != "amid":  # every byte of a header
            places += [(folder, path, at) for path in files for at in range(folder.name == "closed", HEADER, 2)]
    for folder, path, at in places:
        length = path.stat().st_size
        policies = rng.choice([MANUAL, Policies(flush_interval=None, pin_above_level=9)])
        damaged = shutil.copytree(folder, memory / "flipped")
        flipped(damaged / path.name, at, rng.randrange(8))
        size = next(size for known, size in stores.values() if known == folder)
        try:
            found = outcome(damaged, size, policies)
        except BaseException as e:
            e.add_note(f"{folder.name}/{path.name}: byte {at} of {length}, {policies}")
            raise
        outcomes[path.name, found] += 1
        shutil.rmtree(damaged)
    tell(f"{len(places)} flips: {dict(sorted(outcomes.items()))}")
    assert {what for _, what in outcomes} == {"refused", "repaired", "whole"}
    assert outcomes[MARK, "refused"] == 0  # one of its slots stands
    assert outcomes[LEVELS, "refused"]
    assert outcomes[TAIL, "refused"]


# Missing, cut off, of another time or place ----------------------------------------------------------------------------------

Damage = Callable[[Path], None]


def cut(name: str, keep: float) -> Damage:
    def cutting(folder: Path) -> None:
        path = folder / name
        os.truncate(path, int(path.stat().st_size * keep))

    return cutting


def sql(name: str, statement: str) -> Damage:
    def executing(folder: Path) -> None:
        with closing(sqlite3.connect(folder / name, isolation_level=None)) as connection:
            assert connection.execute(statement).rowcount > 0

    return executing


def gone(name: str) -> Damage:
    return lambda folder: (folder / name).unlink()


def both_slots(folder: Path) -> None:
    for at in (100, SLOT_BYTES + 100):
        flipped(folder / MARK, at, 0)


def older(name: str) -> Damage:
    """The file of the same store as it was before."""

    def replacing(folder: Path) -> None:
        shutil.copy(folder.with_name("older") / name, folder / name)

    return replacing


def foreign(name: str) -> Damage:
    """The file of another store of the same shape and leaves."""

    def replacing(folder: Path) -> None:
        shutil.copy(folder.with_name("foreign") / name, folder / name)

    return replacing


SWAPPED = "UPDATE nodes SET (digest, nodes) = (SELECT digest, nodes FROM nodes WHERE place = 1) WHERE place = 0"
PLACE = "UPDATE nodes SET place = place + 100 WHERE place = 7"
ABOVE = "(1 << 52)"
DAMAGES: list[tuple[str, Damage, str]] = [
    ("mark gone", gone(MARK), "there is no such file"),
    ("mark cut", cut(MARK, 0.4), "both slots"),
    ("mark cut to one slot", cut(MARK, 0.5), "repaired"),
    ("mark empty", cut(MARK, 0), "both slots"),
    ("mark's slots damaged", both_slots, "both slots"),
    ("mark of another store", foreign(MARK), "belongs to another store"),
    ("levels gone", gone(LEVELS), "there is no such file"),
    ("levels empty", cut(LEVELS, 0), "is empty"),
    ("levels halved", cut(LEVELS, 0.5), "damaged|malformed|pages"),
    ("levels cut", cut(LEVELS, 0.999), "damaged|malformed|pages"),
    ("levels of another store", foreign(LEVELS), "belongs to another store"),
    ("levels of another time", older(LEVELS), "leaves 16384 to 32768 are missing"),
    ("levels longer", lambda folder: os.truncate(folder / LEVELS, 2 << 20), "pages"),
    (
        "a record of leaves gone",
        sql(LEVELS, "DELETE FROM nodes WHERE place = 3"),
        "1 records of level 0 are missing",
    ),
    (
        "the last record gone",
        sql(LEVELS, "DELETE FROM nodes WHERE place = 7"),
        "records of leaves are missing: level 1 has more",
    ),
    ("a record in another's place", sql(LEVELS, SWAPPED), "record 0 of level 0 has another digest"),
    ("a record elsewhere", sql(LEVELS, PLACE), "100 records of level 0 are missing"),
    (
        "a record of an unknown level",
        sql(LEVELS, f"UPDATE nodes SET place = place + (60 << 52) WHERE place = {ABOVE} + 1"),
        "a level 61",
    ),
    (
        "a record above changed",
        sql(LEVELS, f"UPDATE nodes SET nodes = zeroblob(131072) WHERE place = {ABOVE}"),
        "repaired",
    ),
    (
        "a digest above changed",
        sql(LEVELS, f"UPDATE nodes SET digest = zeroblob(32) WHERE place = {ABOVE}"),
        "repaired",
    ),
    ("the last record above gone", sql(LEVELS, f"DELETE FROM nodes WHERE place = {ABOVE} + 1"), "whole"),
    ("a shorter record", sql(LEVELS, "UPDATE nodes SET nodes = zeroblob(32) WHERE place = 0"), "another length"),
    ("nothing", lambda folder: None, "whole"),
    ("levels for a later version", lambda folder: flipped(folder / LEVELS, 18, 3), "another version"),
    ("tail for a later version", lambda folder: flipped(folder / TAIL, 18, 3), "another version"),
    ("tail gone", gone(TAIL), "there is no such file"),
    ("tail empty", cut(TAIL, 0), "is empty"),
    ("tail cut", cut(TAIL, 0.5), "damaged|malformed"),
    ("tail of another store", foreign(TAIL), "belongs to another store"),
    ("tail of another time", older(TAIL), "34002 leaves were acknowledged, the first 32768 of them are there"),
    ("a row gone", sql(TAIL, "DELETE FROM leaves WHERE first = (SELECT min(first) FROM leaves)"), "are missing"),
    (
        "the last row gone",
        sql(TAIL, "DELETE FROM leaves WHERE first = (SELECT max(first) FROM leaves)"),
        "were acknowledged",
    ),
    ("a row elsewhere", sql(TAIL, "UPDATE leaves SET first = first - 1 WHERE first > 33102"), "another digest"),
    ("a row changed", sql(TAIL, "UPDATE leaves SET leaves = zeroblob(length(leaves))"), "another digest"),
    ("an empty row", sql(TAIL, "UPDATE leaves SET leaves = zeroblob(0)"), "holds no leaves"),
    ("an odd row", sql(TAIL, "INSERT INTO leaves SELECT 1, x'', x'00'"), "holds no leaves"),
]


@pytest.mark.parametrize(("damage", "says"), [pytest.param(d, s, id=name) for name, d, s in DAMAGES])
def test_what_is_missing_or_of_elsewhere_is_repaired_or_named(
    stores: dict[str, tuple[Path, int]], tmp_path: Path, damage: Damage, says: str
) -> None:
    folder, size = stores["closed"]
    for name in ("older", "foreign"):
        shutil.copytree(folder.with_name(name), tmp_path / name)
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    damage(damaged)
    if says in ("repaired", "whole"):
        assert outcome(damaged, size) == says
    else:
        with pytest.raises(FileDamaged, match=says) as raised:
            TreeStore.open(damaged)
        assert str(damaged) in str(raised.value)
        with pytest.raises(FileDamaged, match=says):  # and again: nobody made an empty file of it
            TreeStore.open(damaged)


@pytest.mark.parametrize("keep", [0.0, 0.2, 0.5, 0.9, 0.999])
def test_a_log_that_was_cut_off_is_named(stores: dict[str, tuple[Path, int]], tmp_path: Path, keep: float) -> None:
    folder, _ = stores["logged"]
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    cut(f"{TAIL}-wal", keep)(damaged)
    for _ in range(2):  # SQLite has moved what was left of the log, and the mark still says what is missing
        with pytest.raises(FileDamaged, match=r"34002 leaves were acknowledged, the first 3\d{4} of them are there"):
            TreeStore.open(damaged)


def test_a_refusal_leaves_the_log_as_it_was(stores: dict[str, tuple[Path, int]], tmp_path: Path) -> None:
    """Whoever can mend it has all leaves again."""
    folder, size = stores["logged"]
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    log = damaged / f"{TAIL}-wal"
    content = bytearray(log.read_bytes())
    middle = len(content) // 2
    content[middle] ^= 1
    log.write_bytes(content)
    for _ in range(2):
        with pytest.raises(FileDamaged):
            TreeStore.open(damaged)
        assert log.read_bytes() == content
    content[middle] ^= 1
    log.write_bytes(content)
    with TreeStore.open(damaged) as store:
        assert store.size == size
    assert sorted(file.name for file in damaged.iterdir()) == sorted(["levels.db", "levels.db-journal", "mark", TAIL])


def test_a_log_that_is_missing_is_named(stores: dict[str, tuple[Path, int]], tmp_path: Path) -> None:
    damaged = shutil.copytree(stores["logged"][0], tmp_path / "damaged")
    gone(f"{TAIL}-wal")(damaged)
    with pytest.raises(FileDamaged, match="34002 leaves were acknowledged"):
        TreeStore.open(damaged)


@pytest.mark.parametrize("damage", [gone, lambda name: cut(name, 0.5), lambda name: cut(name, 0)])
def test_without_its_journal_half_a_checkpoint_is_repaired_or_refused(
    stores: dict[str, tuple[Path, int]], tmp_path: Path, damage: Callable[[str], Damage]
) -> None:
    folder, size = stores["amid"]
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    damage(f"{LEVELS}-journal")(damaged)
    assert outcome(damaged, size) in ("refused", "repaired", "whole")


def test_cold_damage_is_named_when_it_is_read(stores: dict[str, tuple[Path, int]], tmp_path: Path) -> None:
    size = 65536 + RECORD
    with TreeStore.create(tmp_path / "store", 4, policies=MANUAL) as store:
        store.insert_many(leaves(0, size))
        store.checkpoint()
    sql(LEVELS, "UPDATE nodes SET nodes = zeroblob(131072) WHERE place IN (1, (1 << 52) + 1)")(tmp_path / "store")
    with TreeStore.open(tmp_path / "store", policies=Policies(flush_interval=None, pin_above_level=9)) as store:
        assert store.root == reference_root(size, 4)
        assert store.prove(0).verify(store.snapshot().head)
        assert (
            store.snapshot().node(1, RECORD + 5)
            == store.node_hash.parents(leaves(4 * (RECORD + 5), 4 * (RECORD + 6)).reshape(1, 4, 32)).tobytes()
        )  # computed from the leaves
        for _ in range(2):
            with pytest.raises(FileDamaged, match="record 1 of level 0 has another digest"):
                store.prove(RECORD + 7)
        with pytest.raises(FileDamaged, match="record 1 of level 0 has another digest"):
            store.check()


# A full disk -----------------------------------------------------------------------------------------------------------------

POLICIES: list[dict[str, object]] = [
    {},
    {"flush_interval": None},
    {"checkpoint_entries": 6000},
    {"flush_interval": None, "checkpoint_entries": 9000, "pin_above_level": 9},
]


@pytest.mark.parametrize("policies", POLICIES)
@pytest.mark.parametrize(
    ("limit", "most"), [(300_000, 50), (1_000_000, 900), (3_000_000, 70_000), (9_000_000, 270_000)]
)
def test_files_that_may_not_grow_fail_everyone_who_waits(
    server: Server, tmp_path: Path, policies: dict[str, object], limit: int, most: int
) -> None:
    folder, page = tmp_path / "store", tmp_path / "page"
    TreeStore.create(folder, 4).close()
    Page(page)
    server.run("fill", folder=folder, page=page, limit=limit, most=most, policies=policies)
    server.run("look", folder=folder, page=page, arity=4, hash="blake3")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a file system of its own: run as root")
@pytest.mark.parametrize("policies", POLICIES)
@pytest.mark.parametrize("most", [100, 3000, 270_000])
def test_a_full_disk_fails_everyone_who_waits(
    server: Server, tmp_path: Path, policies: dict[str, object], most: int
) -> None:
    disk, page = tmp_path / "disk", tmp_path / "page"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "bonsai", disk], check=False).returncode:
        pytest.skip("no mount allowed; RLIMIT_FSIZE is tested above")
    try:
        folder = disk / "store"
        TreeStore.create(folder, 4).close()
        Page(page)
        server.run("fill", folder=folder, page=page, limit=0, most=most, policies=policies)
        server.run("look", folder=folder, page=page, arity=4, hash="blake3")  # reading needs no room
    finally:
        subprocess.run(["umount", disk], check=True)


# Openers ---------------------------------------------------------------------------------------------------------------------


def test_a_second_opener_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    code = f"from pathlib import Path; from bonsai_circuits.trees.store import TreeStore; TreeStore.open(Path({str(folder)!r}))"
    with TreeStore.create(folder, 4) as store:
        with pytest.raises(StoreLocked, match="is open already"):
            TreeStore.open(folder)
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "StoreLocked" in other.stderr
        store.insert(bytes(32))[1].wait(60)
    with TreeStore.open(folder) as store:
        assert store.size == 1


def test_whoever_removes_the_lock_meets_the_database(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    code = f"from pathlib import Path; from bonsai_circuits.trees.store import TreeStore; TreeStore.open(Path({str(folder)!r}))"
    with TreeStore.create(folder, 4):
        (folder / "copy").write_bytes((folder / MARK).read_bytes())
        (folder / "copy").replace(folder / MARK)
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "StoreLocked" in other.stderr


@pytest.mark.parametrize("policies", [{}, {"flush_interval": None, "pin_above_level": 9}])
def test_a_forked_child_has_no_store(server: Server, tmp_path: Path, policies: dict[str, object]) -> None:
    folder = tmp_path / "store"
    with TreeStore.create(folder, 4) as store:
        store.insert_many(leaves(0, 70_000))
        store.checkpoint()
    order = {"folder": folder, "policies": policies}
    child = server.start("forks", **order, orphan=True)  # its process group has the orphan
    try:
        server.ended_well("forks")
        with TreeStore.open(folder) as store:
            assert store.root == reference_root(70_020, 4)
    finally:
        os.killpg(child, signal.SIGKILL)

"""`bonsai tree`: real files, exit codes, JSON on stdout alone."""

import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from bonsai_circuits.cli import trees
from bonsai_circuits.cli.main import run
from bonsai_circuits.trees.mark import MARK
from bonsai_circuits.trees.records import TAIL
from bonsai_circuits.trees.store import TreeStore
from tests.trees.victim import leaves, reference_root


class Run:
    """One command: its exit code, stdout and stderr."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *words: object) -> None:
        capsys.readouterr()
        self.code = run(["tree", *map(str, words)])
        self.out, self.err = capsys.readouterr()

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def tree(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    Path("leaves").write_bytes(leaves(0, 1000).tobytes())
    Path("more").write_bytes(leaves(1000, 1500).tobytes())

    def command(*words: object) -> Run:
        return Run(capsys, *words)

    assert command("create", "t", "--arity", 4).code == 0
    assert command("append", "t", "leaves").code == 0
    return command


def test_root_of_a_file_and_of_a_folder(tree: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    root = reference_root(1000, 4).hex()
    assert tree("root", "leaves", "--arity", 4).out == f"{root}\n"
    assert tree("root", "t").out == f"{root}\n"
    found = tree("root", "t", "--arity", 4, "--hash", "blake3", "--json")
    assert found.json == {"arity": 4, "hash": "blake3", "size": 1000, "root": root}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(leaves(0, 1000).tobytes())))
    assert tree("root", "-", "--arity", 4).out == f"{root}\n"
    assert tree("root", "t", "--out", "head").out == f"{root}\n"
    assert json.loads(Path("head").read_text()) == found.json
    Path("none").touch()
    assert tree("root", "none", "--arity", 4).out == "no leaves, no root\n"


def test_an_interrupted_append_says_how_many_leaves_it_appended(tree: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(source: str) -> Any:
        yield leaves(1000, 1500)
        raise KeyboardInterrupt

    monkeypatch.setattr(trees, "_leaves", lambda source: contextlib.nullcontext(interrupted(source)))
    done = tree("append", "t", "more")
    assert done.code == 130
    assert "t: the first 500 leaves were appended" in done.err
    assert json.loads(tree("root", "t", "--json").out)["size"] == 1500


def test_leaves_are_appended_from_files_and_standard_input(tree: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    done = tree("append", "t", "more", "--json")
    root = reference_root(1500, 4).hex()
    assert done.json == {"folder": "t", "appended": 500, "arity": 4, "hash": "blake3", "size": 1500, "root": root}
    read, write = os.pipe()  # a pipe gives what it has, not what is asked for
    os.write(write, leaves(1500, 1600).tobytes()[:1001])
    os.write(write, leaves(1500, 1600).tobytes()[1001:])
    os.close(write)
    with os.fdopen(read, "rb") as stdin:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stdin))
        assert tree("append", "t").out == f"t: 100 leaves appended, 1600 in all\n{reference_root(1600, 4).hex()}\n"
    with TreeStore.open(Path("t")) as store:
        assert (store.size, store.root) == (1600, reference_root(1600, 4))


def test_standard_input_that_does_not_wait_or_is_closed_is_refused(tree: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing to read yet is not the end."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.write(write, leaves(1000, 1050).tobytes())
    with os.fdopen(write, "wb"), os.fdopen(read, "rb") as stdin:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stdin))
        done = tree("append", "t")
    assert done.code == 2
    assert "does not wait" in done.err
    monkeypatch.setattr(sys, "stdin", None)
    done = tree("append", "t")
    assert done.code == 2
    assert "standard input: is closed" in done.err
    assert tree("root", "t").out == f"{reference_root(1000, 4).hex()}\n"


def test_several_blocks_are_one_file(tree: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bonsai_circuits.cli.trees._BLOCK_LEAVES", 64)
    assert tree("root", "leaves", "--arity", 4).out == f"{reference_root(1000, 4).hex()}\n"
    assert tree("append", "t", "more").code == 0
    assert tree("root", "t").out == f"{reference_root(1500, 4).hex()}\n"


def test_a_file_that_is_no_leaves_appends_nothing(tree: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("odd").write_bytes(bytes(100))
    for command in (("append", "t", "odd"), ("root", "odd", "--arity", 4)):
        done = tree(*command)
        assert (done.code, done.out) == (2, "")
        assert "odd: 100 bytes are no leaves of 32 bytes" in done.err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(leaves(1000, 1003).tobytes() + b"end")))
    done = tree("append", "t", "--json")
    assert done.code == 2
    assert "ends with 3 bytes that are no leaf of 32; the first 3 leaves were appended" in done.json["error"]["message"]
    assert tree("root", "t").out == f"{reference_root(1003, 4).hex()}\n"


def test_proofs_of_leaves_verify_against_a_head(tree: Any) -> None:
    Path("head").write_text(tree("root", "t", "--json").out)
    leaf = leaves(7, 8).tobytes().hex()
    assert f"leaf 7 of 1000 is {leaf}" in tree("prove", "t", 7, "--out", "one").out
    many = tree("prove", "t", 999, 7, 7, 0, "--out", "many", "--json").json
    assert [pair["index"] for pair in many["leaves"]] == [0, 7, 999]
    trusted = ("--root", reference_root(1000, 4).hex(), "--size", 1000, "--arity", 4, "--hash", "blake3")
    for proof in ("one", "many"):
        for head in (("--head", "head"), trusted):
            assert tree("verify", proof, *head).code == 0
            assert tree("verify", proof, *head, "--leaf", leaf).code == 0
            assert tree("verify", proof, *head, "--leaf", leaf, "--index", 7).code == 0
            assert tree("verify", proof, *head, "--index", 7).code == 0
            for other in (("--leaf", "00" * 32), ("--index", 8), ("--leaf", leaf, "--index", 8)):
                done = tree("verify", proof, *head, *other, "--json")
                assert (done.code, done.json["valid"]) == (1, False)
        assert tree("verify", proof, *trusted[:2], "--size", 1001, "--arity", 4).code == 1
        assert tree("verify", proof, "--root", "00" * 32, *trusted[2:]).code == 1


def test_a_changed_proof_is_a_verdict_and_a_cut_one_malformed(tree: Any) -> None:
    Path("head").write_text(tree("root", "t", "--json").out)
    for words in ((7,), (7, 8)):
        tree("prove", "t", *words, "--out", "proof")
        data = Path("proof").read_bytes()
        Path("proof").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        assert tree("verify", "proof", "--head", "head").code == 1
        for wrong in (data[:-1], data + b"\0", b"", b"\x09" + data[1:]):
            Path("proof").write_bytes(wrong)
            assert tree("verify", "proof", "--head", "head").code == 2


def test_a_tree_that_grew_proves_that_it_did(tree: Any) -> None:
    Path("old").write_text(tree("root", "t", "--json").out)
    tree("append", "t", "more")
    Path("new").write_text(tree("root", "t", "--json").out)
    said = tree("prove", "t", "--since", 1000, "--out", "proof")
    assert "the tree of 1000 leaves is the beginning of that of 1500" in said.out
    assert tree("verify", "proof", "--head", "new", "--old-head", "old").code == 0
    other = json.loads(Path("old").read_text()) | {"root": "11" * 32}
    Path("old").write_text(json.dumps(other))
    assert tree("verify", "proof", "--head", "new", "--old-head", "old").code == 1
    assert tree("verify", "proof", "--head", "new").code == 2


def test_check_and_stat_say_what_there_is(tree: Any) -> None:
    checked = tree("check", "t", "--json").json
    assert (checked["size"], checked["records"], checked["repairs"]) == (1000, 0, [])
    found = tree("stat", "t", "--json").json
    assert (found["size"], found["acknowledged"], found["depth"], found["arity"]) == (1000, 1000, 5, 4)
    assert found["root"] == reference_root(1000, 4).hex()
    assert found["bytes"][MARK] == 8192
    assert "1000 leaves, 5 levels above them" in tree("stat", "t").out


def test_a_damaged_store_is_refused_or_repaired_aloud(tree: Any) -> None:
    mark = bytearray(Path("t", MARK).read_bytes())
    mark[50] ^= 1
    Path("t", MARK).write_bytes(mark)
    done = tree("root", "t")
    assert (done.code, done.out) == (0, f"{reference_root(1000, 4).hex()}\n")
    assert "one of its two slots was damaged; repaired" in done.err
    assert tree("root", "t").err == ""
    os.truncate(Path("t", TAIL), 5000)
    for command in ("root", "stat", "check", "append"):
        done = tree(command, "t", *(["more"] if command == "append" else []), "--json")
        assert done.code == 2
        assert done.json["error"]["type"] == "FileDamaged"
        assert TAIL in done.json["error"]["field"]


def test_a_store_that_is_open_is_refused(tree: Any) -> None:
    with TreeStore.open(Path("t")):
        done = tree("root", "t", "--json")
    assert (done.code, done.json["error"]["type"]) == (2, "StoreLocked")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("create", "t", "--arity", 4), "is there already"),
        (("create", "new"), "give --arity"),
        (("create", "new", "--arity", 17), "2 to 16"),
        (("create", "new", "--arity", 4, "--hash", "md5"), "there is no node hash 'md5'"),
        (("create", "new", "--arity", 4, "--max-depth", 99), "max_depth"),
        (("append", "nowhere", "leaves"), "is no folder"),
        (("append", "t", "nowhere"), "nowhere: cannot be read"),
        (("root", "leaves"), "give --arity"),
        (("root", "nowhere", "--arity", 4), "nowhere: cannot be read"),
        (("root", "t", "--arity", 2), "was made with 4, not 2"),
        (("prove", "t", "--out", "p"), "name the leaves to prove"),
        (("prove", "t", 1, "--since", 1, "--out", "p"), "and not both"),
        (("prove", "t", 1000, "--out", "p"), "1000"),
        (("prove", "t", "--since", 1001, "--out", "p"), "1001"),
        (("verify", "leaves"), "name what is trusted"),
        (("verify", "leaves", "--root", "00" * 32), "a root says nothing without its size"),
        (("verify", "leaves", "--root", "00", "--size", 1, "--arity", 4), "64 hexadecimal digits"),
        (("verify", "leaves", "--head", "leaves"), "leaves: expected JSON"),
        (("verify", "nowhere", "--root", "00" * 32, "--size", 1, "--arity", 4), "nowhere: cannot be read"),
        (("verify", "leaves", "--root", "00" * 32, "--size", 1, "--arity", 4), "proof"),
    ],
)
def test_what_is_wrong_is_named(tree: Any, words: tuple[object, ...], message: str) -> None:
    done = tree(*words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert not Path("new").exists()


@pytest.mark.parametrize(
    "head",
    [
        "[]",
        "{}",
        '{"arity": "4", "hash": "blake3", "size": 1, "root": "00"}',
        '{"arity":4,"hash":4,"size":1,"root":null}',
    ],
)
def test_a_head_that_is_none_is_named(tree: Any, head: str) -> None:
    tree("prove", "t", 1, "--out", "proof")
    Path("head").write_text(head)
    assert tree("verify", "proof", "--head", "head").code == 2

"""bonsai inputs: what a circuit takes, compiled or not, and from a file of one's own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bonsai_circuits.cli.main import run
from bonsai_circuits.pipeline import write
from bonsai_circuits.relations.builtin import BUILT_IN
from bonsai_circuits.relations.meanings import MEANINGS
from bonsai_circuits.report.inputs import inputs_of
from tests.cli.test_cli import Run
from tests.support import circuit

MINE = """
from __future__ import annotations

from dataclasses import dataclass

from bonsai_circuits import relation

LIMIT = 5

@dataclass
class Limits:  # asks for its module
    lower: int
    upper: int = LIMIT

@relation(public=("x", "limit"), meanings={"x": "a product", "row": "its factors"})
def mine(c, p, w):
    first, second = (c.secret(f"row[{i}]") for i in range(2))
    p.x.must_equal(first * second)
    p.limit.must_equal(c.square(w.a + p.limit, "square"))

@relation(public=("x",))
def needs_a_suite(c, suite, p, w):
    p.x.must_equal(w.a)

@relation(public=("x",))
def misspelt(c, p, w):
    p.x.must_equal(w.a * undefined)

@relation(public=("x",))
def leaves(c, p, w):
    raise SystemExit(0)

@relation(public=("x",))
def seen(c, p, w):
    p.x.must_equal(w.a)
    {w.a}

@relation(public=("x",))
def broken(c, p, w):
    p.x.must_equal(w.a < 5)
"""


@pytest.fixture
def bonsai(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Run]:
    return lambda *words: Run(capsys, "inputs", *words, "--compiled", tmp_path / "compiled")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def test_inputs_of_a_circuit_that_is_not_compiled(bonsai: Callable[..., Run]) -> None:
    done = bonsai("recv", "--hash", "poseidon")
    lines = [line.split("  ") for line in done.out.splitlines()]
    table = {line[0]: [cell.strip() for cell in line[1:] if cell.strip()] for line in lines}
    assert table["input"] == ["numbers", "kind", "meaning"]
    assert table["A"] == ["1", "public", MEANINGS["A"]]
    assert table["com_new"] == ["1", "public, may be left out", MEANINGS["com_new"]]
    assert table["pid"] == ["1", "private", MEANINGS["pid"]]
    assert table["nullifier_path[0..10][0..6]"] == ["77", "private", MEANINGS["nullifier_path"]]
    assert table["receipt_path[0][0..6]"] == ["90", "private", MEANINGS["receipt_path"]]
    assert table["receipt_path[1..2][0..2]"] == table["receipt_path[3..13][0..6]"] == []


def test_inputs_as_json(bonsai: Callable[..., Run]) -> None:
    value = bonsai("op", "--tree", "classic", "--json").json
    assert value["circuit"] == "op-poseidon-classic"
    found = {one["name"]: one for one in value["inputs"]}
    assert found["rho"] == {
        "name": "rho",
        "ranges": ["rho"],
        "count": 1,
        "public": True,
        "computed": True,
        "meaning": MEANINGS["rho"],
    }
    assert found["receipt_path"] == {
        "name": "receipt_path",
        "ranges": ["receipt_path[0..39][0]"],
        "count": 40,
        "public": False,
        "computed": False,
        "meaning": MEANINGS["receipt_path"],
    }
    assert not found["root_rho"]["computed"]


def test_a_compiled_circuit_says_the_same(bonsai: Callable[..., Run], tmp_path: Path) -> None:
    before = bonsai("send").out
    assert run(["compile", "send", "--no-circom", "--compiled", str(tmp_path / "compiled")]) == 0
    assert bonsai("send").out == before
    assert bonsai(tmp_path / "compiled" / "send-poseidon").out == before


def test_a_folder_keeps_what_the_relation_says(bonsai: Callable[..., Run], tmp_path: Path) -> None:
    write(tmp_path / "op", circuit("op", "poseidon", "wide"))
    assert MEANINGS["receive"] in bonsai(tmp_path / "op").out


@pytest.mark.parametrize("one", [one for one in BUILT_IN if one.hash == "poseidon"], ids=lambda one: one.name)
def test_every_input_of_a_built_in_relation_has_a_meaning(one: Any) -> None:
    assert [i.name for i in inputs_of(one.trace()) if not i.meaning] == []


def test_a_relation_in_a_file(bonsai: Callable[..., Run], mine: Path) -> None:
    done = bonsai(f"{mine}:mine")
    assert [line.rstrip() for line in done.out.splitlines()] == [
        "input      numbers  kind                     meaning",
        "x          1        public, may be left out  a product",
        "limit      1        public",
        "row[0..1]  2        private                  its factors",
        "a          1        private",
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "LIMIT",
            "has no relation 'LIMIT'; those without parameters of their own: broken, leaves, mine, misspelt, seen",
        ),
        ("needs_a_suite", "has no relation 'needs_a_suite'"),
        ("broken", "gadgets.in_range"),
        ("misspelt", "cannot be run: NameError: name 'undefined'"),
        ("leaves", "cannot be run: SystemExit"),
        ("seen", "hash: wires have no value"),
    ],
)
def test_what_is_no_relation_is_named(bonsai: Callable[..., Run], mine: Path, name: str, message: str) -> None:
    done = bonsai(f"{mine}:{name}")
    assert (done.code, message in done.err) == (2, True)


def test_what_a_file_prints_goes_to_stderr(bonsai: Callable[..., Run], mine: Path) -> None:
    mine.write_text(MINE + "\nprint('as it runs')\n")
    done = bonsai(f"{mine}:mine", "--json")
    assert done.json
    assert "as it runs" in done.err


def test_a_file_that_is_missing_or_fails_is_named(bonsai: Callable[..., Run], mine: Path) -> None:
    done = bonsai(f"{mine.with_name('none.py')}:mine")
    assert (done.code, "there is no such file" in done.err) == (2, True)
    for text, error in (
        ("import nothing_of_this_name\n", "ModuleNotFoundError"),
        ("raise SystemExit(0)\n", "SystemExit"),
    ):
        mine.write_text(text)
        done = bonsai(f"{mine}:mine")
        assert (done.code, f"cannot be run: {error}" in done.err) == (2, True)

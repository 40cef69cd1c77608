"""count, profile and lint as a user meets them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bonsai_circuits.cli.main import run
from bonsai_circuits.pipeline import write
from tests.cli.test_cli import FIRST, Run
from tests.support import compiled


def loose(c: Any, p: Any, w: Any) -> None:
    """Two hints of which only the product is held, and a bit that nothing reads."""
    first, second = c.hint_value(w.a, "first"), c.hint_value(w.b, "second")
    c.must_be_product(first, second, p.x, "first second = x")
    cubes = c.product(c.square(w.a, "a^2"), w.a, "a^3") + c.product(c.square(w.b, "b^2"), w.b, "b^3")
    p.y.must_equal(cubes)
    c.boolean(w.a, 0, "parity")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """compiled/ with send, and the loose circuit beside it."""
    folder = tmp_path_factory.mktemp("reports")
    assert run(["compile", "send", "--no-circom", "--compiled", str(folder / "compiled")]) == 0
    write(folder / "loose", compiled(loose, "x", "y"))
    (folder / "loose.json").write_text(json.dumps({"x": 15, "a": 3, "b": 5}))
    return folder


@pytest.fixture
def bonsai(capsys: pytest.CaptureFixture[str], folders: Path) -> Callable[..., Run]:
    return lambda *words: Run(capsys, *words, "--compiled", folders / "compiled")


# count -----------------------------------------------------------------------------------------------------------------------


def test_count_by_gadget_is_a_tree_of_scopes(bonsai: Callable[..., Run]) -> None:
    done = bonsai("count", "send", "--by-gadget")
    assert done.out.split("\n\n")[1].split("\n") == [
        "rows by scope    R1CS  SR1CS",
        "send-poseidon     911  1,174",
        "  account         506    672",
        "    poseidon[3]   506    672",
        "  receipt         277    368",
        "    poseidon[4]   277    368",
        "  bits[64]        128    128",
        "  outline           0      6",
        "",
    ]
    assert "poseidon[3]" not in bonsai("count", "send", "--by-gadget", "--depth", 1).out


def test_count_as_json_has_all_levels_unless_told_otherwise(bonsai: Callable[..., Run]) -> None:
    (value,) = bonsai("count", "--by-gadget", "--by-rule", "--json").json
    account = value["scopes"]["below"][0]
    assert (account["name"], account["r1cs"], account["sr1cs"]) == ("account", 506, 672)
    rounds = account["below"][0]["below"]
    assert sum(r["sr1cs"] for r in rounds) == 672
    assert value["rules"]["general product"] == {"before": 257, "after": 514}
    assert sum(rule["after"] for rule in value["rules"].values()) == value["sr1cs"] == 1174
    (value,) = bonsai("count", "send", "--by-gadget", "--depth", 0, "--json").json
    assert value["scopes"] == {"name": "send-poseidon", "r1cs": 911, "sr1cs": 1174}


def test_count_says_that_a_depth_alone_changes_nothing(bonsai: Callable[..., Run]) -> None:
    done = bonsai("count", "send", "--depth", 1)
    assert (done.code, "--by-gadget" in done.err) == (0, True)
    assert done.out == bonsai("count", "send").out
    assert bonsai("count", "send", "--depth", 1, "--by-gadget").err == ""


def test_count_by_rule_shows_rows_before_and_after(bonsai: Callable[..., Run]) -> None:
    table = bonsai("count", "send", "--by-rule").out.split("\n\n")[1]
    assert [line.split() for line in table.split("\n")[:2]] == [
        ["rows", "by", "rule", "before", "after"],
        ["send-poseidon", "911", "1,174"],
    ]


def test_count_takes_a_folder(bonsai: Callable[..., Run], folders: Path) -> None:
    (value,) = bonsai("count", folders / "loose", "--json").json
    assert (value["relation"], value["r1cs"]) == ("test", 6)


# profile ---------------------------------------------------------------------------------------------------------------------


def test_profile_writes_one_page(bonsai: Callable[..., Run], tmp_path: Path) -> None:
    out = tmp_path / "profile.html"
    done = bonsai("profile", "send", "--out", out, "--json")
    page = out.read_bytes()
    assert done.json["bytes"] == len(page)
    assert done.json["digest"].encode() in page
    assert page.startswith(b"<!DOCTYPE html>")
    assert bonsai("profile", "send", "--out", out).code == 0
    assert out.read_bytes() == page


# lint ------------------------------------------------------------------------------------------------------------------------


def test_lint_of_send_finds_nothing(bonsai: Callable[..., Run]) -> None:
    done = bonsai("lint", "send", "--input", FIRST, "--json")
    assert (done.code, done.json["ok"], done.json["findings"]) == (0, True, [])
    assert [(s["system"], s["solutions"], s["unexplained"]) for s in done.json["systems"]] == [
        ("R1CS", 7, 0),
        ("Square R1CS", 7, 0),
    ]
    assert bonsai("lint", "send", "--input", FIRST).out.endswith("0 findings\n")


def test_lint_names_what_is_loose_and_where(bonsai: Callable[..., Run], folders: Path) -> None:
    done = bonsai("lint", folders / "loose", "--input", folders / "loose.json")
    assert done.code == 1
    assert "changes alone:\n  test/parity: may have one other value while all other wires stay (R1CS)" in done.out
    assert "moves freely:\n  test/first: can move away" in done.out
    assert "tests/cli/test_reports.py:" in done.out
    assert done.out.endswith("6 findings\n")
    found = bonsai("lint", folders / "loose", "--input", folders / "loose.json", "--json").json["findings"]
    assert {(f["check"], f["wire"]) for f in found} == {
        ("changes alone", "test/parity"),
        ("moves freely", "test/first"),
        ("moves freely", "test/second"),
    }


def test_lint_without_rank_leaves_out_what_moves_together(bonsai: Callable[..., Run], folders: Path) -> None:
    done = bonsai("lint", folders / "loose", "--input", folders / "loose.json", "--no-rank", "--json")
    assert {f["check"] for f in done.json["findings"]} == {"changes alone"}
    assert {s["solutions"] for s in done.json["systems"]} == {None}


def test_lint_allows_what_a_file_gives_a_reason_for(bonsai: Callable[..., Run], folders: Path, tmp_path: Path) -> None:
    allow = tmp_path / "allow.json"
    reviewed = {
        "changes alone": {"test/parity": "nobody reads it"},
        "moves freely": {"test/*": "a test", "gone": "old"},
    }
    allow.write_text(json.dumps(reviewed))
    words = ("lint", folders / "loose", "--input", folders / "loose.json", "--allow", allow)
    done = bonsai(*words)
    assert done.code == 0
    assert "allowed     nobody reads it" in done.out
    assert done.out.endswith("0 findings, and 6 allowed\n")
    assert "moves freely: gone" in done.err
    assert bonsai(*words, "--json").json["unneeded"] == [{"check": "moves freely", "wire": "gone"}]
    for text, message in (("[", "is not a JSON object"), ('{"x": {}}', "there is no check 'x'")):
        allow.write_text(text)
        done = bonsai(*words)
        assert (done.code, message in done.err) == (2, True)


def test_lint_needs_an_honest_witness(bonsai: Callable[..., Run], folders: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps({"x": 16, "a": 3, "b": 5}))
    done = bonsai("lint", folders / "loose", "--input", wrong)
    assert (done.code, "first second = x" in done.err) == (1, True)
    assert "`bonsai check --show-values` prints them" in done.err
    assert bonsai("lint", folders / "loose").code == 2


def test_lint_says_no_values(bonsai: Callable[..., Run], folders: Path, tmp_path: Path) -> None:
    secret = 123456789123456789
    path = tmp_path / "in.json"
    path.write_text(json.dumps({"x": 5 * secret, "a": secret, "b": 5}))
    for flag in ((), ("--json",)):
        done = bonsai("lint", folders / "loose", "--input", path, *flag)
        assert done.code == 1
        assert str(secret) not in done.out + done.err

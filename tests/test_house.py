"""The repository keeps its own promises: commands, versions, licences, pinned packages, the map of the rooms."""

import json
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PACKAGES = (ROOT / "bonsai_circuits", ROOT / "verifier" / "bonsai_verifier")
TOOLKIT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERIFIER = tomllib.loads((ROOT / "verifier" / "pyproject.toml").read_text())["project"]


def modules(package: Path) -> Iterator[Path]:
    return (path for path in package.rglob("*.py") if "__pycache__" not in path.parts)


def rooms(package: Path) -> set[str]:
    return {path.parent.name for path in package.glob("*/__init__.py")}


# Commands --------------------------------------------------------------------------------------------------------------------


_WRITTEN = (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "verifier" / "README.md")
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in _WRITTEN)


@pytest.mark.parametrize("page", PAGES)
def test_every_make_command_on_a_page_is_a_target(page: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    code = "\n".join(re.findall(r"```.*?```|`[^`\n]+`|(?<=\n {4})[^\n]+", (ROOT / page).read_text(), re.DOTALL))
    named = {word for words in re.findall(r"^`?make((?: [a-z][a-z-]*)*)", code, re.MULTILINE) for word in words.split()}
    assert named <= targets


def test_readme_names_the_two_commands() -> None:
    lines = [line.strip() for line in (ROOT / "README.md").read_text().splitlines()]
    assert "make" in lines
    assert "make test" in lines


def test_ci_ends_with_the_tests_of_the_readme() -> None:
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith("\nmake test")


# Versions and licences -------------------------------------------------------------------------------------------------------


def test_both_distributions_have_one_version() -> None:
    assert TOOLKIT["version"] == VERIFIER["version"]
    assert f"bonsai-verifier=={VERIFIER['version']}" in TOOLKIT["dependencies"]
    assert version("bonsai-circuits") == version("bonsai-verifier") == TOOLKIT["version"]


def test_changelog_begins_with_the_current_version() -> None:
    heading = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heading is not None
    assert heading[1] == TOOLKIT["version"]


def test_both_distributions_carry_both_licences() -> None:
    assert TOOLKIT["license"] == VERIFIER["license"] == "MIT OR Apache-2.0"
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        assert (ROOT / name).read_text() == (ROOT / "verifier" / name).read_text() != ""
        assert name in (ROOT / "LICENSE").read_text()


# What is installed -----------------------------------------------------------------------------------------------------------


def needed(name: str, extras: frozenset[str], seen: set[str]) -> set[str]:
    """Every distribution that `name` pulls in here, its own included."""
    for text in requires(name) or []:
        requirement = Requirement(text)
        applies = [
            requirement.marker is None or requirement.marker.evaluate({"extra": extra}) for extra in {"", *extras}
        ]
        found = str(canonicalize_name(requirement.name))
        if any(applies) and found not in seen:
            seen.add(found)
            needed(found, frozenset(requirement.extras), seen)
    return seen


def test_constraints_pin_every_package_that_is_installed() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    pinned = {
        str(canonicalize_name(pin.name)): str(pin.specifier).removeprefix("==")
        for pin in pins
        if pin.marker is None or pin.marker.evaluate()
    }
    installed = needed("bonsai-circuits", frozenset({"dev"}), set()) - {"bonsai-verifier"}
    assert {name: version(name) for name in installed} == {name: pinned.get(name) for name in installed}
    assert set(pinned) - installed == {"setuptools"}  # needed to build alone


def test_lock_pins_the_outside_tools_and_holds_no_addresses() -> None:
    lock = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    assert lock["node_modules/circom2"]["version"] == "0.2.23"
    assert lock["node_modules/snarkjs"]["version"] == "0.7.6"
    assert [path for path, entry in lock.items() if "resolved" in entry] == []


# Rooms -----------------------------------------------------------------------------------------------------------------------


def test_numba_is_imported_in_kernels_alone() -> None:
    imports = re.compile(r"^\s*(?:import|from)\s+(?:numba|llvmlite)\b", re.MULTILINE)
    found = {path for package in PACKAGES for path in modules(package) if imports.search(path.read_text())}
    assert {path for path in found if path.parent.name != "kernels"} == set()


def test_a_thing_lives_with_what_it_serves() -> None:
    nowhere = {"common", "helpers", "misc", "tools", "utils"}
    assert {
        path for package in PACKAGES for path in modules(package) if {path.stem, path.parent.name} & nowhere
    } == set()


def test_the_map_shows_the_rooms_that_stand() -> None:
    tree = (ROOT / "docs" / "house.md").read_text().split("```")[1]
    shown: dict[str, set[str]] = {}
    for line in tree.splitlines():
        if top := re.match(r"(?:verifier/)?(\w+)/ ", line):
            inside = shown.setdefault(top[1], set())
        elif room := re.match(r"  (\w+)(?:/|\.py) ", line):
            inside.add(room[1])
    for package in PACKAGES:
        files = {path.stem for path in package.glob("*.py")} - {"__init__"}
        assert shown[package.name] == rooms(package) | files


@pytest.mark.parametrize("page", PAGES)
def test_no_page_holds_a_placeholder(page: str) -> None:
    assert not re.search(r"FIGURES_|TODO|FIXME|<!--", (ROOT / page).read_text())

"""The page of a profile: complete in itself, the same bytes each time, and nothing in a name is markup."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from bonsai_circuits import Circuit, build, built_in, write
from bonsai_circuits.pipeline import Compiled
from bonsai_circuits.report.profile import profile_html
from bonsai_circuits.report.tree import by_scope, by_source
from tests.support import compiled

VOID = {"meta", "input", "br", "img", "link", "hr"}
HOSTILE = """<img src=x onerror=alert(1)>'"&</script><b>"""


class Page(HTMLParser):
    """The elements of a page and its text; fails if tags do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        (self.scripts if self._open and self._open[-1] == "script" else self.texts).append(data)

    @property
    def data(self) -> Any:
        return json.loads(self.scripts[0])


@pytest.fixture(scope="module")
def send() -> Compiled:
    return build(built_in("send", "poseidon", "wide"))


@pytest.fixture(scope="module")
def page(send: Compiled) -> str:
    return profile_html(send)


def test_the_page_refers_to_nothing_outside(page: str) -> None:
    assert re.findall(r"https?:|//[a-z]|@import|url\(", page) == []
    parsed = Page(page)
    assert {tag for tag, _ in parsed.tags} & {"link", "img", "iframe", "object", "base", "a"} == set()
    assert [
        a for _, attributes in parsed.tags for a in attributes if a in ("src", "href", "srcset") or a[:2] == "on"
    ] == []
    (policy,) = [a["content"] for tag, a in parsed.tags if tag == "meta" and "http-equiv" in a]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def test_the_page_has_counts_rules_digest_and_both_trees(page: str, send: Compiled) -> None:
    parsed = Page(page)
    texts = {text.strip() for text in parsed.texts}
    assert {"911", "1,174", "1,216", "published 3,303", send.about.digest.hex()} <= texts
    assert {"boolean", "general product", "257", "514"} <= texts
    scopes, lines = parsed.data
    assert scopes[:4] == ["send-poseidon", "", 911, 1174]
    assert lines[:4] == ["send-poseidon", "", 911, 1174]
    assert [child[0] for child in scopes[4]] == ["account", "receipt", "bits[64]", "outline"]
    assert [child[1] for child in lines[4]] == ["account", "account", "receipt", "bits[64]", "bits[64]", ""]
    assert all(child[0].startswith("relations/send.py:") for child in lines[4][:-1])


def test_the_data_are_the_trees(page: str, send: Compiled) -> None:
    def encoded(node: Any) -> list[Any]:
        below = [encoded(child) for child in node.below.values()]
        return [node.name, node.note, node.r1cs, node.sr1cs, *([below] if below else [])]

    assert Page(page).data == [encoded(by_scope(send)), encoded(by_source(send))]


def test_the_page_is_the_same_from_memory_and_from_the_folder(page: str, send: Compiled, tmp_path: Path) -> None:
    write(tmp_path, send)
    assert profile_html(Circuit.open(tmp_path)) == page == profile_html(build(built_in("send", "poseidon", "wide")))


def test_names_are_text() -> None:
    def describe(c: Any, p: Any, w: Any) -> None:
        with c.scope(HOSTILE):
            p.x.must_equal(c.square(w.a, HOSTILE))

    circuit = compiled(describe, "x")
    text = profile_html(replace(circuit, about=replace(circuit.about, name=HOSTILE)))
    parsed = Page(text)
    assert HOSTILE not in text
    assert {tag for tag, _ in parsed.tags} & {"img", "b"} == set()
    assert len([tag for tag, _ in parsed.tags if tag == "script"]) == 2
    assert parsed.data[0][0] == HOSTILE
    assert HOSTILE in {t.strip() for t in parsed.texts}


def test_a_page_can_be_read_without_a_mouse_or_a_script(page: str) -> None:
    parsed = Page(page)
    tags = parsed.tags
    assert ("html", {"lang": "en"}) in tags
    assert [a["role"] for tag, a in tags if a.get("id") == "map"] == ["tree"]
    assert all("aria-label" in a for tag, a in tags if a.get("id") == "map" or tag == "nav")
    assert [a["aria-live"] for tag, a in tags if a.get("id") == "said"] == ["polite"]
    assert [tag for tag, _ in tags].count("legend") == [tag for tag, _ in tags].count("fieldset") == 3
    headers = [a.get("scope") for tag, a in tags if tag == "th"]
    assert set(headers) == {"col", "row"}
    assert [tag for tag, _ in tags].count("caption") == [tag for tag, _ in tags].count("table") == 3
    assert "noscript" in {tag for tag, _ in tags}

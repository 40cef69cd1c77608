"""Trees whose pages and jobs are small, so that a few hundred leaves use all of their parts."""

from collections.abc import Iterator

import pytest

from bonsai_circuits.trees import levels, shape
from bonsai_circuits.trees.node_hash import BLAKE3


@pytest.fixture(params=["as built", "small pages"])
def pages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The suite runs over trees as they are built, and over trees of pages of at most 20 nodes and jobs of as few."""
    if request.param == "small pages":
        small_pages(monkeypatch)
    return request.param


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small pages alone."""
    small_pages(monkeypatch)


def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape, "_PAGE_NODES", 20)
    monkeypatch.setattr(levels, "_FIRST_NODES", 2)
    monkeypatch.setattr(levels, "_SLAB_PAGES", 3)
    monkeypatch.setattr(type(BLAKE3), "block", 16)

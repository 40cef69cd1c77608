"""Counting what a batch costs."""

from typing import Any, NamedTuple

import pytest

import bonsai_verifier as bv
from bonsai_verifier import equation


class Counted(NamedTuple):
    """The sums that a batch took: how many proofs each had, and how many asked for membership."""

    sizes: list[int]
    membership: list[int]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    calls = Counted([], [])
    sums, in_subgroup = equation.sums, equation.in_subgroup

    def counted_sums(vk: bv.VerifyingKey, c: equation.Claims, *args: Any, test: bool = False, **named: Any) -> Any:
        calls.sizes.append(len(c))
        calls.membership.extend([len(c)] * test)
        return sums(vk, c, *args, test=test, **named)

    def counted_membership(c: equation.Claims, *args: Any, **named: Any) -> bool:
        calls.membership.append(len(c))
        return in_subgroup(c, *args, **named)

    monkeypatch.setattr(equation, "sums", counted_sums)
    monkeypatch.setattr(equation, "in_subgroup", counted_membership)
    return calls

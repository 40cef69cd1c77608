"""Rows as a tree, by scope and by source line: every row once, in both systems."""

from pathlib import Path

from bonsai_circuits.report.tree import OUTLINE_NAME, Node, by_scope, by_source, scope_table
from tests.support import compiled


def describe(c, p, w):
    with c.scope("outer"):
        a2 = c.square(w.a, "a^2")
        with c.scope("inner"):
            ab = c.product(w.a, w.b, "a b")
    p.x.must_equal(a2 * ab)


CIRCUIT = compiled(describe, "x")
HERE = "/".join([*__name__.split(".")[:-1], Path(__file__).name])


def rows(root: Node) -> list[tuple[int, str, int, int]]:
    return [(level, node.name, node.r1cs, node.sr1cs) for level, node in root.walk()]


def test_rows_by_scope_include_what_is_below() -> None:
    assert rows(by_scope(CIRCUIT)) == [
        (0, "test", 3, 7),
        (1, "outer", 2, 3),
        (2, "inner", 1, 2),
        (1, OUTLINE_NAME, 0, 2),
    ]


def test_rows_by_source_begin_with_the_authors_line() -> None:
    root = by_source(CIRCUIT)
    line = describe.__code__.co_firstlineno
    found = [(level, name, sr1cs) for level, name, _, sr1cs in rows(root)]
    assert found == [
        (0, "test", 7),
        (1, f"{HERE}:{line + 2}", 1),
        (2, "a^2", 1),
        (1, f"{HERE}:{line + 4}", 2),
        (2, "a b", 2),
        (1, f"{HERE}:{line + 5}", 2),
        (2, "product", 2),
        (1, OUTLINE_NAME, 2),
    ]
    assert root.below[f"{HERE}:{line + 2}"].note == "outer"
    assert root.below[f"{HERE}:{line + 5}"].note == ""


def test_a_line_that_calls_a_gadget_stands_above_the_gadgets_lines() -> None:
    from bonsai_circuits.gadgets.range import in_range

    circuit = compiled(lambda c, p, w: in_range(c, p.x, 3), "x")
    (user, _), (outline, _) = ((node, node.below) for node in by_source(circuit).below.values())
    assert user.name.startswith(HERE)
    assert [(node.name.partition(":")[0], node.r1cs) for node in user.below.values()] == [
        ("gadgets/range.py", 3),
    ]
    assert outline.name == OUTLINE_NAME


def test_the_table_has_as_many_levels_as_asked_for() -> None:
    root = by_scope(CIRCUIT)
    assert scope_table(root, 1).split("\n") == [
        "rows by scope  R1CS  SR1CS",
        "test              3      7",
        "  outer           2      3",
        "  outline         0      2",
    ]
    assert len(scope_table(root, None).split("\n")) == 5
    assert root.to_json(1)["below"][0] == {"name": "outer", "r1cs": 2, "sr1cs": 3}
    assert root.to_json()["below"][0]["below"] == [{"name": "inner", "r1cs": 1, "sr1cs": 2}]

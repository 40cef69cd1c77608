import re
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonsai_circuits.errors import InputError
from bonsai_circuits.witness.inputs import (
    MAX_BYTES,
    collapsed,
    flatten_inputs,
    format_inputs,
    parse_inputs,
    read_inputs,
    select_inputs,
)
from bonsai_verifier.parameters import FR_MODULUS as R


@given(st.dictionaries(st.text(min_size=1), st.integers(0, R - 1)))
def test_what_is_written_is_read(values: dict[str, int]) -> None:
    assert parse_inputs(format_inputs(values).encode(), "test") == values


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        values = parse_inputs(data, "test")
    except InputError:
        return
    assert all(0 <= value < R for value in values.values())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "1",
        '{"a": "1", "a": "2"}',
        '{"a": 1e3}',
        '{"a": 1.0}',
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": "0x10"}',
        '{"a": " 1"}',
        '{"a": "+1"}',
        '{"a": "1_000"}',
        '{"a": "\u0661"}',
        '{"a": ""}',
        '{"a": {}}',
        '{"a": false}',
        '{"a": -1}',
        f'{{"a": {R}}}',
        '{"a": "' + "9" * 5000 + '"}',
        '{"a": ' + "9" * 5000 + "}",
        "[" * 100_000,
        '{"a":' * 100_000,
    ],
)
def test_inexact_or_misshapen_values_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_inputs(text.encode(), "test")


@pytest.mark.parametrize("value", [2**53 + 1, 2**64 - 1, R - 1])
def test_integers_are_exact(value: int) -> None:
    assert parse_inputs(b'{"a": %d, "b": "%d"}' % (value, value), "test") == {"a": value, "b": value}


def test_a_file_that_is_too_large_or_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_inputs(tmp_path / "none.json")
    with pytest.raises(InputError, match="cannot be read"):
        read_inputs(tmp_path)
    large = tmp_path / "large.json"
    large.write_bytes(b" " * (MAX_BYTES + 1))
    with pytest.raises(InputError, match="larger"):
        read_inputs(large)


NAMES = [*(f"p[{i}][{j}]" for i, n in enumerate((3, 1, 1, 3)) for j in range(n)), "b", *(f"q[{i}]" for i in (0, 1, 4))]


def test_elements_of_arrays_are_shown_as_ranges() -> None:
    assert collapsed(NAMES) == ["p[0][0..2]", "p[1..2][0]", "p[3][0..2]", "b", "q[0..1]", "q[4]"]
    assert collapsed(["a", "a[", "a[x]", "a[01]", "[0]"]) == ["a", "a[", "a[x]", "a[01]", "[0]"]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 2)), unique=True))
def test_ranges_stand_for_their_elements_and_nothing_else(indices: list[tuple[int, int, int]]) -> None:
    names = [f"x[{i}][{j}][{k}]" for i, j, k in indices]
    expanded = []
    for text in collapsed(names):
        ends = [part.strip("[]").split("..") for part in re.findall(r"\[[^]]*\]", text)]
        spans = [range(int(end[0]), int(end[-1]) + 1) for end in ends]
        expanded += [f"x[{i}][{j}][{k}]" for i, j, k in product(*spans)]
    assert sorted(expanded) == sorted(names)


def test_missing_and_unknown_elements_are_named_as_ranges() -> None:
    values = dict.fromkeys(NAMES, 1)
    with pytest.raises(InputError) as e:
        select_inputs({"b": 1}, NAMES, ())
    shape = "expected {p[0][0..2], p[1..2][0], p[3][0..2], b, q[0..1], q[4]}"
    assert str(e.value) == f"p[0][0..2]: this input is missing; {shape}"
    with pytest.raises(InputError) as e:
        select_inputs(values | {"z[0]": 1, "z[1]": 1, "y": 2}, NAMES, ("o[0]", "o[1]"))
    assert str(e.value) == f"z[0..1]: there is no such input; {shape} and, if you like, {{o[0..1]}}"


def test_a_list_for_a_number_is_named() -> None:
    with pytest.raises(InputError, match=r"^fee: this is one number, not a list; expected \{fee\}"):
        select_inputs(flatten_inputs({"fee": [10]}), ["fee"], ())


def test_a_number_of_thousands_of_digits_is_an_error_of_ours() -> None:
    with pytest.raises(InputError, match=r"^inputs: .* found: a number of 5000 digits$"):
        parse_inputs(b'{"fee": ' + b"1" * 5000 + b"}", "inputs")


def test_a_name_of_many_indices_is_an_unknown_name() -> None:
    with pytest.raises(InputError, match="no such input"):
        select_inputs({"a": 1, "a" + "[0]" * 5000: 1}, ["a"], ())

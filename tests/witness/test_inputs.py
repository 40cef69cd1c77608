from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonsai_circuits.errors import InputError
from bonsai_circuits.witness.inputs import MAX_BYTES, format_inputs, parse_inputs, read_inputs
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

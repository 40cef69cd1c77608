"""JSON objects: the ones that come from outside, and the one encoding of the ones that we write into digested files."""

import json
import re
from typing import Any

# A string, closed or not, or a bracket.  Possessive, so that a scan never goes back: its time is linear.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[{]|[\]}]', re.DOTALL)
_MAX_NESTING = 64
_MAX_DIGITS = 4000  # below the interpreter's own limit, whose error speaks of the interpreter


def canonical_json(value: dict[str, Any]) -> bytes:
    """The one encoding of a JSON object: keys sorted, no spaces, ASCII.  Raises TypeError, ValueError: JSON cannot hold it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def parse_json(data: bytes) -> dict[str, Any]:
    """A JSON object from outside, numbers exact.

    Raises ValueError: not JSON, not an object, a name twice, nested too deeply (the interpreter's own limit is no protection: whoever
    imports this may have raised it, and then deep nesting overflows the stack).
    """
    text = data.decode("utf-8")  # json itself would also take UTF-16 and UTF-32, past the scan below
    depth = 0
    for token in _TOKEN.finditer(text):
        first = token[0][0]
        depth += (first in "[{") - (first in "]}")
        if depth > _MAX_NESTING:
            raise ValueError(f"nested more than {_MAX_NESTING} deep")
    value = json.loads(text, object_pairs_hook=_without_duplicates, parse_int=_integer)
    if not isinstance(value, dict):
        raise ValueError("another value")
    return value


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a name appears twice")
    return value

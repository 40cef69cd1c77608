"""The relations as circom 2 programs with our constants: written straightforwardly, to check the optimised circuits by."""

from collections.abc import Callable, Mapping
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from ..errors import InputError
from ..native.poseidon import ACCOUNT_TAG, OUTPUT, RECEIPT_TAG, poseidon_parameters

AMOUNT_BITS = 64


def render(circuit: str) -> dict[str, str]:
    """The program `<circuit>.circom` and the files it includes, as {file name: text}.

    Raises InputError: a circuit that has no circom program.
    """
    if circuit not in _CIRCUITS:
        raise InputError("circuit", f"{circuit!r} has no circom program; there are: {', '.join(_CIRCUITS)}")
    return _CIRCUITS[circuit](circuit)


def _send_poseidon(circuit: str) -> dict[str, str]:
    values = {"account_tag": ACCOUNT_TAG, "receipt_tag": RECEIPT_TAG, "amount_bits": AMOUNT_BITS}
    return {
        f"{circuit}.circom": _fill("send.circom.j2", values),
        "poseidon.circom": _fill(
            "poseidon.circom.j2", {"parameters": [poseidon_parameters(3), poseidon_parameters(4)], "output": OUTPUT}
        ),
    }


def _fill(template: str, values: Mapping[str, object]) -> str:
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("bonsai_circuits", "templates"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 (programs, not HTML)
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


_CIRCUITS: dict[str, Callable[[str], dict[str, str]]] = {"send-poseidon": _send_poseidon}

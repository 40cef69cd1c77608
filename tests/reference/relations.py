"""The relations as predicates on plain integers, for comparison with the circuits."""

from collections.abc import Mapping, Sequence
from typing import Any

from .poseidon import P, poseidon

AMOUNT = 2**64
ACCOUNT, RECEIPT = 1 << 40, 2 << 40


def com_acct(b: int, root: int, s: int) -> int:
    """An account: balance, root of its nullifier tree, blinding."""
    return poseidon([b, root, s], ACCOUNT)


def com_rec(v: int, sen: int, rec: int, t: int) -> int:
    """A receipt: value, sender, receiver, blinding."""
    return poseidon([v, sen, rec, t], RECEIPT)


def send_outputs(w: dict[str, int]) -> tuple[int, int, int]:
    """(com, com', rho) of a send, whether or not its amounts are in range."""
    return (
        com_acct(w["b"], w["root"], w["s"]),
        com_acct((w["b"] - w["v"] - w["fee"]) % P, w["root"], w["s_new"]),
        com_rec(w["v"], w["A"], w["rec"], w["t"]),
    )


def send(w: dict[str, int]) -> bool:
    """R_send(A, com, com', rho, fee; b, v, root, rec, s, s', t), all in Fr."""
    return (
        (w["com"], w["com_new"], w["rho"]) == send_outputs(w)
        and 0 <= w["v"] < AMOUNT
        and (w["b"] - w["v"] - w["fee"]) % P < AMOUNT
    )


# Trees -----------------------------------------------------------------------------------------------------------------------

WIDTHS = {"wide": (3, 2, 2, *[3] * 11), "classic": (1,) * 40}
BITMAP_BITS = {"wide": 7, "classic": 0}


def digits_of(pid: int, widths: Sequence[int]) -> list[int]:
    """pid in the mixed base of the widths, lowest digit first."""
    out = []
    for width in widths:
        out.append(pid % 2**width)
        pid //= 2**width
    return out


def fold(leaf: int, digits: Sequence[int], path: Sequence[Sequence[int]]) -> int:
    """The root over a leaf: at each level its node is child `digit`, and the path gives the other children in order."""
    node = leaf
    for digit, siblings in zip(digits, path, strict=True):
        children = [*siblings[:digit], node, *siblings[digit:]]
        node = poseidon(children, 2 ** len(children) - 1)
    return node


def receipt_root(shape: str, pid: int, receipt: int, path: Sequence[Sequence[int]]) -> int:
    return fold(receipt, digits_of(pid, WIDTHS[shape]), path)


def nullifier_roots(
    shape: str, pid: int, leaf: int, path: Sequence[Sequence[int]], take: bool
) -> tuple[int, int] | None:
    """The roots before and after, or None if the position is taken already."""
    bitmap = BITMAP_BITS[shape]
    digits = digits_of(pid >> bitmap, WIDTHS[shape][3 if bitmap else 0 :])
    bit = 2 ** (pid % 2**bitmap)
    if leaf & bit or leaf >= 2 ** (2**bitmap):
        return None
    after = leaf | bit if take else leaf
    return fold(leaf, digits, path), fold(after, digits, path)


def receive_outputs(shape: str, w: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """(com, com_new, root_rho) of R_recv, or None where the secrets satisfy it for no public inputs."""
    balance = (w["b"] + w["v"] - w["fee"]) % P
    roots = nullifier_roots(shape, w["pid"], w["nullifier_leaf"], w["nullifier_path"], True)
    if balance >= 2**64 or w["pid"] >= 2**40 or roots is None:
        return None
    receipt = com_rec(w["v"], w["sen"], w["A"], w["t"])
    root_rho = receipt_root(shape, w["pid"], receipt, w["receipt_path"])
    return com_acct(w["b"], roots[0], w["s"]), com_acct(balance, roots[1], w["s_new"]), root_rho


def operation_outputs(shape: str, w: Mapping[str, Any]) -> tuple[int, int, int, int | None] | None:
    """(com, com_new, rho, root_rho) of R_op, root_rho None where any will do; None if no public inputs go with these secrets."""
    receive = w["receive"]
    sent, received = (0, w["v"]) if receive else (w["v"], 0)
    balance = (w["b"] + received - sent - w["fee"]) % P
    roots = nullifier_roots(shape, w["pid"], w["nullifier_leaf"], w["nullifier_path"], bool(receive))
    in_range = receive in (0, 1) and w["v"] < 2**64 and balance < 2**64 and w["pid"] < 2**40
    if not in_range or roots is None or (receive and w["rec"] != 0):
        return None
    rho = com_rec(sent, w["A"], w["rec"], w["t"])
    claimed = com_rec(received, w["sen"], w["A"], w["t_in"])
    root_rho = receipt_root(shape, w["pid"], claimed, w["receipt_path"]) if receive else None
    return com_acct(w["b"], roots[0], w["s"]), com_acct(balance, roots[1], w["s_new"]), rho, root_rho

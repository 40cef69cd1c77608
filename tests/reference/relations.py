"""The relations as predicates on plain integers, for comparison with the circuits."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import pedersen
from .poseidon import P, poseidon

AMOUNT = 2**64
ACCOUNT, RECEIPT = 1 << 40, 2 << 40


def com_acct(b: int, root: int, s: int) -> int:
    """An account: balance, root of its nullifier tree, blinding."""
    return poseidon([b, root, s], ACCOUNT)


def com_rec(v: int, sen: int, rec: int, t: int) -> int:
    """A receipt: value, sender, receiver, blinding."""
    return poseidon([v, sen, rec, t], RECEIPT)


class Poseidon:
    """Values are field elements: b and v of a commitment may be any."""

    com_acct = staticmethod(com_acct)
    com_rec = staticmethod(com_rec)
    receipt_widths: Mapping[str, Sequence[int]] = {"wide": (3, 2, 2, *[3] * 11), "classic": (1,) * 40}
    nullifier_widths: Mapping[str, Sequence[int]] = {"wide": (3,) * 11, "classic": (1,) * 40}
    flag_bits: Mapping[str, int] = {"wide": 7, "classic": 0}  # of pid: which flag of the leaf

    @staticmethod
    def encodes(*amounts: int) -> bool:
        return True

    @staticmethod
    def receipt_node(shape: str, level: int, children: Sequence[int]) -> int:
        return poseidon(list(children), 2 ** len(children) - 1)

    nullifier_node = receipt_node

    @staticmethod
    def leaf(shape: str, flags: int) -> int:
        return flags


class Pedersen:
    """Amounts are hashed as 64 bits, so b and v are below 2^64.  Of the classic tree, a leaf here is the node over sixteen flags."""

    com_acct = staticmethod(pedersen.com_acct)
    com_rec = staticmethod(pedersen.com_rec)
    receipt_widths: Mapping[str, Sequence[int]] = dict.fromkeys(("wide", "classic"), (1,) * 40)
    nullifier_widths: Mapping[str, Sequence[int]] = {"wide": (1, *[2] * 16), "classic": (1,) * 36}
    flag_bits: Mapping[str, int] = {"wide": 7, "classic": 4}

    @staticmethod
    def encodes(*amounts: int) -> bool:
        return all(amount < AMOUNT for amount in amounts)

    @staticmethod
    def receipt_node(shape: str, level: int, children: Sequence[int]) -> int:
        return pedersen.merkle_crh(level, *children)

    @staticmethod
    def nullifier_node(shape: str, level: int, children: Sequence[int]) -> int:
        if shape == "classic":
            return pedersen.merkle_crh(level + 4, *children)
        return pedersen.merkle_crh(40, *children) if level == 0 else pedersen.quaternary_crh(40 + level, children)

    @staticmethod
    def leaf(shape: str, flags: int) -> int:
        if shape == "wide":
            return flags
        nodes = [flags >> i & 1 for i in range(16)]
        for level in range(4):
            nodes = [pedersen.merkle_crh(level, *nodes[i : i + 2]) for i in range(0, len(nodes), 2)]
        return nodes[0]


Suite = type[Poseidon] | type[Pedersen]
SUITES: Mapping[str, Suite] = {"poseidon": Poseidon, "pedersen": Pedersen}
WIDTHS = Poseidon.receipt_widths
BITMAP_BITS = Poseidon.flag_bits


def send_outputs(w: Mapping[str, int], suite: Suite = Poseidon) -> tuple[int, int, int] | None:
    """(com, com', rho) of a send, whether or not its amounts are in range; None where they cannot be committed to."""
    change = (w["b"] - w["v"] - w["fee"]) % P
    if not suite.encodes(w["b"], w["v"], change):
        return None
    return (
        suite.com_acct(w["b"], w["root"], w["s"]),
        suite.com_acct(change, w["root"], w["s_new"]),
        suite.com_rec(w["v"], w["A"], w["rec"], w["t"]),
    )


def send(w: Mapping[str, int], suite: Suite = Poseidon) -> bool:
    """R_send(A, com, com', rho, fee; b, v, root, rec, s, s', t), all in Fr."""
    return (
        (w["com"], w["com_new"], w["rho"]) == send_outputs(w, suite)
        and 0 <= w["v"] < AMOUNT
        and (w["b"] - w["v"] - w["fee"]) % P < AMOUNT
    )


# Trees -----------------------------------------------------------------------------------------------------------------------


def digits_of(pid: int, widths: Sequence[int]) -> list[int]:
    """pid in the mixed base of the widths, lowest digit first."""
    out = []
    for width in widths:
        out.append(pid % 2**width)
        pid //= 2**width
    return out


def fold(
    node_of: Callable[[str, int, Sequence[int]], int],
    shape: str,
    leaf: int,
    digits: Sequence[int],
    path: Sequence[Sequence[int]],
) -> int:
    """The root over a leaf: at each level its node is child `digit`, and the path gives the other children in order."""
    node = leaf
    for level, (digit, siblings) in enumerate(zip(digits, path, strict=True)):
        node = node_of(shape, level, [*siblings[:digit], node, *siblings[digit:]])
    return node


def receipt_root(shape: str, pid: int, receipt: int, path: Sequence[Sequence[int]], suite: Suite = Poseidon) -> int:
    return fold(suite.receipt_node, shape, receipt, digits_of(pid, suite.receipt_widths[shape]), path)


def nullifier_roots(
    shape: str, pid: int, leaf: int, path: Sequence[Sequence[int]], take: bool, suite: Suite = Poseidon
) -> tuple[int, int] | None:
    """The roots before and after, or None if the position is taken already."""
    flags = suite.flag_bits[shape]
    digits = digits_of(pid >> flags, suite.nullifier_widths[shape])
    bit = 2 ** (pid % 2**flags)
    if leaf & bit or leaf >= 2 ** (2**flags):
        return None
    after = leaf | bit if take else leaf
    old, new = (fold(suite.nullifier_node, shape, suite.leaf(shape, value), digits, path) for value in (leaf, after))
    return old, new


def receive_outputs(shape: str, w: Mapping[str, Any], suite: Suite = Poseidon) -> tuple[int, int, int] | None:
    """(com, com_new, root_rho) of R_recv, or None where the secrets satisfy it for no public inputs."""
    balance = (w["b"] + w["v"] - w["fee"]) % P
    roots = nullifier_roots(shape, w["pid"], w["nullifier_leaf"], w["nullifier_path"], True, suite)
    if balance >= 2**64 or w["pid"] >= 2**40 or roots is None or not suite.encodes(w["b"], w["v"]):
        return None
    receipt = suite.com_rec(w["v"], w["sen"], w["A"], w["t"])
    root_rho = receipt_root(shape, w["pid"], receipt, w["receipt_path"], suite)
    return suite.com_acct(w["b"], roots[0], w["s"]), suite.com_acct(balance, roots[1], w["s_new"]), root_rho


def operation_outputs(
    shape: str, w: Mapping[str, Any], suite: Suite = Poseidon
) -> tuple[int, int, int, int | None] | None:
    """(com, com_new, rho, root_rho) of R_op, root_rho None where any will do; None if no public inputs go with these secrets."""
    receive = w["receive"]
    sent, received = (0, w["v"]) if receive else (w["v"], 0)
    balance = (w["b"] + received - sent - w["fee"]) % P
    roots = nullifier_roots(shape, w["pid"], w["nullifier_leaf"], w["nullifier_path"], bool(receive), suite)
    in_range = receive in (0, 1) and w["v"] < 2**64 and balance < 2**64 and w["pid"] < 2**40
    if not in_range or roots is None or not suite.encodes(w["b"]) or (receive and w["rec"] != 0):
        return None
    rho = suite.com_rec(sent, w["A"], w["rec"], w["t"])
    claimed = suite.com_rec(received, w["sen"], w["A"], w["t_in"])
    root_rho = receipt_root(shape, w["pid"], claimed, w["receipt_path"], suite) if receive else None
    return suite.com_acct(w["b"], roots[0], w["s"]), suite.com_acct(balance, roots[1], w["s_new"]), rho, root_rho

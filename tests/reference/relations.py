"""The relations as predicates on plain integers, for comparison with the circuits."""

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

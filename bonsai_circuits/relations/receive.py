"""R_recv: an account claims a receipt that was made out to it, once."""

from ..dsl.builder import Builder
from ..dsl.circuit import Public, Secret, relation
from ..gadgets.range import bits, in_range
from ..gadgets.suite import HashSuite
from ..gadgets.trees import POSITION_BITS, Trees
from .meanings import MEANINGS
from .send import AMOUNT_BITS


@relation(public=("A", "com", "com_new", "root_rho", "fee"), meanings=MEANINGS)
def receive(c: Builder, suite: HashSuite, trees: Trees, p: Public, w: Secret) -> None:
    """Claim the receipt of v from sen at position pid: the account A gains v - fee, and its nullifier tree takes pid.

    Public: A the account's identifier, com and com_new its commitment before and after, root_rho the root of the receipt tree, fee.
    """
    balance = w.b + w.v - p.fee
    position = trees.position(c, bits(c, w.pid, POSITION_BITS, "pid"))
    root, root_new = trees.take_nullifier(c, position, None)
    receipt = suite.receipt(c, w.v, w.sen, p.A, w.t)
    p.com.must_equal(suite.account(c, w.b, root, w.s), "com opens to (b, root; s)")
    p.com_new.must_equal(
        suite.account(c, balance, root_new, w.s_new), "com_new opens to (b + v - fee, root_new; s_new)"
    )
    p.root_rho.must_equal(
        trees.open_receipt(c, position, receipt), "the receipt (v, sen, A; t) stands at pid under root_rho"
    )
    in_range(c, balance, AMOUNT_BITS, "b + v - fee")

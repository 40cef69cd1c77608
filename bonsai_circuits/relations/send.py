"""R_send: an account pays v to a receiver, and nobody sees how much or to whom."""

from ..dsl.builder import Builder
from ..dsl.circuit import Public, Secret, relation
from ..gadgets.range import in_range
from ..gadgets.suite import HashSuite
from .meanings import MEANINGS

AMOUNT_BITS = 64


@relation(public=("A", "com", "com_new", "rho", "fee"), meanings=MEANINGS)
def send(c: Builder, suite: HashSuite, p: Public, w: Secret) -> None:
    """Spend v to rec: the account A loses v + fee, the receipt carries v.

    Public: A the account's identifier, com and com_new its commitment before and after, rho the receipt, fee.  The root of the
    account's nullifier tree is the same in both commitments: sending claims nothing.
    """
    change = w.b - w.v - p.fee
    p.com.must_equal(suite.account(c, w.b, w.root, w.s), "com opens to (b, root; s)")
    p.com_new.must_equal(suite.account(c, change, w.root, w.s_new), "com_new opens to (b - v - fee, root; s_new)")
    p.rho.must_equal(suite.receipt(c, w.v, p.A, w.rec, w.t), "rho opens to (v, A, rec; t)")
    in_range(c, w.v, AMOUNT_BITS, "v")
    in_range(c, change, AMOUNT_BITS, "b - v - fee")

"""R_op: an account sends or receives, and nobody sees which."""

from ..dsl.builder import Builder
from ..dsl.circuit import Public, Secret, relation
from ..gadgets.range import bits, in_range
from ..gadgets.suite import HashSuite
from ..gadgets.trees import POSITION_BITS, Trees
from .meanings import MEANINGS
from .send import AMOUNT_BITS


@relation(public=("A", "com", "com_new", "rho", "root_rho", "fee"), meanings=MEANINGS)
def operation(c: Builder, suite: HashSuite, trees: Trees, p: Public, w: Secret) -> None:
    """Where `receive` is 0, R_send: the account A loses v + fee and rho carries v to rec.

    Where it is 1, R_recv: A gains v - fee, its nullifier tree takes pid, and rho carries nothing to nobody, which no one can claim.
    Exactly one of the two holds: what is sent and what is received are v (1 - receive) and v receive; the opened receipt's root is compared
    where it is 1, the receiver is nobody where it is 1, and a bit of the nullifier tree is set only where it is 1.  Ranges always hold.
    """
    receive = bits(c, w.receive, 1, "receive")[0]
    in_range(c, w.v, AMOUNT_BITS, "v")
    received, sent = suite.split(c, receive, w.v)
    balance = w.b + received - sent - p.fee
    position = trees.position(c, bits(c, w.pid, POSITION_BITS, "pid"))
    root, root_new = trees.take_nullifier(c, position, receive)
    suite.nobody_if(c, receive, w.rec)
    p.com.must_equal(suite.account(c, w.b, root, w.s), "com opens to (b, root; s)")
    p.com_new.must_equal(suite.account(c, balance, root_new, w.s_new), "com_new opens to the new balance and root")
    p.rho.must_equal(suite.receipt(c, sent, p.A, w.rec, w.t), "rho opens to (v sent, A, rec; t)")
    claimed = trees.open_receipt(c, position, suite.receipt(c, received, w.sen, p.A, w.t_in))
    c.must_be_product(
        receive, claimed - p.root_rho, c.num(0), "the receipt (v, sen, A; t_in) stands at pid under root_rho"
    )
    in_range(c, balance, AMOUNT_BITS, "the new balance")

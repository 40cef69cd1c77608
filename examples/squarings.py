"""4,096 squarings and one public input, the circuit of the published figures for batches: y = x^(2^4096) for a secret x."""

from bonsai_circuits import Builder, Public, Secret, relation

N_SQUARINGS = 4096


@relation(public=("y",))
def squarings(c: Builder, p: Public, w: Secret) -> None:
    """y is x squared 4,096 times.  Cost: 4,096 rows in both systems, the last of which holds y."""
    x = w.x
    for _ in range(N_SQUARINGS - 1):
        x = x * x
    c.must_be_product(x, x, p.y, "the last square is y")

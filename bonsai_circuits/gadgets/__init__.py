"""What circuits are made of: each gadget states its algebra, its exact cost in both systems and why it is sound."""

from .boolean import both
from .pedersen_suite import PedersenSuite
from .poseidon import poseidon
from .range import bits, in_range
from .select import mux
from .suite import HashSuite, PoseidonSuite

__all__ = ["HashSuite", "PedersenSuite", "PoseidonSuite", "bits", "both", "in_range", "mux", "poseidon"]

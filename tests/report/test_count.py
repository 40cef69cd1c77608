import pytest

from bonsai_circuits.report.count import PUBLISHED, published


@pytest.mark.parametrize(
    ("relation", "hash_name", "r1cs", "sr1cs"),
    [
        ("send", "poseidon", 1647, 3303),
        ("recv", "poseidon", 30729, 61467),
        ("op", "poseidon", 31706, 63423),
        ("send", "pedersen", 16109, 32227),
        ("recv", "pedersen", 398111, 796231),
        ("op", "pedersen", 406460, 812931),
    ],
)
def test_published_figures_are_those_of_the_table(relation: str, hash_name: str, r1cs: int, sr1cs: int) -> None:
    """The table doubles: each Square R1CS figure is twice the R1CS one and a few rows for the inputs."""
    assert published(relation, hash_name) == {"r1cs": r1cs, "sr1cs": sr1cs}
    assert 0 < sr1cs - 2 * r1cs < 12
    assert len(PUBLISHED) == 6


def test_a_circuit_of_ones_own_has_none() -> None:
    assert published("card", "none") is None

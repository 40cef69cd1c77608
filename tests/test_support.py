"""What the tests rely on: the search for loose wires finds what trying finds."""

from bonsai_circuits.r1cs.diagnose import failed_rows
from bonsai_circuits.witness.runner import run
from bonsai_verifier.field import fr_from_ints, fr_to_ints
from bonsai_verifier.parameters import FR_MODULUS as R
from tests.support import compiled, free_wires, loose_wires, open_wires


def with_gaps(c, p, w):
    """Two values: bit, root, and tied, by two rows alike.  One: other, whose rows differ in the second.  Any: unread, if a = 0."""
    c.boolean(p.a, 0, "bit")
    tied = c.boolean(p.a, 1, "tied")
    c.must_be_square(tied - 2, 4 - 3 * tied, "tied is 0 or 1 once more")
    other = c.boolean(p.a, 2, "other")
    c.must_be_square(other - 3, 9 - 7 * other, "other is 0 or -1")
    p.square.must_equal(c.square(w.root, "root^2"))
    c.must_be_product(p.a, w.unread, 5 * p.a, "a unread = 5 a")


CIRCUIT = compiled(with_gaps, "square", "a")
W = run(CIRCUIT.tape, {"a": 0, "root": 7, "unread": 6})
SYSTEMS = (
    (CIRCUIT.r1cs, W.r1cs(), ["unread"], ["unread"]),
    (CIRCUIT.square, W.square(), [], ["unread", "helper#0"]),  # (a + u)^2 = h = (a - u)^2 at a = 0: u and -u
)


def test_loose_wires_are_those_with_a_second_value() -> None:
    for system, z, free, _ in SYSTEMS:
        assert not failed_rows(system, z)
        loose = []
        for wire in range(3, system.n_wires):
            value = fr_to_ints(z[wire : wire + 1])[0]
            for second in {0, 1, 12345, -value % R, R - 1} - {value}:
                changed = z.copy()
                changed[wire] = fr_from_ints([second])[0]
                if not failed_rows(system, changed):
                    loose.append(system.wire_names[wire])
                    break
        assert sorted(loose) == sorted(["unread", "root", "test/bit", "test/tied"])
        assert loose_wires(system, z, 3) == loose
        assert free_wires(system, z, 3) == free


def test_open_wires_are_those_that_nothing_determines() -> None:
    for system, z, _, left in SYSTEMS:
        known = {"root", "test/bit", "test/tied", "test/other"}
        assert open_wires(system, z, known.__contains__) == left
        assert {name for name in open_wires(system, z, lambda name: False) if "helper" not in name} >= known

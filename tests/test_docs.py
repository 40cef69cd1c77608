"""The pages of docs/ and the README: their code runs, their tables are recomputed, every error has its entry."""

import contextlib
import io
import math
import re
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import bonsai_circuits.errors
import bonsai_verifier.__main__
import bonsai_verifier.errors
from bonsai_circuits.cli.console import exit_code
from bonsai_circuits.cli.main import run as bonsai
from bonsai_circuits.dsl.builder import Builder
from bonsai_circuits.errors import BonsaiError
from bonsai_circuits.interop import node
from bonsai_circuits.interop.circom_templates import simplification
from bonsai_circuits.keys.domain import smallest_domain
from bonsai_circuits.lowering.square import RULES, lower
from bonsai_circuits.native import poseidon_bn254
from bonsai_circuits.native.poseidon import poseidon_parameters
from bonsai_circuits.native.poseidon_instance import PoseidonParameters
from bonsai_circuits.native.poseidon_schedule import schedule
from bonsai_circuits.pipeline import Circuit, build
from bonsai_circuits.relations.builtin import built_in
from bonsai_circuits.trees.store import Policies, TreeStore
from bonsai_verifier import decode_proof, decode_verifying_key
from bonsai_verifier.parameters import FR_MODULUS
from tests.interop.twins import ROWS as TWIN_ROWS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


# Code ------------------------------------------------------------------------------------------------------------------------
#
# A page runs from top to bottom in one working copy: Python blocks in one namespace, every line `bonsai ...` or `python -m
# bonsai_verifier ...` of the other blocks through the entry of that command line.  The text block behind a block is what it
# prints: "..." in it stands for anything, a line number of a file of the toolkit for any number.  A line that ends in
# `# exit code 1` is to fail that way.  A line `make` stands for what `make` leaves in compiled/.

PAGES = (
    "README.md",
    "docs/tutorial.md",
    "docs/tools.md",
    "docs/trees.md",
    "docs/verifier.md",
    "docs/hashes.md",
    "verifier/README.md",
)
MADE_BY_MAKE = ("bonsai compile send --no-circom", "bonsai setup send")

_COMMAND = re.compile(r"\s*(?:\$ )?(?:\.venv/bin/)?(bonsai .*|python -m bonsai_verifier .*)")
_EXIT_CODE = re.compile(r"#.*\bexit code (\d+)")


@dataclass(frozen=True)
class Block:
    """A block of code: its language ("" if the page does not say), its first line on the page, its text."""

    language: str
    line: int
    text: str


def blocks(page: str) -> list[Block]:
    """Fenced blocks, and indented ones."""
    found: list[Block] = []
    lines, start, fence = page.split("\n"), 0, None
    for i, line in enumerate(lines):
        if line.startswith("```") and fence is None:
            fence, start = line[3:].strip(), i + 1
        elif line.startswith("```") and fence is not None:
            found.append(Block(fence, start + 1, "\n".join(lines[start:i])))
            fence = None
        elif fence is None and line.startswith("    ") and (i == 0 or not lines[i - 1].strip()):
            end = next((j for j in range(i, len(lines)) if lines[j] and not lines[j].startswith("    ")), len(lines))
            found.append(Block("", i + 1, "\n".join(text[4:] for text in lines[i:end])))
    return found


def run_command(line: str) -> None:
    """One command line, stated exit code and all; a word with * stands for the files that match."""
    program, *words = shlex.split(line, comments=True)
    if program == "python":  # -m bonsai_verifier
        words = words[2:]
    expanded = [match for word in words for match in (sorted(map(str, Path().glob(word))) if "*" in word else [word])]
    stated = _EXIT_CODE.search(line)
    command = bonsai_verifier.__main__.main if program == "python" else bonsai
    assert command(expanded) == int(stated[1] if stated else 0), line


def run_block(block: Block, script: str, first_line: int, namespace: dict[str, Any]) -> None:
    if block.language == "python":
        exec(compile("\n" * first_line + block.text, script, "exec"), namespace)
    elif block.language != "text":
        for line in block.text.replace("\\\n", " ").split("\n"):
            if line.strip() == "make":
                for command in MADE_BY_MAKE:
                    run_command(command)
            elif found := _COMMAND.fullmatch(line):
                run_command(found[1])


def as_pattern(text: str) -> str:
    """The text itself, but for "..." and the line numbers of the toolkit's own files."""
    pattern = re.escape(text.strip()).replace(re.escape("..."), ".*")
    return re.sub(r"(bonsai_circuits/[\w/]+\\\.py:)\d+", r"\1\\d+", pattern)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_runs_and_prints_what_it_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BONSAI_COMPILED", raising=False)
    page = ROOT / name
    script, lines, namespace = f"{page.stem.lower()}.py", 0, {"__name__": "__main__"}
    found = blocks(page.read_text())
    for block, following in zip(found, [*found[1:], None], strict=True):
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                run_block(block, script, lines, namespace)
        except Exception as e:
            raise AssertionError(f"{page.name}:{block.line} failed after printing:\n{printed.getvalue()}") from e
        if block.language == "python":
            lines += block.text.count("\n") + 2  # one line lies between two blocks
        if following and following.language == "text":
            assert re.fullmatch(as_pattern(following.text), printed.getvalue().strip(), re.DOTALL), (
                f"{page.name}:{following.line} says otherwise:\n{printed.getvalue()}"
            )


def test_blocks_are_found() -> None:
    page = (
        "# A\n\n    make\n    bonsai count\n\n```python\nx = 1\n```\ntext\n    not code\n```sh\nbonsai verify a\n```\n"
    )
    assert [(b.language, b.line, b.text.rstrip()) for b in blocks(page)] == [
        ("", 3, "make\nbonsai count"),
        ("python", 7, "x = 1"),
        ("sh", 12, "bonsai verify a"),
    ]


# Errors ----------------------------------------------------------------------------------------------------------------------


def error_classes() -> list[type[BonsaiError]]:
    rooms = (bonsai_verifier.errors, bonsai_circuits.errors)
    found = {value for room in rooms for value in vars(room).values() if isinstance(value, type)}
    return sorted((c for c in found if issubclass(c, BonsaiError)), key=lambda c: c.__name__)


def entries() -> dict[str, str]:
    """Name of an error -> its entry on the page."""
    sections = re.split(r"^## ", (DOCS / "errors.md").read_text(), flags=re.MULTILINE)
    return {found[1]: section for section in sections if (found := re.match(r"`(\w+)`\n", section))}


@pytest.mark.parametrize("error", error_classes(), ids=lambda error: error.__name__)
def test_every_error_has_an_entry(error: type[BonsaiError]) -> None:
    entry = " ".join(entries()[error.__name__].split())
    assert re.search(rf"\*Exit code:\* {exit_code(error('field', 'message'))}\b", entry)
    for part in ("*Raised by*", *(("*Means*", "*Do:*") if error is not BonsaiError else ()), "```text"):
        assert part in entry, part


def test_every_entry_is_an_error() -> None:
    assert set(entries()) == {e.__name__ for e in error_classes()}


HONEST = {"minimum": 18, "revoked": 2, "age": 34, "number": 1, "s": 5}


def card(folder: Path) -> Circuit:
    """The circuit of the tutorial, from the tutorial, in `folder`."""
    python = [b.text for b in blocks((DOCS / "tutorial.md").read_text()) if b.language == "python"]
    end = next(i for i, text in enumerate(python) if "Circuit.open" in text)
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        exec(compile("\n\n".join(python[: end + 1]), "tutorial.py", "exec"), {"__name__": "__main__"})
    return Circuit.open(folder / "compiled" / "card")


def loose_hint() -> None:
    c = Builder("card", ("x",))
    c.hint_inverse(c.public("x") * c.public("x"), "inverse")
    c.finish()


def failing_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "find_node", lambda: Path(sys.executable))
    node.run_tool("circom2", ["-c", "print('previous errors were found'); raise SystemExit(1)"], Path.cwd(), 60)


@pytest.fixture
def provoked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[], object]]:
    """How to get the example of each entry."""
    circuit = card(tmp_path)
    monkeypatch.chdir(tmp_path)
    key = circuit.make_development_keys()
    data = (circuit.folder / "verifying.key").read_bytes()

    def no_node() -> None:
        monkeypatch.setenv("PATH", "")
        node.find_node()

    def locked_store() -> None:
        Path("trees").mkdir()
        with TreeStore.create(Path("trees/receipts"), 4):
            TreeStore.open(Path("trees/receipts"))

    def failing_store() -> None:
        def full(*_: object) -> None:
            raise OSError("no room")

        with TreeStore.open(Path("trees/receipts"), policies=Policies(flush_interval=None)) as store:
            store.insert(bytes(32))
            monkeypatch.setattr(store._tail, "add", full)
            store.flush()

    def wrong_type() -> None:
        Path("in.json").write_text('{"fee": "x"}')
        from bonsai_circuits.witness.inputs import read_inputs

        read_inputs(Path("in.json"))

    return {
        "BonsaiError": wrong_type,
        "WireError": lambda: decode_proof(bytes(127)),
        "InputError": lambda: circuit.witness({"age": 1}),
        "KeyRefused": lambda: decode_verifying_key(data),
        "CircuitMismatch": lambda: decode_verifying_key(data, circuit_digest=bytes(32)),
        "CircuitError": loose_hint,
        "Unsatisfied": lambda: circuit.prove(key, circuit.witness(HONEST | {"age": 17})),
        "FileDamaged": lambda: Circuit.open(Path("compiled/nothing")),
        "StoreLocked": locked_store,
        "StoreFailed": failing_store,
        "ToolMissing": no_node,
        "ToolFailed": lambda: failing_tool(monkeypatch),
    }


def test_the_examples_of_errors_are_real(provoked: dict[str, Callable[[], object]]) -> None:
    assert set(provoked) == {e.__name__ for e in error_classes()}
    for name, provoke in provoked.items():
        (example,) = [b.text for b in blocks(entries()[name]) if b.language == "text"]
        with pytest.raises(getattr(bonsai_circuits.errors, name)) as error:
            provoke()
        assert re.fullmatch(as_pattern(example), str(error.value), re.DOTALL), f"{name}: {error.value}"


# Tables ----------------------------------------------------------------------------------------------------------------------


def tables(page: str) -> Iterator[list[list[str]]]:
    """The tables of a page as rows of cells, without the line below the titles."""
    for table in re.findall(r"(?:^\|.*\|\n)+", (DOCS / page).read_text(), re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().split("\n")]
        yield [rows[0], *rows[2:]]


def table(page: str, *titles: str) -> dict[str, list[str]]:
    """The table with these titles: first cell -> the other cells."""
    (found,) = [rows for rows in tables(page) if rows[0][: len(titles)] == list(titles)]
    return {row[0]: row[1:] for row in found[1:]}


def cells(*values: Any) -> list[str]:
    return [f"{value:,}" if isinstance(value, int) else str(value) for value in values]


# Tables of hashes.md ---------------------------------------------------------------------------------------------------------

BITS_PER_ROUND = math.log2(5)
ORDER_BITS = math.log2(FR_MODULUS)


def rounds(p: PoseidonParameters) -> int:
    return p.r_f + p.r_p


def hash_rows(p: PoseidonParameters, free: int = 0) -> tuple[int, int]:
    boxes = 8 * p.t + p.r_p - 1 - free
    return 3 * boxes - p.t // 2, 4 * boxes - 2 * (p.t // 2)


def univariate_bits(p: PoseidonParameters) -> str:
    """log2 of 5^(R-2)."""
    return f"{(rounds(p) - 2) * BITS_PER_ROUND:.1f}"


def absorbed_bits(p: PoseidonParameters) -> str:
    """log2 of 5^(R-4-(t-2)): the first four full rounds and t - 2 partial ones add no degree."""
    return f"{(rounds(p) - 4 - (p.t - 2)) * BITS_PER_ROUND:.1f}"


def test_hashes_states_the_instance() -> None:
    for arity, row in table("hashes.md", "arity", "t", "R_F").items():
        p = poseidon_parameters(int(arity))
        assert row == cells(p.t, p.r_f, p.r_p, p.t * p.r_f + p.r_p, *hash_rows(p))
    assert (math.gcd(3, FR_MODULUS - 1), math.gcd(4, FR_MODULUS - 1), math.gcd(5, FR_MODULUS - 1)) == (3, 4, 1)
    assert f"log2 |F| = {ORDER_BITS:.3f}" in (DOCS / "hashes.md").read_text()


def test_hashes_states_the_rounds_of_every_arity() -> None:
    (found,) = [rows for rows in tables("hashes.md") if rows[0][:2] == ["inputs", "1"]]
    circom = dict(zip(found[0][1:], found[1][1:], strict=True))
    assert circom == {str(n): str(r_p) for n, r_p in poseidon_bn254.PARTIAL_ROUNDS.items()}
    by_range = {1: 55, **dict.fromkeys((5, 6), 56), **dict.fromkeys((7, 9, 10, 12, 13, 14), 57), 15: 59}
    assert {n: poseidon_parameters(n).r_p for n in by_range} == by_range
    in_circuits = set(map(int, table("hashes.md", "arity", "t", "R_F")))
    assert in_circuits | set(by_range) == set(range(1, 17))


def test_kernels_states_the_steps_of_a_poseidon_hash() -> None:
    for inputs, row in table("kernels.md", "inputs, BN254").items():
        p = poseidon_bn254.poseidon_bn254_parameters(int(inputs))
        t, n, half = p.t, p.t - 1, p.r_f // 2
        boxes = n + t * (p.r_f - 1) + p.r_p
        results = t * half + p.r_p + n + t * (half - 1) + 1
        products = len(schedule(p, 0, 2**260)) - n - results
        steps = 260 * boxes + 50 * (products + results)
        boxes, full = boxes + 1, t * (t + 1)
        sparse = 260 * boxes + 50 * (p.r_f * full + p.r_p * (2 * t - 1 + t))
        plain = 260 * boxes + 50 * rounds(p) * full
        assert row[:4] == cells(steps, sparse, plain, f"{steps / 2 / 8 / 4200:.2f} us")


def test_hashes_states_the_inequalities() -> None:
    log5_2 = 1 / BITS_PER_ROUND
    for arity, row in table("hashes.md", "arity", "interpolation").items():
        p = poseidon_parameters(int(arity))
        interpolation = 1 + math.ceil(128 * log5_2) + math.ceil(math.log(p.t, 5))
        groebner_1 = math.ceil(128 * log5_2)
        groebner_2 = math.ceil(p.t - 1 + log5_2 * min(128 / (p.t + 1), ORDER_BITS / 2))
        spare = rounds(p) - max(interpolation, groebner_1, groebner_2)
        assert row == cells(interpolation, groebner_1, groebner_2, rounds(p), spare)
        assert p.r_f >= 6
        assert math.floor(ORDER_BITS - 2) * (p.t + 1) >= 128
        assert (p.t - 1) * p.r_f + p.r_p > 2 * (p.t - 2 + 64 * log5_2)
        b = p.t // 3 * p.r_f // 2 + p.r_p + 5
        a = (p.r_f - 1) * p.t + p.r_p + p.t // 3
        assert 2 * math.log2(math.comb(a + b, b)) > 2 * 128


def test_hashes_states_the_degrees() -> None:
    for arity, row in table("hashes.md", "arity", "R").items():
        p = poseidon_parameters(int(arity))
        assert row == cells(rounds(p), univariate_bits(p), p.t - 2, absorbed_bits(p))
    nonlinear = [2 * (poseidon_parameters(arity).t - 2) for arity in (3, 4, 8)]
    partial = [poseidon_parameters(arity).r_p for arity in (3, 4, 8)]
    assert (nonlinear, partial) == ([4, 6, 14], [56, 56, 57])
    assert f"{55 * BITS_PER_ROUND:.1f}" == "127.7"
    assert f"{(ORDER_BITS + math.log2(math.pi / 2)) / 2:.2f}" == "127.75"


def test_the_partial_s_box_sees_every_direction_within_t_rounds() -> None:
    for arity in (2, 3, 4, 8, 11, 16):
        p = poseidon_parameters(arity)
        assert p.mds == tuple(zip(*p.mds, strict=True))
        row, rows = [1] + [0] * (p.t - 1), []
        for _ in range(p.t):
            rows.append(row)
            row = [sum(x * m for x, m in zip(row, column, strict=True)) % FR_MODULUS for column in p.mds]
        assert rank(rows) == p.t


def rank(rows: list[list[int]]) -> int:
    """The rank of a matrix over Fr."""
    rows, found = [list(row) for row in rows], 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(found, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        inverse = pow(rows[found][column], -1, FR_MODULUS)
        for i in range(found + 1, len(rows)):
            factor = rows[i][column] * inverse
            rows[i] = [(x - factor * y) % FR_MODULUS for x, y in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


def test_hashes_states_what_strengthening_costs() -> None:
    for arity, row in table("hashes.md", "arity", "R_P'").items():
        plain, strong = (poseidon_parameters(int(arity), strengthened) for strengthened in (False, True))
        more = [b - a for a, b in zip(hash_rows(plain), hash_rows(strong), strict=True)]
        percent = round(100 * more[0] / hash_rows(plain)[0])
        assert row == cells(strong.r_p, *more, percent, univariate_bits(strong), absorbed_bits(strong))
    r1cs, square = SEND.r1cs.n_rows + 3 * 42, SEND.square.n_rows + 3 * 56
    page = " ".join((DOCS / "hashes.md").read_text().split())
    assert f"`send` would have {r1cs:,} rows instead of 911, and {square:,} instead of 1,174 in SR1CS" in page
    assert f"a domain of {smallest_domain(square).size:,} instead of 1,216" in page


# Tables of relations.md ------------------------------------------------------------------------------------------------------

SEND = build(built_in("send", "poseidon", "wide"))
LOWERED = lower(SEND.r1cs)
HASHES = {"com": 3, "com_new": 3, "rho": 4}  # arity of the hash that each public input is


def tally(system: Any, *columns: str) -> Counter[tuple[Any, ...]]:
    """How many rows have each combination of scope (without the circuit's name), round and line of the relation."""
    o = system.origins
    scopes = [o.strings[i].split("/") for i in o.scope]
    keys = {
        "part": ["/".join(s[1:2]) or s[0] for s in scopes],
        "round": [next((int(x.split()[1]) for x in s if x.startswith("round ")), -1) for s in scopes],
        "line": o.user_line.tolist(),
    }
    return Counter(zip(*(keys[column] for column in columns), strict=True))


def by_part() -> dict[str, tuple[int, int]]:
    """Rows of each line of the relation in both systems, in the order of the lines."""
    r1cs, square = tally(SEND.r1cs, "part", "line"), tally(SEND.square, "part", "line")
    return {
        f"{part} {line}": (r1cs[part, line], n) for (part, line), n in sorted(square.items(), key=lambda x: x[0][1])
    }


def test_relations_states_the_rows_of_send_by_part() -> None:
    outline, *parts = by_part().items()
    stated = list(table("relations.md", "part", "R1CS").items())
    names = ("account", "account", "receipt", "bits[64]", "bits[64]")
    for name, (part, rows), (_, row) in zip(names, parts, stated, strict=False):
        assert part.startswith(name)
        assert row == cells(*rows)
    assert stated[5][1] == cells(*outline[1]) == cells(0, 1 + len(SEND.r1cs.public))
    assert stated[6] == ("total", cells(SEND.r1cs.n_rows, SEND.square.n_rows))
    assert (SEND.r1cs.n_rows, SEND.square.n_rows) == (911, 1174)


def test_relations_states_what_the_hashes_save() -> None:
    """The steps add up, each is what its argument says, and their sum is what is compiled."""
    stated = [row for rows in tables("relations.md") if rows[0][0] == "step" for row in rows[1:]]
    numbers = [tuple(int(cell.replace(",", "")) for cell in row[2:]) for row in stated]
    ps = [poseidon_parameters(arity) for arity in HASHES.values()]
    boxes = sum(8 * p.t + p.r_p for p in ps)
    hashed = {"root": 2, "s": 1, "s_new": 1, "rec": 1, "t": 1}  # how many hashes read the free input
    assert not set(hashed) & set(SEND.r1cs.wire_names)
    free, pairs = sum(hashed.values()), sum(p.t // 2 for p in ps)
    assert stated[0][0].startswith(f"{boxes} S-boxes")
    steps = [(3 * boxes, 4 * boxes), (-9, -12), (-3 * free, -4 * free), (-pairs, -2 * pairs), (0, 0)]
    hashes = tuple(map(sum, zip(*steps, strict=True)))
    assert numbers == [*steps, hashes, (128, 128), (0, 6), (911, 1174)]
    compiled_hashes = [rows for part, rows in by_part().items() if part.split()[0] in ("account", "receipt")]
    assert hashes == tuple(map(sum, zip(*compiled_hashes, strict=True)))
    assert hash_rows(ps[0], 2) == (253, 336)
    assert hash_rows(ps[2], 2) == (277, 368)


def test_relations_states_the_rows_of_send_by_round() -> None:
    stated = table("relations.md", "hash", "round 0")
    groups: Sequence[range] = (range(1), range(1, 4), range(4, 60), range(60, 63), range(63, 64), range(64))
    systems = [tally(system, "part", "round") for system in (SEND.r1cs, SEND.square)]
    for part, n_hashes in (("account", 2), ("receipt", 1)):
        counts = [[sum(rows[part, k] for k in group) // n_hashes for group in groups] for rows in systems]
        assert stated[part] == [f"{a} ({b})" for a, b in zip(*counts, strict=True)]


def test_relations_states_the_rules_of_send() -> None:
    squares = Counter(str(RULES[i]) for i in LOWERED.rule)
    rows = {rule: len(set(LOWERED.source[LOWERED.rule == RULES.index(rule)]) - {-1}) for rule in RULES}
    stated = table("relations.md", "rule", "R1CS")
    assert stated.pop("total") == cells(911, 1174)
    assert stated == {str(rule): cells(rows[rule], squares[str(rule)]) for rule in RULES if squares[str(rule)]}


def test_relations_states_the_rows_of_the_circom_twins() -> None:
    """Those that tests/interop counts in what the compiler wrote."""
    stated = table("relations.md", "twin", "rows")
    assert stated == {name: cells(rows, f"`--O{simplification(name)}`") for name, rows in TWIN_ROWS.items()}


def test_both_systems_leave_the_dimensions_of_the_free_choices() -> None:
    assert (SEND.r1cs.n_wires - 1, SEND.square.n_wires - 1) == (918, 1181)
    assert SEND.r1cs.n_wires - 1 - SEND.r1cs.n_rows == SEND.square.n_wires - 1 - SEND.square.n_rows == 7
    assert smallest_domain(SEND.square.n_rows).size == 1216 == 19 * 2**6 == 42 + SEND.square.n_rows


def test_the_inverse_of_the_fifth_power_of_a_free_input_is_its_witness() -> None:
    """Argument B: from the wire of the S-box alone the input is found."""
    from bonsai_circuits.witness.runner import run
    from bonsai_verifier.field import fr_to_ints

    inputs = {"A": 7, "fee": 10, "b": 1000, "v": 100, "root": 2**200 + 1, "rec": 9, "s": 11, "s_new": 12, "t": 13}
    z = fr_to_ints(run(SEND.tape, inputs).r1cs())
    constants, e = poseidon_parameters(3).round_constants[0], pow(5, -1, FR_MODULUS - 1)
    for position, name in ((2, "root"), (3, "s")):
        wire = SEND.r1cs.wire_names.index(f"send/account/poseidon[3]/round_0/s-box_{position}")
        assert (pow(z[wire], e, FR_MODULUS) - constants[position]) % FR_MODULUS == inputs[name]

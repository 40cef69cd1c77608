"""The send relation as a circom program, compiled over our prime: it agrees with the oracle and refuses what must not pass."""

import os
import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from bonsai_circuits.errors import InputError, ToolFailed, ToolMissing
from bonsai_circuits.interop import circom, node, snarkjs
from bonsai_circuits.interop.circom_templates import AMOUNT_BITS, render
from bonsai_circuits.interop.r1cs_file import read_r1cs, write_r1cs
from bonsai_circuits.interop.sym_file import Symbols, read_sym
from bonsai_circuits.interop.wtns_file import read_wtns, write_wtns
from bonsai_circuits.r1cs.system import R1CS, SparseRows
from bonsai_verifier.field import ints_from_limbs, limbs_from_ints
from bonsai_verifier.parameters import FR_MODULUS
from tests.reference import relations

R = FR_MODULUS
MAX = 2**AMOUNT_BITS - 1
CIRCUIT = "send-poseidon"
PUBLIC = ("A", "com", "com_new", "rho", "fee")
OUTPUTS = {"com": "account.out", "com_new": "account_new.out", "rho": "receipt.out"}
ROWS = 935  # fully simplified by circom 2.2.3

Inputs = dict[str, int]


@dataclass(frozen=True)
class Program:
    """A compiled program with what can be read of it."""

    paths: circom.CompiledCircom
    system: R1CS
    symbols: Symbols

    def witnesses(self, batch: list[Inputs]) -> list[list[int]]:
        """The values of all wires, for inputs that must be accepted."""
        results = circom.calculate_witnesses(self.paths.wasm, batch)
        assert [result for result in results if isinstance(result, ToolFailed)] == []
        return [ints_from_limbs(result) for result in results if not isinstance(result, ToolFailed)]

    def refusals(self, batch: list[Inputs]) -> list[str]:
        """The messages, for inputs that must be refused."""
        results = circom.calculate_witnesses(self.paths.wasm, batch)
        assert all(isinstance(result, ToolFailed) for result in results)
        return [str(result) for result in results]

    def failed_rows(self, values: list[int]) -> list[set[str]]:
        """The names of the wires of each row that values break."""

        def inner(rows: SparseRows, i: int) -> int:
            return sum(coeff * values[wire] for wire, coeff in rows.row(i)) % R

        s = self.system
        return [
            {s.wire_names[wire] for rows in (s.a, s.b, s.c) for wire, _ in rows.row(i)}
            for i in range(s.n_rows)
            if inner(s.a, i) * inner(s.b, i) % R != inner(s.c, i)
        ]


def build(folder: Path, simplify: int, amount_bits: int = AMOUNT_BITS) -> Program:
    for name, text in render(CIRCUIT).items():
        (folder / name).write_text(text.replace(f"Range({AMOUNT_BITS})", f"Range({amount_bits})"))
    try:
        paths = circom.compile_circom(folder / f"{CIRCUIT}.circom", folder / "out", simplify)
    except ToolMissing as error:
        pytest.skip(str(error))  # it names the tool that is not installed
    return Program(paths, read_r1cs(paths.r1cs, paths.sym), read_sym(paths.sym))


@pytest.fixture(scope="session")
def optimised(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return build(tmp_path_factory.mktemp("optimised"), simplify=2)


@pytest.fixture(scope="session")
def literal(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Every signal has its wire."""
    return build(tmp_path_factory.mktemp("literal"), simplify=0)


@pytest.fixture(scope="session")
def unlimited(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """The same with ranges of 255 bits: it computes witnesses that the true program's calculator refuses to make."""
    return build(tmp_path_factory.mktemp("unlimited"), simplify=0, amount_bits=255)


def completed(**inputs: int) -> Inputs:
    """Inputs with the public outputs that belong to them; what is not given is some constant."""
    w = {"A": 11, "fee": 3, "b": 1000, "v": 70, "root": 12, "rec": 13, "s": 14, "s_new": 15, "t": 16, **inputs}
    return {**w, **dict(zip(OUTPUTS, relations.send_outputs(w), strict=True))}


def random_inputs(rng: random.Random) -> Inputs:
    v, change, fee = (rng.getrandbits(rng.choice([1, 16, AMOUNT_BITS])) for _ in range(3))
    rest = {name: rng.randrange(R) for name in ("A", "root", "rec", "s", "s_new", "t")}
    return completed(v=v, fee=fee, b=v + change + fee, **rest)


def accepted() -> list[Inputs]:
    rng = random.Random(381)
    edges = [
        completed(**dict.fromkeys(("A", "fee", "b", "v", "root", "rec", "s", "s_new", "t"), 0)),
        completed(v=MAX, b=MAX + 3),
        completed(v=0, b=MAX + 3),
        completed(v=MAX, b=2 * MAX, fee=0),
        completed(v=0, b=0, fee=0),
        completed(v=0, b=0, fee=R - 1),  # the relation bounds no fee: the ledger fixes it
        completed(**dict.fromkeys(("A", "root", "rec", "s", "s_new", "t"), R - 1)),
    ]
    return [*edges, *(random_inputs(rng) for _ in range(20))]


OUT_OF_RANGE = {
    "v = 2^64": (completed(v=MAX + 1, b=MAX + 100), "range_v."),
    "v = r - 1": (completed(v=R - 1, b=10, fee=3), "range_v."),
    "v = 2^64 and a balance that seems to pay": (completed(v=MAX + 1, b=5, fee=R - MAX), "range_v."),
    "b - v - fee = -1": (completed(v=70, fee=3, b=72), "range_change."),
    "fee above b": (completed(v=0, fee=1, b=0), "range_change."),
    "b - v - fee = 2^64": (completed(v=1, fee=0, b=MAX + 2), "range_change."),
    "b = r - 1": (completed(v=0, fee=0, b=R - 1), "range_change."),
}


def test_public_inputs_stand_in_our_order(optimised: Program, literal: Program) -> None:
    assert optimised.system.public == literal.system.public == PUBLIC
    assert optimised.system.wire_names[1 : 1 + len(PUBLIC)] == PUBLIC


def test_rows_are_as_counted(optimised: Program) -> None:
    assert optimised.system.n_rows == ROWS


def test_outputs_agree_with_the_oracle(literal: Program) -> None:
    batch = accepted()
    for inputs, values in zip(batch, literal.witnesses(batch), strict=True):
        assert relations.send(inputs)
        assert values[0] == 1
        assert {name: values[literal.symbols.wire(name)] for name in inputs} == inputs
        got = tuple(values[literal.symbols.wire(signal)] for signal in OUTPUTS.values())
        assert got == relations.send_outputs(inputs)


def test_witnesses_satisfy_the_files_that_were_read(optimised: Program, literal: Program) -> None:
    batch = accepted()[::5]
    for program in (optimised, literal):
        for values in program.witnesses(batch):
            assert program.failed_rows(values) == []


@pytest.mark.parametrize("name", OUTPUTS)
def test_another_output_breaks_its_row(literal: Program, name: str) -> None:
    honest = completed()
    forged = [{**honest, name: value} for value in ((honest[name] + 1) % R, 0, honest["A"])]
    assert not any(relations.send(inputs) for inputs in forged)
    assert all("Assert Failed" in message for message in literal.refusals(forged))
    (values,) = literal.witnesses([honest])
    values[literal.symbols.wire(name)] += 1
    assert literal.failed_rows(values) == [{name, OUTPUTS[name]}]


@pytest.mark.parametrize("name", ["A", "fee", "b", "v", "root", "rec", "s", "s_new", "t"])
def test_another_input_breaks_an_output(literal: Program, name: str) -> None:
    honest = completed()
    forged = {**honest, name: honest[name] + 1}
    assert not relations.send(forged)
    assert "Assert Failed" in literal.refusals([forged])[0]


def test_amounts_out_of_range_are_refused(literal: Program) -> None:
    batch = [inputs for inputs, _ in OUT_OF_RANGE.values()]
    assert not any(relations.send(inputs) for inputs in batch)
    assert all("Assert Failed" in message for message in literal.refusals(batch))


def test_amounts_out_of_range_break_the_rows_of_their_range(literal: Program, unlimited: Program) -> None:
    """Witnesses that are right but for the range, made by the unlimited twin: the constraints refuse them, not the tool."""
    batch, scopes = zip(*OUT_OF_RANGE.values(), strict=True)
    for values, scope in zip(unlimited.witnesses(list(batch)), scopes, strict=True):
        assert unlimited.failed_rows(values) == []
        forged = [1] + [values[unlimited.symbols.wire(name)] for name in literal.system.wire_names[1:]]
        failed = literal.failed_rows(forged)
        assert failed
        assert all(name.startswith(scope) for row in failed for name in row)


def test_a_bit_that_is_no_bit_breaks_its_row(literal: Program) -> None:
    (values,) = literal.witnesses([completed(v=3)])
    wire = literal.symbols.wire
    values[wire("range_v.bit[0]")], values[wire("range_v.bit[1]")] = 3, 0  # the sum is still right
    assert literal.failed_rows(values) == [{"one", "range_v.bit[0]"}]


def test_snarkjs_agrees_about_files_of_circom_and_of_ours(optimised: Program, tmp_path: Path) -> None:
    inputs, wtns = completed(), tmp_path / "send.wtns"
    values = circom.calculate_witness(optimised.paths.wasm, inputs, wtns)
    assert (read_wtns(wtns) == values).all()
    ours = tmp_path / "ours.r1cs"
    write_r1cs(ours, optimised.system)
    for r1cs, private in ((optimised.paths.r1cs, 7), (ours, 0)):
        info = snarkjs.r1cs_info(r1cs)
        assert (info.curve, info.n_rows, info.n_wires) == ("bls12-381", ROWS, optimised.system.n_wires)
        assert (info.n_outputs, info.n_public_inputs, info.n_private_inputs) == (0, len(PUBLIC), private)
    assert snarkjs.wtns_check(ours, wtns)
    forged = ints_from_limbs(values)
    forged[optimised.symbols.wire("rho")] += 1
    write_wtns(wtns, limbs_from_ints(forged, 4))
    assert not snarkjs.wtns_check(ours, wtns)


def test_compiling_twice_gives_the_same_bytes(optimised: Program, tmp_path: Path) -> None:
    again = build(tmp_path, simplify=2)
    assert again.paths.r1cs.read_bytes() == optimised.paths.r1cs.read_bytes()
    assert again.paths.sym.read_bytes() == optimised.paths.sym.read_bytes()
    assert sorted(path.name for path in again.paths.r1cs.parent.iterdir()) == [
        f"{CIRCUIT}.r1cs",
        f"{CIRCUIT}.sym",
        f"{CIRCUIT}_js",
    ]


def test_what_killed_compilers_left_is_removed_and_constraints_come_last(
    optimised: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the constraints lie, all that belongs to them does: `bonsai compile` goes by that."""
    source = tmp_path / "tiny.circom"
    source.write_text(
        "pragma circom 2.0.0;\ntemplate T() { signal input a; signal input b; a * a === b; }\ncomponent main = T();\n"
    )
    old, young = tmp_path / ".circom-old", tmp_path / ".circom-young"
    for folder in (old, young):
        (folder / "tiny_js").mkdir(parents=True)
    os.utime(old, (1, 1))
    placed: list[str] = []
    replace = Path.replace

    def seen(self: Path, target: Path) -> Path:
        placed.append(target.name)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", seen)
    made = circom.compile_circom(source, tmp_path)
    assert placed == [file.name for file in made.files()]
    assert placed[-1] == "tiny.r1cs"
    assert (old.exists(), young.exists()) == (False, True)
    assert [file.name for file in tmp_path.glob(".circom-*")] == [young.name]


def test_inputs_of_the_wrong_shape_are_named(literal: Program) -> None:
    honest = completed()
    missing = {name: value for name, value in honest.items() if name != "t"}
    assert "11 out of 12" in literal.refusals([missing])[0]
    assert "stranger" in literal.refusals([{**honest, "stranger": 1}])[0]
    for value in (-1, R):
        with pytest.raises(InputError, match=r"^t: "):
            circom.calculate_witnesses(literal.paths.wasm, [{**honest, "t": value}])


def test_no_more_wires_are_handed_over_than_asked_for(optimised: Program) -> None:
    batch = accepted()[::9]
    for n in (1, 6, 200, optimised.system.n_wires, optimised.system.n_wires + 1):
        some = circom.calculate_witnesses(optimised.paths.wasm, batch, n_wires=n)
        values = [ints_from_limbs(result) for result in some if not isinstance(result, ToolFailed)]
        assert values == [all_values[:n] for all_values in optimised.witnesses(batch)]
    with pytest.raises(InputError, match="n_wires"):
        circom.calculate_witnesses(optimised.paths.wasm, batch, n_wires=0)


def test_a_program_with_a_mistake_is_reported_in_the_compilers_words(optimised: Program, tmp_path: Path) -> None:
    source = tmp_path / "wrong.circom"
    source.write_text("pragma circom 2.0.0;\ntemplate T() { signal input x; y <== x; }\ncomponent main = T();\n")
    with pytest.raises(ToolFailed, match=r"(?s)circom2: exit status .*wrong.circom"):
        circom.compile_circom(source, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
    with pytest.raises(InputError, match="source"):
        circom.compile_circom(tmp_path / "none.circom", tmp_path)
    with pytest.raises(InputError, match="simplify"):
        circom.compile_circom(source, tmp_path, simplify=3)


@pytest.mark.parametrize("include", ["../library/part.circom", "part.circom"])
def test_files_outside_the_sources_folder_are_included_if_their_folder_is_named(tmp_path: Path, include: str) -> None:
    source, library = tmp_path / "program" / "main.circom", tmp_path / "library"
    for file, text in (
        (library / "part.circom", "template T() { signal input x; signal output y <== x * x; }"),
        (source, f'include "{include}";\ncomponent main = T();'),
    ):
        file.parent.mkdir()
        file.write_text(f"pragma circom 2.0.0;\n{text}\n")
    try:
        made = circom.compile_circom(source, source.parent, includes=[library])
    except ToolMissing as error:
        pytest.skip(str(error))  # it names the tool that is not installed
    assert read_r1cs(made.r1cs, made.sym).public == ("y",)
    with pytest.raises(ToolFailed, match="has not been found"):
        circom.compile_circom(source, source.parent)


def test_a_tool_that_runs_too_long_is_stopped(optimised: Program) -> None:
    with pytest.raises(ToolFailed, match="still running after"):
        circom.calculate_witnesses(optimised.paths.wasm, [completed()], timeout=0.001)


def test_a_missing_tool_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="make setup"):
        node.find_tool("no-such-tool")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match="make setup"):
        node.find_node()


def test_a_tool_is_found_above_the_working_directory_but_never_before_the_projects_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A folder that somebody else may write must not decide which compiler runs."""
    folder = tmp_path / "node_modules" / ".bin"
    folder.mkdir(parents=True)
    for name in ("circom2", "only-here"):
        (folder / name).touch()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "er")
    assert node.find_tool("only-here") == (folder / "only-here").resolve()
    root = tmp_path / "project"
    (root / "node_modules" / ".bin").mkdir(parents=True)
    (root / "node_modules" / ".bin" / "circom2").touch()
    monkeypatch.setattr(node, "__file__", str(root / "bonsai_circuits" / "interop" / "node.py"))
    assert node.find_tool("circom2") == (root / "node_modules" / ".bin" / "circom2").resolve()


def test_files_that_snarkjs_cannot_read_are_an_error(optimised: Program, tmp_path: Path) -> None:
    broken = tmp_path / "broken.wtns"
    broken.write_bytes(b"nothing")
    with pytest.raises(ToolFailed, match="snarkjs"):
        snarkjs.wtns_check(optimised.paths.r1cs, broken)


def test_a_circuit_without_a_program_is_an_error_that_lists_those_that_have_one() -> None:
    with pytest.raises(InputError, match=CIRCUIT):
        render("recv-poseidon")

"""Finds what a circuit constrains too little, beside one honest witness.

in no row              a hinted wire of the description that stands in no row and computes none that does.
unused input           an input that no row depends on: any value would do.
changes alone          a wire that may take another value, one or any, while all others stay.  Exact, over all values of the wire.
changes with another   a boolean that may be flipped if one other wire changes with it: a split that is not unique.
moves freely           a hint that can move, to first order and with others, away from what the witness program computes.
systems disagree       solutions of unequal dimension: what one system demands of the inputs the other does not.

The first two look at the description, the next at both systems at the witness, the last at their Jacobians there: `directions` says
what that proves and what it does not.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.field import fr_add, fr_pow, fr_sub, fr_to_ints
from bonsai_verifier.parameters import FR_MODULUS

from ..dsl.trace import Op
from ..errors import InputError, Unsatisfied
from ..r1cs.freedom import Change, Deviations, Pair
from ..r1cs.system import R1CS, SquareR1CS, UInt64
from ..relations.builtin import NO_HASH
from ..relations.reviewed import REVIEWED
from ..witness.runner import Witness, run
from ..witness.tape import Tape
from .absent import move_absent_inputs
from .directions import Kernel, explain
from .tree import AnyCircuit

_REPORTED_ROWS = 3
_NAMED = 3  # wires that could change with one that is found
_FIFTH_ROOT = pow(5, -1, FR_MODULUS - 1)
_MOVES = "can move away from what the witness program computes, to first order, while other wires make up for it"


class Check(StrEnum):
    """What was looked for."""

    NO_ROW = "in no row"
    UNUSED = "unused input"
    ALONE = "changes alone"
    PAIR = "changes with another"
    FREE = "moves freely"
    SYSTEMS = "systems disagree"


@dataclass(frozen=True, slots=True)
class Finding:
    """One wire that something is wrong with.  system is empty for a finding about the description itself.

    scope, where, user_where: a row that holds the wire, empty if none does.  allowed: the reason why this is no fault, None if it is one.
    """

    check: Check
    system: str
    wire: str
    message: str
    scope: str = ""
    where: str = ""
    user_where: str = ""
    allowed: str | None = None

    def report(self) -> str:
        """A few lines for a person."""
        lines = [f"{self.wire}: {self.message}" + (f" ({self.system})" if self.system else "")]
        if self.where:
            called = f", called from {self.user_where}" if self.user_where != self.where else ""
            lines.append(f"  stands in   {self.scope}, written at {self.where}{called}")
        if self.allowed is not None:
            lines.append(f"  allowed     {self.allowed}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Dimensions:
    """One system at the witness: its size, the dimension of its solutions to first order, and how much of it no input explains.

    None where it was not computed.
    """

    system: str
    rows: int
    wires: int
    solutions: int | None
    unexplained: int | None


@dataclass(frozen=True, slots=True)
class Lint:
    """All findings, and those of the caller's allowances that none of them needed, as (check, wire)."""

    circuit: str
    dimensions: tuple[Dimensions, ...]
    findings: tuple[Finding, ...]
    unneeded: tuple[tuple[str, str], ...]

    @property
    def faults(self) -> list[Finding]:
        """The findings that are not allowed."""
        return [finding for finding in self.findings if finding.allowed is None]


Allowances = Mapping[str, Mapping[str, str]]  # check -> wire, * standing for any characters -> reason


def lint(circuit: AnyCircuit, witness: Witness, allowed: Allowances | None = None, rank: bool = True) -> Lint:
    """Looks for under-constrained wires in both systems.  rank=False leaves out the last check, the slow one.

    allowed: beside those of relations/reviewed.py for a built-in circuit.
    Raises Unsatisfied: the witness breaks a row.  InputError: it was not computed from inputs.
    """
    if not witness.from_inputs:
        raise InputError("witness", "was not computed from inputs, beside which to look; name a file of inputs")
    if failed := circuit.failures(witness, limit=_REPORTED_ROWS):
        raise Unsatisfied("witness", "\n".join(["does not satisfy the circuit", *(row.report() for row in failed)]))
    systems = _systems(circuit, witness)
    findings = [*_idle_wires(circuit), *_unused_public(circuit)]
    unused = {finding.wire for finding in findings}
    for system in systems:
        findings += [finding for finding in system.alone() if finding.wire not in unused]
        findings += system.pairs(circuit.traced, witness)
    dimensions: list[tuple[int | None, int | None]] = []
    if rank:
        kernels = [Kernel(at.system.n_rows, at.deviations.jacobian(at.fixed), at.fixed, at.register) for at in systems]
        explain(kernels, witness)
        for at, kernel in zip(systems, kernels, strict=True):
            findings += [at.finding(Check.FREE, wire, _MOVES) for wire in kernel.deviating(circuit.traced, witness)]
            dimensions.append((kernel.dimension, len(kernel.unexplained)))
        if not any(kernel.unexplained for kernel in kernels) and kernels[0].dimension != kernels[1].dimension:
            findings.append(_disagreement(circuit.about.name, *(kernel.dimension for kernel in kernels)))
    judged, unneeded = _judged(findings, circuit, allowed or {})
    sizes = (
        Dimensions(at.name, at.system.n_rows, at.system.n_wires, *of)
        for at, of in zip(systems, dimensions or [(None, None)] * len(systems), strict=True)
    )
    return Lint(circuit.about.name, tuple(sizes), judged, unneeded)


def parse_allowances(content: Mapping[str, Any], source: str) -> dict[str, dict[str, str]]:
    """{check: {wire: reason}} as it stands in a JSON file; * in a wire stands for any characters.  Raises InputError."""
    found: dict[str, dict[str, str]] = {}
    for check, wires in content.items():
        if check not in set(Check):
            raise InputError(source, f"there is no check {check!r}; the checks are: {', '.join(Check)}")
        if not isinstance(wires, dict) or not all(isinstance(x, str) and x.strip() for x in wires.values()):
            raise InputError(source, f'expected {{"{check}": {{"name of a wire": "reason"}}}}')
        found[check] = dict(wires)
    return found


# The description -------------------------------------------------------------------------------------------------------------


def _idle_wires(circuit: AnyCircuit) -> list[Finding]:
    """Private wires of the description that stand in no row and compute none that does."""
    traced, tape = circuit.traced, circuit.tape
    used = np.zeros(tape.n_registers, np.bool_)
    for matrix in (traced.a, traced.b, traced.c):
        used[matrix.wire] = True
    for i in range(len(tape.code) - 1, -1, -1):
        if used[tape.code[i, 1]]:
            used[_reads(tape, i)] = True
    inputs, findings = set(tape.inputs.values()), []
    for wire in range(1 + tape.n_public, traced.n_wires):
        if not used[wire]:
            check = Check.UNUSED if wire in inputs else Check.NO_ROW
            what = "no row depends on this input" if wire in inputs else "no row holds this hint, and nothing needs it"
            findings.append(Finding(check, "", traced.wire_names[wire], what))
    return findings


def _reads(tape: Tape, i: int) -> NDArray[np.int32]:
    """The registers that instruction i reads."""
    op, _, x, y, immediate = tape.code[i].tolist()
    combinations = [x, y, immediate] if op == Op.SELECT else [x, y]
    return np.concatenate([tape.register[tape.start[k] : tape.start[k + 1]] for k in combinations])


def _unused_public(circuit: AnyCircuit) -> list[Finding]:
    """Public inputs that no row of the R1CS holds, or none of the square system but their own outline row."""
    n = len(circuit.r1cs.public)
    in_r1cs = np.zeros(circuit.r1cs.n_wires, np.bool_)
    for matrix in (circuit.r1cs.a, circuit.r1cs.b, circuit.r1cs.c):
        in_r1cs[matrix.wire] = True
    in_square = np.zeros(circuit.square.n_wires, np.bool_)
    for matrix in (circuit.square.a, circuit.square.b):
        in_square[matrix.wire[matrix.start[n + 1] :]] = True
    message = "no row holds this public input: a proof is valid for any value of it"
    return [
        Finding(Check.UNUSED, "", name, message)
        for j, name in enumerate(circuit.r1cs.public, start=1)
        if not (in_r1cs[j] and in_square[n + 1 + j])
    ]


def _disagreement(circuit: str, r1cs: int, square: int) -> Finding:
    looser, stricter = ("R1CS", "Square R1CS") if r1cs > square else ("Square R1CS", "R1CS")
    message = f"solutions have dimension {r1cs} in R1CS and {square} in Square R1CS; a row of {stricter} is missing in {looser}"
    return Finding(Check.SYSTEMS, "", circuit, message)


# One system at the witness ---------------------------------------------------------------------------------------------------


class _At:
    """One system at the witness.  A public input and its private copy count as one wire, so outline rows are left out."""

    def __init__(
        self, name: str, system: R1CS | SquareR1CS, z: UInt64, register: NDArray[np.int32], n_fixed: int
    ) -> None:
        """register: of each wire; n_fixed: the first wires, which are the constant or stand for public ones elsewhere."""
        self.name, self.system, self.register = name, system, register
        self.fixed = np.zeros(system.n_wires, np.bool_)
        self.fixed[:n_fixed] = True
        self.deviations = Deviations.of(system, z).after(n_fixed - 1)

    def alone(self) -> list[Finding]:
        change = self.deviations.alone()
        change[self.fixed] = Change.HELD
        what = {Change.ANY: "may have any other value", Change.ONE_OTHER: "may have one other value"}
        return [
            self.finding(Check.ALONE, int(wire), f"{what[Change(change[wire])]} while all other wires stay")
            for wire in np.flatnonzero(change)
        ]

    def pairs(self, traced: R1CS, witness: Witness) -> list[Finding]:
        partners: dict[int, list[str]] = {}
        for pair in self.deviations.pairs(self.fixed):
            if not self._is_honest(pair, traced, witness):
                partners.setdefault(pair.switch, []).append(self.system.wire_names[pair.wire])
        return [
            self.finding(Check.PAIR, switch, f"may have its other value if one wire changes with it: {_either(names)}")
            for switch, names in partners.items()
        ]

    def _is_honest(self, pair: Pair, traced: R1CS, witness: Witness) -> bool:
        """The changed assignment is what the witness program makes of the changed inputs: another input, then, and no fault."""
        held = np.zeros(len(witness.registers), np.bool_)
        held[self.register[~self.fixed]] = True
        change = np.zeros_like(witness.registers)
        change[self.register[pair.switch]], change[self.register[pair.wire]] = pair.switch_change, pair.wire_change
        move_absent_inputs(traced, witness, change, held, _change_of_root)
        changed, tape = fr_add(witness.registers, change), witness.tape
        inputs = {name: register for name, register in tape.inputs.items() if name not in tape.computed}
        honest = run(tape, dict(zip(inputs, fr_to_ints(changed[[*inputs.values()]]), strict=True)))
        return bool(np.array_equal(honest.registers[held], changed[held]))

    def finding(self, check: Check, wire: int, message: str) -> Finding:
        origins, name = self.system.origins, self.system.wire_names[wire]
        entry = int(np.argmax(self.deviations.wire == wire))
        if self.deviations.wire[entry] != wire:
            return Finding(check, self.name, name, message)
        row = int(self.deviations.row[entry])
        where = f"{origins.strings[origins.file[row]]}:{origins.line[row]}"
        user_where = f"{origins.strings[origins.user_file[row]]}:{origins.user_line[row]}"
        return Finding(check, self.name, name, message, origins.strings[origins.scope[row]], where, user_where)


def _either(names: Sequence[str]) -> str:
    more = f" ({len(names) - _NAMED} others would do as well)" if len(names) > _NAMED else ""
    return " or ".join(names[:_NAMED]) + more


def _change_of_root(dy: UInt64, x: UInt64) -> UInt64:
    """(x^5 + dy)^(1/5) - x."""
    return fr_sub(fr_pow(fr_add(fr_pow(x, 5), dy), _FIFTH_ROOT), x)


def _systems(circuit: AnyCircuit, witness: Witness) -> list[_At]:
    n_copies = len(circuit.r1cs.public) + 1
    return [
        _At("R1CS", circuit.r1cs, witness.r1cs(), witness.tape.r1cs, 1),
        _At("Square R1CS", circuit.square, witness.square(), witness.tape.square, n_copies + 1),
    ]


# Allowances ------------------------------------------------------------------------------------------------------------------


def _judged(
    findings: Iterable[Finding], circuit: AnyCircuit, given: Allowances
) -> tuple[tuple[Finding, ...], tuple[tuple[str, str], ...]]:
    """The findings, each with the reason of an allowance that it falls under, and the given allowances that none does."""
    about = circuit.about
    reviewed: Allowances = REVIEWED.get(about.relation, {}) if about.hash != NO_HASH else {}
    needed: set[tuple[str, str]] = set()
    judged = []
    for finding in findings:
        reason = None
        for allowances in (reviewed, given):
            for wire, text in allowances.get(finding.check, {}).items():
                if re.fullmatch(re.escape(wire).replace(r"\*", ".*"), finding.wire):
                    reason = text
                    needed.add((finding.check, wire))
        judged.append(replace(finding, allowed=reason))
    unneeded = [(check, wire) for check, wires in given.items() for wire in wires if (check, wire) not in needed]
    return tuple(judged), tuple(unneeded)

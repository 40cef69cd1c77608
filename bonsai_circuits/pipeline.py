"""The arrows as calls: relation -> trace -> R1CS -> Square R1CS -> tape, in memory and in the folder that keeps them.

compiled = build(card.trace("card"))                describe, eliminate, lower, check, compile the tape
witness = compiled.witness({"minimum": 18, ...})
failed = compiled.failures(witness)                 [] if it satisfies every row
key = compiled.setup_for_development()
proof = compiled.prove(key, witness)                128 bytes

write(Path("compiled/card"), compiled)              and with files in a folder:
circuit = Circuit.open(Path("compiled/card"))       the same calls, each part mapped when it is needed
circuit.make_development_keys()
"""

import gc
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bonsai_verifier.parameters import CONTEXT_BYTES
from bonsai_verifier.wire import KEY_BYTES, VerifyingKey, decode_verifying_key, encode_verifying_key

from .artifacts.atomic import locked, write_atomic
from .artifacts.json_object import parse_json
from .artifacts.manifest import update_manifest, verify_manifest, write_manifest
from .dsl.elimination import to_r1cs, traced_system
from .dsl.trace import System, Trace
from .errors import CircuitMismatch, FileDamaged, InputError, KeyRefused, Unsatisfied
from .keys.consistency import check_proving_key
from .keys.domain import smallest_domain
from .keys.proving_key import ProvingKey, read_proving_key, write_proving_key
from .keys.setup import development_setup
from .lowering.check import check_lowering
from .lowering.rules_file import RowRules, open_rules, write_rules
from .lowering.square import Lowered, lower
from .prover import pari
from .r1cs.diagnose import FailedRow, failed_rows
from .r1cs.system import R1CS, SquareR1CS
from .r1cs.system_file import circuit_digest, open_r1cs, open_square, write_r1cs, write_square
from .relations.builtin import NO_HASH, NO_TREE, BuiltIn
from .witness.compiler import compile_tape
from .witness.runner import Witness, run, run_from_r1cs
from .witness.tape import Tape, open_tape, write_tape

FILES = {
    "circuit": "circuit.json",
    "traced": "traced.sections",
    "r1cs": "r1cs.sections",
    "square": "square.sections",
    "lowering": "lowering.sections",
    "tape": "tape.sections",
}
PROVING_KEY = "proving.key"
VERIFYING_KEY = "verifying.key"
_KEY_FILES = {"proving key": PROVING_KEY, "verifying key": VERIFYING_KEY}
_REPORTED_ROWS = 3  # of an unsatisfied witness; `check` shows more
_SYNTHESIS_ROOMS = ("dsl", "gadgets", "lowering", "native", "r1cs", "relations", "witness")


@dataclass(frozen=True, slots=True)
class About:
    """What a circuit is: its names and the digest of its square system; sources names the code that built it, meanings says what
    inputs are, where the relation does.
    """

    name: str
    relation: str
    hash: str
    tree: str
    public: tuple[str, ...]
    digest: bytes
    sources: str
    meanings: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "relation": self.relation,
            "hash": self.hash,
            "tree": self.tree,
            "public": list(self.public),
            "digest": self.digest.hex(),
            "sources": self.sources,
            "meanings": dict(self.meanings),
        }

    @classmethod
    def from_json(cls, path: Path, data: bytes) -> "About":
        try:
            value = parse_json(data)
            return cls(
                name=str(value["name"]),
                relation=str(value["relation"]),
                hash=str(value["hash"]),
                tree=str(value["tree"]),
                public=tuple(map(str, value["public"])),
                digest=bytes.fromhex(value["digest"]),
                sources=str(value["sources"]),
                meanings={str(name): str(text) for name, text in value["meanings"].items()},
            )
        except (AttributeError, KeyError, TypeError, ValueError) as e:
            raise FileDamaged(str(path), "does not describe a circuit; compile it again") from e


class _Operations:
    """What can be done with a circuit, wherever its parts are."""

    about: About
    traced: R1CS  # the rows and linear equations as they were written, over the registers of the tape
    r1cs: R1CS
    square: SquareR1CS
    rules: RowRules  # how the rows of the square system came to be
    tape: Tape

    def witness(self, inputs: Mapping[str, int]) -> Witness:
        """The values of all wires; public inputs that the circuit computes may be left out.  Raises InputError."""
        return run(self.tape, inputs)

    def witness_from_r1cs(self, z: NDArray[np.uint64]) -> Witness:
        """The same from an assignment of the R1CS, (n_wires, 4) Montgomery: whatever it is, right or wrong.  Raises InputError."""
        return run_from_r1cs(self.tape, z)

    def forged(self, witness: Witness, wire: str, value: int) -> Witness:
        """The witness with one wire of the trace overwritten: for tests that a circuit refuses it.  Raises InputError."""
        names = self.traced.wire_names
        if wire not in names:
            raise InputError("wire", f"there is no wire {wire}; `traced.wire_names` lists them")
        return witness.replaced(names.index(wire), value)

    def failures(self, witness: Witness, limit: int = 10) -> list[FailedRow]:
        """The rows and equations that the witness breaks; empty if it satisfies the circuit.

        Raises CircuitMismatch: a witness of another circuit.
        """
        self._require_digest("witness", witness.tape.circuit_digest)
        try:
            if witness.from_inputs:
                return failed_rows(self.traced, witness.registers[: self.traced.n_wires], limit)
            return failed_rows(self.r1cs, witness.r1cs(), limit)
        except BaseException as error:
            raise error.with_traceback(None) from None  # the frames below hold the witness

    def setup_for_development(self, memory: int | None = None) -> ProvingKey:
        """Keys from trapdoors that this process draws and forgets: for trying out, never for real use.

        memory: bytes for the key's points and their multiples while proofs are made (keys/proving_key.py).
        """
        return development_setup(self.square, self.about.digest, memory=memory)

    def prove(
        self,
        key: ProvingKey,
        witness: Witness,
        context: bytes = bytes(CONTEXT_BYTES),
        timings: dict[str, float] | None = None,
        threads: int = 1,
        on_step: Callable[[str], object] = lambda name: None,
    ) -> bytes:
        """128 bytes.  threads: 0 for one a core.  timings and on_step as prover/pari.py has them.

        Raises Unsatisfied with the reports of the first broken rows; CircuitMismatch: a key of another circuit.
        """
        self._require_digest("proving key", key.circuit_digest)
        self._require_digest("witness", witness.tape.circuit_digest)
        check = partial(self._require_satisfied, witness)
        return pari.prove(
            key,
            self.square,
            witness.square(),
            context,
            threads=threads,
            timings=timings,
            check=check,
            on_step=on_step,
        )

    def _require_satisfied(self, witness: Witness) -> None:
        if failed := self.failures(witness, limit=_REPORTED_ROWS):
            raise Unsatisfied("witness", "\n".join(["does not satisfy the circuit", *(row.report() for row in failed)]))

    def _require_digest(self, what: str, found: bytes) -> None:
        if found != self.about.digest:
            raise CircuitMismatch(what, f"belongs to the circuit {found.hex()}, this one is {self.about.digest.hex()}")

    def counts(self) -> dict[str, Any]:
        """What the systems have: {relation, hash, tree, r1cs, sr1cs, public, witness, domain}."""
        r1cs, square = self.r1cs, self.square
        return {
            "relation": self.about.relation,
            "hash": self.about.hash,
            "tree": self.about.tree,
            "r1cs": r1cs.n_rows,
            "sr1cs": square.n_rows,
            "public": len(r1cs.public),
            "witness": r1cs.n_wires - len(r1cs.public) - 1,
            "domain": smallest_domain(square.n_rows).size,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Compiled(_Operations):
    """Everything that synthesis makes of one circuit, in memory.  lowered: how the square rows came about."""

    about: About
    traced: R1CS
    r1cs: R1CS
    square: SquareR1CS
    tape: Tape
    lowered: Lowered = field(repr=False)

    @property
    def rules(self) -> RowRules:  # type: ignore[override]  # an attribute there, made when needed here
        return RowRules.of(self.lowered)


def build(circuit: Trace | BuiltIn) -> Compiled:
    """Carries a description through every arrow; the lowering is checked at a random point before it is used.

    Raises CircuitError: a description that cannot be built.
    """
    with _no_collection():
        if isinstance(circuit, Trace):
            return _build(circuit, circuit.name, circuit.name, NO_HASH, NO_TREE)
        return _build(circuit.trace(), circuit.name, circuit.relation, circuit.hash, circuit.tree)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without the collector of cycles: a description is millions of small dictionaries and no cycle, and looking for some costs a third."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _build(trace: Trace, name: str, relation: str, hash_name: str, tree: str) -> Compiled:
    eliminated, squared = to_r1cs(trace, System.R1CS), to_r1cs(trace, System.SQUARE)
    lowered = lower(squared.system)
    check_lowering(squared.system, lowered)
    digest = circuit_digest(lowered.system)
    return Compiled(
        about=About(name, relation, hash_name, tree, trace.public, digest, source_digest(), trace.meanings),
        traced=traced_system(trace),
        r1cs=eliminated.system,
        square=lowered.system,
        tape=compile_tape(trace, eliminated, squared, lowered, digest),
        lowered=lowered,
    )


def write(folder: Path, compiled: Compiled, extra: Mapping[str, str] | None = None) -> None:
    """Writes the circuit's files, then the manifest that names their digests.  extra: files already there, name -> file name."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = _keys_of(folder, compiled.about.digest)
    write_r1cs(folder / FILES["traced"], compiled.traced)
    write_r1cs(folder / FILES["r1cs"], compiled.r1cs)
    write_square(folder / FILES["square"], compiled.square)
    write_rules(folder / FILES["lowering"], compiled.rules)
    write_tape(folder / FILES["tape"], compiled.tape)
    text = json.dumps(compiled.about.to_json(), indent=2, sort_keys=True) + "\n"
    write_atomic(folder / FILES["circuit"], text.encode())
    write_manifest(folder, FILES | dict(extra or {}) | keys)


def _keys_of(folder: Path, digest: bytes) -> dict[str, str]:
    """The key files of the folder, if the circuit that it holds has this digest: compiled anew, they are still its keys."""
    try:
        same = _about(folder).digest == digest
    except FileDamaged:
        same = False
    return {name: file for name, file in _KEY_FILES.items() if same and (folder / file).is_file()}


def is_current(folder: Path) -> bool:
    """The folder holds what today's sources make: every file has its digest, and the sources have theirs."""
    try:
        verify_manifest(folder)
        return _about(folder).sources == source_digest()
    except FileDamaged:
        return False


def source_digest() -> str:
    """SHA-256 over the sources that decide what synthesis makes, in hexadecimal."""
    here = Path(__file__).parent
    h = hashlib.sha256()
    for file in sorted(file for room in _SYNTHESIS_ROOMS for file in (here / room).glob("*.py")):
        h.update(file.relative_to(here).as_posix().encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return h.hexdigest()


@dataclass(frozen=True, eq=False)
class Circuit(_Operations):
    """A compiled circuit in its folder; each part is mapped when it is needed, and belongs to `about.digest` or is refused."""

    folder: Path
    about: About

    @classmethod
    def open(cls, folder: Path) -> "Circuit":
        """Raises FileDamaged: no such circuit, or one whose manifest is not whole."""
        verify_manifest(folder, ["circuit"])
        return cls(folder, _about(folder))

    @cached_property
    def traced(self) -> R1CS:  # type: ignore[override]  # an attribute there, made when needed here
        return open_r1cs(self._whole("traced"))

    @cached_property
    def r1cs(self) -> R1CS:  # type: ignore[override]  # an attribute there, made when needed here
        return open_r1cs(self._whole("r1cs"))

    @cached_property
    def square(self) -> SquareR1CS:  # type: ignore[override]  # an attribute there, made when needed here
        """Raises CircuitMismatch: the square system is not the one that the circuit's digest names."""
        square = open_square(self._whole("square"))
        self._require_digest(str(self.folder / FILES["square"]), circuit_digest(square))
        if square.public != self.about.public:
            raise FileDamaged(
                str(self.folder / FILES["square"]), "has other public inputs than the circuit; compile again"
            )
        return square

    @cached_property
    def rules(self) -> RowRules:  # type: ignore[override]  # an attribute there, made when needed here
        return open_rules(self.folder / FILES["lowering"], self.square.n_rows)

    @cached_property
    def tape(self) -> Tape:  # type: ignore[override]  # an attribute there, made when needed here
        """Raises CircuitMismatch: the tape was compiled for another system."""
        tape = open_tape(self._whole("tape"))
        self._require_digest(str(self.folder / FILES["tape"]), tape.circuit_digest)
        if tape.public != self.about.public:
            raise FileDamaged(
                str(self.folder / FILES["tape"]), "has other public inputs than the circuit; compile again"
            )
        return tape

    def make_development_keys(self, memory: int | None = None) -> ProvingKey:
        """As setup_for_development, and both keys are written into the folder."""
        key = self.setup_for_development(memory)
        with locked(self.folder):  # so that two who make keys at once do not leave one of each
            write_proving_key(self.folder / PROVING_KEY, key)
            write_atomic(self.folder / VERIFYING_KEY, encode_verifying_key(key.verifying_key))
            update_manifest(self.folder, _KEY_FILES)
        return key

    def has_keys(self) -> bool:
        """Whether the folder has keys of this circuit.  Raises FileDamaged, KeyRefused: it has some that are not whole."""
        if not any((self.folder / file).exists() for file in _KEY_FILES.values()):
            return False
        try:
            self.proving_key().check_file()
        except CircuitMismatch:
            return False
        return True

    def proving_key(self, check: bool = False, memory: int | None = None) -> ProvingKey:
        """The key to prove with, mapped; `check` tests every element, which a key from elsewhere needs once.

        memory: bytes that its points and multiples may take while proofs are made, None: all that the file has.  0, no multiples, is
        best for a single proof: it ends before they are loaded.
        Raises FileDamaged: there is none, or it is damaged (in its points: with the first proof); CircuitMismatch: it is of another
        circuit; KeyRefused: it is not the verifying key's.
        """
        if not (self.folder / PROVING_KEY).exists():
            raise FileDamaged(
                str(self.folder / PROVING_KEY), "there is no such file; run `bonsai setup` for this circuit"
            )
        with locked(self.folder, shared=True):
            key = read_proving_key(self.folder / PROVING_KEY, self.about.digest, memory=memory)
            verifying_key = _read_key_file(self.folder / VERIFYING_KEY)
        if encode_verifying_key(key.verifying_key) != verifying_key:
            raise KeyRefused(
                str(self.folder), "proving.key and verifying.key are of two setups; run `bonsai setup --force`"
            )
        if check:
            check_proving_key(key, self.square)
        return key

    def verifying_key(self, allow_development: bool = False) -> VerifyingKey:
        """Raises FileDamaged: there is none; WireError, KeyRefused, CircuitMismatch: one that must not be used for this circuit."""
        return read_verifying_key(self.folder / VERIFYING_KEY, self.about.digest, allow_development)

    def _whole(self, name: str) -> Path:
        """The file, as the manifest has it.  Raises FileDamaged."""
        verify_manifest(self.folder, [name])
        return self.folder / FILES[name]


def read_verifying_key(path: Path, circuit_digest: bytes, allow_development: bool) -> VerifyingKey:
    """The key in a file, if it is one of the circuit with this digest.  Raises WireError, KeyRefused, CircuitMismatch."""
    data = _read_key_file(path)
    return decode_verifying_key(data, allow_development=allow_development, circuit_digest=circuit_digest)


def _read_key_file(path: Path) -> bytes:
    """The file's bytes; of one that is too long only enough to be refused."""
    try:
        with path.open("rb") as file:
            return file.read(KEY_BYTES + 1)
    except OSError as e:
        raise FileDamaged(str(path), f"cannot be read ({e.strerror}); run `bonsai setup`, or name a key") from e


def _about(folder: Path) -> About:
    path = folder / FILES["circuit"]
    try:
        return About.from_json(path, path.read_bytes())
    except OSError as e:
        raise FileDamaged(str(path), "there is no such file; compile the circuit first") from e

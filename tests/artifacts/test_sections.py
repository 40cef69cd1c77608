"""The container of everything under compiled/: what is written comes back, and any other byte is an error that names its place."""

import json
import os
import pickle
from hashlib import sha256
from pathlib import Path

import blake3 as reference
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bonsai_circuits.artifacts import sections as module
from bonsai_circuits.artifacts.manifest import (
    MANIFEST,
    Entry,
    read_manifest,
    update_manifest,
    verify_manifest,
    write_manifest,
)
from bonsai_circuits.artifacts.sections import Section, canonical_json, open_sections, parse_json, write_sections
from bonsai_circuits.errors import FileDamaged, InputError

INTEGERS = ["u1", "<u2", "<u4", "<u8", "i1", "<i2", "<i4", "<i8"]
FAST = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def sample():
    return {
        "words": np.arange(28, dtype=np.uint64).reshape(7, 4),
        "rows": np.array([-1, 2**31 - 1, 5], dtype=np.int32),
        "nothing": np.empty((0, 4), dtype=np.uint64),
        "raw": b"\0\1\2",
        "empty": b"",
        "name": "Größe",
        "meta": {"b": 2**80, "a": [1, None, True, "x"]},
        "last": np.arange(5, dtype=np.uint8),
    }


@pytest.fixture
def path(tmp_path):
    return tmp_path / "sample.sections"


@pytest.fixture
def written(path):
    write_sections(path, "sample", sample())
    return path


def assert_is_sample(opened):
    want = sample()
    assert list(opened.table) == list(want)
    for name in ("words", "rows", "nothing", "last"):
        found = opened.array(name, want[name].dtype, want[name].shape)
        assert (found == want[name]).all()
        assert found.dtype == want[name].dtype
        assert found.shape == want[name].shape
    assert opened.data("raw") == b"\0\1\2"
    assert opened.data("empty") == b""
    assert opened.text("name") == "Größe"
    assert opened.json("meta") == want["meta"]


def test_sections_come_back(written):
    opened = open_sections(written, "sample")
    assert_is_sample(opened)
    assert_is_sample(open_sections(written, "sample", verify=False))
    assert opened.kind == "sample"
    assert opened.path == written


def test_arrays_are_read_only_aligned_and_outlive_the_file(written):
    words = open_sections(written, "sample").array("words")
    written.unlink()
    assert (words == sample()["words"]).all()
    with pytest.raises(ValueError, match="read-only"):
        words[0, 0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        words.flags.writeable = True
    assert words.ctypes.data % 64 == 0


def test_sections_start_at_multiples_of_64_with_zeros_between(written):
    data = written.read_bytes()
    table = open_sections(written, "sample").table.values()
    assert all(s.offset % 64 == 0 for s in table)
    end = max(s.offset + s.n_bytes for s in table)
    assert len(data) == end
    covered = bytearray(data[: min(s.offset for s in table)])
    for s in table:
        covered += bytes(s.offset - len(covered)) + data[s.offset : s.offset + s.n_bytes]
    assert bytes(covered)[200:] == data[200:]


def test_same_content_gives_same_bytes_and_digest(tmp_path):
    a, b, c = (tmp_path / x for x in "abc")
    digest = write_sections(a, "sample", sample())
    again = sample() | {"words": np.asfortranarray(sample()["words"]), "meta": {"a": [1, None, True, "x"], "b": 2**80}}
    assert write_sections(b, "sample", again) == digest == open_sections(a, "sample").digest
    assert a.read_bytes() == b.read_bytes()
    assert write_sections(c, "other", sample()) != digest
    assert write_sections(c, "sample", sample() | {"raw": b"\0\1\3"}) != digest


def test_big_endian_arrays_are_stored_little_endian(tmp_path):
    digest = write_sections(tmp_path / "b", "k", {"x": np.array([1, 2**40], dtype=">u8")})
    assert digest == write_sections(tmp_path / "l", "k", {"x": np.array([1, 2**40], dtype="<u8")})


def test_format_is_frozen(path):
    """A change of this digest is a change of the format: raise VERSION with it."""
    write_sections(path, "frozen", {"a": np.arange(3, dtype=np.uint16), "j": {"z": 1, "y": "é"}})
    data = path.read_bytes()
    assert data[:12] == b"\x89bonsai\n\1\0\0\0"
    assert data[32:64] == reference.blake3(data[:32] + data[64 : 64 + int.from_bytes(data[16:24], "little")]).digest()
    assert sha256(data).hexdigest() == FROZEN


FROZEN = "283a5523019f58968e8a39314bb756e41a950308d17124225560b8fa993e0d77"


@given(
    st.lists(
        hnp.arrays(st.sampled_from(INTEGERS), hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)),
        max_size=5,
    )
)
@FAST
def test_any_arrays_come_back(tmp_path, arrays):
    path = tmp_path / "any"
    write_sections(path, "any", {f"array {i}": a for i, a in enumerate(arrays)})
    opened = open_sections(path, "any")
    for i, a in enumerate(arrays):
        found = opened.array(f"array {i}")
        assert (found.shape, found.dtype) == (a.shape, a.dtype)
        assert found.tobytes() == a.tobytes()


@given(st.data())
@FAST
def test_any_changed_byte_is_found(written, data):
    content = bytearray(written.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    broken = written.with_name("broken")
    broken.write_bytes(content)
    with pytest.raises(FileDamaged, match="broken"):
        open_sections(broken, "sample")


def test_every_byte_counts(written):
    content = written.read_bytes()
    broken = written.with_name("broken")
    for at in range(len(content)):
        broken.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(FileDamaged):
            open_sections(broken, "sample")


def test_every_truncation_and_extension_is_found(written):
    content = written.read_bytes()
    broken = written.with_name("broken")
    for n in [*range(len(content)), len(content) + 1, len(content) + 64]:
        broken.write_bytes((content + bytes(64))[:n])
        for verify in (True, False):
            with pytest.raises(FileDamaged):
                open_sections(broken, "sample", verify=verify)


def test_unverified_open_checks_all_but_the_contents(written):
    content = written.read_bytes()
    table = open_sections(written, "sample").table.values()
    inside = {i for s in table for i in range(s.offset, s.offset + s.n_bytes)}
    broken = written.with_name("broken")
    for at in range(len(content)):
        broken.write_bytes(content[:at] + bytes([content[at] ^ 0x80]) + content[at + 1 :])
        if at in inside:
            open_sections(broken, "sample", verify=False)
        else:
            with pytest.raises(FileDamaged):
                open_sections(broken, "sample", verify=False)


def test_damage_names_the_section(written):
    content = bytearray(written.read_bytes())
    content[open_sections(written, "sample").table["rows"].offset] ^= 1
    written.write_bytes(content)
    with pytest.raises(FileDamaged, match=r"sample\.sections: section rows: its digest is wrong"):
        open_sections(written, "sample")


# Tables with a right digest that describe the impossible -----------------------------------------------------------------------


def forge(path, sections, body=b"", kind="sample", n_sections=None, table_tail=b"", table_bytes=None, file_bytes=None):
    """A file with this table, its digest made right."""
    table = module._encode_string("kind", kind) + b"".join(map(module._encode_section, sections)) + table_tail
    total = 64 + len(table) + len(body)
    start = module.MAGIC + module.VERSION.to_bytes(4, "little")
    start += (len(sections) if n_sections is None else n_sections).to_bytes(4, "little")
    start += (len(table) if table_bytes is None else table_bytes).to_bytes(8, "little")
    start += (total if file_bytes is None else file_bytes).to_bytes(8, "little")
    path.write_bytes(start + reference.blake3(start + table).digest() + table + body)


def section(name="x", type_="|u1", shape=(8,), offset=128, n_bytes=8, data=bytes(8)):
    return Section(name, type_, shape, offset, n_bytes, reference.blake3(data).digest())


def padded(n_sections, data):
    """Body for sections of one-letter names and a 3-letter type, one dimension, under the kind "sample"."""
    table = 2 + 6 + n_sections * (2 + 1 + 2 + 3 + 1 + 3 * 8 + 32)
    return bytes(-(64 + table) % 64) + data


def test_a_forged_file_without_a_fault_opens(path):
    forge(path, [section(offset=192)], padded(1, bytes(8)))
    assert (open_sections(path, "sample").array("x", np.uint8, (8,)) == 0).all()
    first, second = section("x", offset=256), section("y", offset=320)
    forge(path, [first, second], padded(2, bytes(72)))
    assert open_sections(path, "sample").array("y").size == 8


@pytest.mark.parametrize(
    ("sections", "body", "message"),
    [
        ([section(offset=256), section(offset=320)], padded(2, bytes(72)), "section x: appears twice"),
        ([section(offset=256), section("y", offset=256)], padded(2, bytes(72)), "section y: lies at 256, not at 320"),
        ([section(offset=256)], padded(1, bytes(72)), "section x: lies at 256, not at 192"),
        ([section(offset=0)], padded(1, bytes(8)), "section x: lies at 0"),
        ([section(offset=2**64 - 64)], padded(1, bytes(8)), "section x: lies at"),
        ([section(offset=192, n_bytes=9, shape=(9,))], padded(1, bytes(8)), "section x: reaches beyond the file"),
        ([section(offset=192, n_bytes=2**61, shape=(2**61,))], padded(1, bytes(8)), "section x: reaches beyond"),
        ([section(offset=192, n_bytes=7, shape=(7,))], padded(1, bytes(8)), "length: the file goes on"),
        ([section(offset=192, shape=(7,))], padded(1, bytes(8)), r"section x: the shape \(7,\)"),
        ([section(offset=192, type_="<u8")], padded(1, bytes(8)), r"section x: the shape \(8,\) of <u8 is not 8 bytes"),
        ([section(offset=192, shape=(2**63, 2**63), n_bytes=0)], padded(1, b""), "section x: the shape"),
        ([section(offset=192, shape=(0, 2**63), n_bytes=0)], padded(1, b""), "section x: the shape"),
        ([section(offset=192, shape=(2**32, 2**32), n_bytes=0)], padded(1, b""), "section x: the shape"),
        ([section(offset=192, shape=(1,) * 9)], padded(1, bytes(8)), "section x: has 9 dimensions"),
        ([section(offset=192, type_="|O8")], padded(1, bytes(8)), r"section x: has the unknown type \|O8"),
        ([section(offset=192, type_=">u8")], padded(1, bytes(8)), "section x: has the unknown type"),
        ([section(offset=192, type_="|b1")], padded(1, bytes(8)), "section x: has the unknown type"),
        ([section(offset=192, type_="bytes", shape=(2, 4))], padded(1, bytes(8)), "section x: bytes must have one"),
        ([section(offset=192)], padded(1, b"\1" + bytes(7)), "section x: its digest is wrong"),
        ([section(offset=192)], b"\1" + padded(1, bytes(8))[1:], "section x: the padding before it is not zero"),
    ],
)
def test_impossible_tables_are_refused(path, sections, body, message):
    forge(path, sections, body)
    with pytest.raises(FileDamaged, match=message):
        open_sections(path, "sample")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_sections": 2}, "table: ends inside"),
        ({"n_sections": 2**32 - 1}, "table: ends inside"),
        ({"n_sections": 0}, "table: goes on"),
        ({"table_tail": b"\0"}, "section x: lies at|table: goes on"),
        ({"table_bytes": 2**64 - 1}, "table: is longer than the file"),
        ({"table_bytes": 2**40}, "table: is longer than the file"),
        ({"file_bytes": 2**64 - 1}, "length: expected"),
        ({"kind": "other"}, "kind: expected sample, found other"),
    ],
)
def test_impossible_headers_are_refused(path, changes, message):
    forge(path, [section(offset=192)], padded(1, bytes(8)), **changes)
    with pytest.raises(FileDamaged, match=message):
        open_sections(path, "sample")


def test_names_must_be_utf_8(path):
    broken = section(offset=192)
    table = module._encode_section(broken).replace(b"\1\0x", b"\1\0\xff")
    forge(path, [], padded(1, bytes(8)), table_tail=table, n_sections=1)
    with pytest.raises(FileDamaged, match="table: a name is not UTF-8"):
        open_sections(path, "sample")


def test_other_files_are_refused(path):
    with pytest.raises(FileDamaged, match="there is no such file"):
        open_sections(path, "sample")
    for content, message in (
        (b"", "shorter"),
        (bytes(63), "shorter"),
        (bytes(64), "magic"),
        (os.urandom(500), "magic"),
    ):
        path.write_bytes(content)
        with pytest.raises(FileDamaged, match=message):
            open_sections(path, "sample")
    path.write_bytes(module.MAGIC + b"\2" + bytes(100))
    with pytest.raises(FileDamaged, match="version: expected 1, found 2"):
        open_sections(path, "sample")


# What a reader asks for --------------------------------------------------------------------------------------------------------


def test_sections_asked_for_must_be_there_and_fit(written):
    opened = open_sections(written, "sample")
    assert opened.array("words", np.uint64, (None, 4)).shape == (7, 4)
    for ask, message in (
        (lambda: opened.array("other"), "section other: is missing; the file has words, rows"),
        (lambda: opened.array("words", np.uint32), "section words: expected <u4, found <u8"),
        (lambda: opened.array("words", np.uint64, (None, 5)), "section words: expected the shape"),
        (lambda: opened.array("words", np.uint64, (None,)), "section words: expected the shape"),
        (lambda: opened.array("meta"), "section meta: expected an array, found json"),
        (lambda: opened.data("meta"), "section meta: expected bytes, found json"),
        (lambda: opened.json("words"), "section words: expected json, found <u8"),
        (lambda: opened.text("raw"), "section raw: expected text, found bytes"),
    ):
        with pytest.raises(FileDamaged, match=message):
            ask()


def resident() -> int:
    """Bytes of mapped files that this process has in memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssFile:"))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not say what is in memory")
def test_pages_that_are_forgotten_leave_memory_and_come_back(path):
    size = 32 << 20
    write_sections(path, "test", {"before": b"x", "large": np.arange(size // 8, dtype=np.uint64), "after": b"y"})
    opened = open_sections(path, "test")
    large = opened.array("large")
    total = int(large.sum())
    full = resident()
    opened.forget("large")
    assert resident() < full - size // 2
    assert int(large.sum()) == total
    assert (opened.data("before"), opened.data("after")) == (b"x", b"y")


@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff", b"[" * 100_000, b"1"])
def test_bad_json_and_text_are_damage(path, content):
    x = Section("x", "json", (len(content),), 192, len(content), reference.blake3(content).digest())
    forge(path, [x], bytes(192 - 64 - 8 - len(module._encode_section(x))) + content)
    with pytest.raises(FileDamaged, match="section x: is not"):
        open_sections(path, "sample").json("x")


def test_text_that_is_not_utf_8_is_damage(path):
    x = Section("x", "text", (1,), 192, 1, reference.blake3(b"\xff").digest())
    forge(path, [x], bytes(192 - 64 - 8 - len(module._encode_section(x))) + b"\xff")
    with pytest.raises(FileDamaged, match="section x: is not UTF-8"):
        open_sections(path, "sample").text("x")


@pytest.mark.parametrize(
    "content",
    [
        np.zeros(3),
        np.zeros(3, dtype=bool),
        np.array([{}], dtype=object),
        np.zeros(2, dtype=[("a", "<u4")]),
        np.zeros((1,) * 9, dtype=np.uint8),
        {"a": float("nan")},
        {"a": b"bytes"},
        7,
        None,
        [1],
    ],
)
def test_what_cannot_be_stored_is_an_input_error(path, content):
    with pytest.raises(InputError, match=r"^x: "):
        write_sections(path, "k", {"x": content})
    assert not path.exists()


def test_names_have_a_length(path):
    for name in ("", "x" * 2**16):
        with pytest.raises(InputError):
            write_sections(path, "k", {name: b""})
        with pytest.raises(InputError, match="kind"):
            write_sections(path, name, {})


def test_a_failed_write_leaves_the_old_file(written):
    before = written.read_bytes()
    with pytest.raises(InputError):
        write_sections(written, "sample", {"good": np.arange(1000), "bad": np.zeros(3)})
    assert written.read_bytes() == before
    assert list(written.parent.iterdir()) == [written]


def test_a_file_without_sections(path):
    write_sections(path, "k", {})
    assert list(open_sections(path, "k").table) == []


def test_canonical_json_has_one_form():
    assert (
        canonical_json({"b": 1, "a": {"d": "é", "c": 2**70}})
        == b'{"a":{"c":1180591620717411303424,"d":"\\u00e9"},"b":1}'
    )


def test_json_may_be_nested_but_not_without_end():
    for deepest in (b"[" * 62 + b"]" * 62, b'"' + b"[{" * 1000 + b'\\""'):
        assert list(parse_json(b'{"a":' + deepest + b"}")) == ["a"]
    for text in (b'{"a":' + b"[" * 64 + b"]" * 64 + b"}", b'{"a":' * 1000, b'["' * 1000, b"[" * 10**6):
        with pytest.raises(ValueError, match=r"nested more than 64 deep|Expecting|delimiter"):
            parse_json(text)
    with pytest.raises(ValueError, match="twice"):
        parse_json(b'{"a":{"b":1,"b":1}}')


def test_errors_survive_pickling(path):
    with pytest.raises(FileDamaged) as raised:
        open_sections(path, "sample")
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


# The manifest ------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"content")
    (tmp_path / "b.bin").write_bytes(b"")
    write_manifest(tmp_path, {"first": "a.bin", "second": "b.bin"})
    return tmp_path


def test_manifest_records_length_and_digest(folder):
    want = {
        "first": Entry("a.bin", 7, reference.blake3(b"content").hexdigest()),
        "second": Entry("b.bin", 0, reference.blake3(b"").hexdigest()),
    }
    assert read_manifest(folder) == verify_manifest(folder) == want
    assert verify_manifest(folder, ["second"]) == {"second": want["second"]}


def test_manifest_is_the_same_text_in_any_order(folder):
    text = (folder / MANIFEST).read_bytes()
    write_manifest(folder, {"second": "b.bin", "first": "a.bin"})
    assert (folder / MANIFEST).read_bytes() == text


def test_manifest_takes_more_files(folder):
    (folder / "a.bin").write_bytes(b"changed")
    (folder / "c.bin").write_bytes(b"c")
    update_manifest(folder, {"third": "c.bin"})
    assert list(verify_manifest(folder, ["second", "third"])) == ["second", "third"]
    with pytest.raises(FileDamaged, match=r"a\.bin"):
        verify_manifest(folder)
    update_manifest(folder, {"first": "a.bin"})
    verify_manifest(folder)
    (folder / MANIFEST).unlink()
    assert list(update_manifest(folder, {"first": "a.bin"})) == ["first"]


def test_manifest_finds_changed_files(folder):
    for content, message in (
        (b"contenT", "expected the digest"),
        (b"conten", "expected 7 bytes, found 6"),
        (b"", "found 0"),
    ):
        (folder / "a.bin").write_bytes(content)
        with pytest.raises(FileDamaged, match=rf"a\.bin: {message}|a\.bin: .*{message}"):
            verify_manifest(folder)
        verify_manifest(folder, ["second"])
    (folder / "a.bin").unlink()
    with pytest.raises(FileDamaged, match=r"a\.bin: there is no such file"):
        verify_manifest(folder)
    with pytest.raises(FileDamaged, match="third: is not recorded; the manifest has first, second"):
        verify_manifest(folder, ["third"])


def test_manifest_stays_in_its_folder(folder):
    for file in ("../a.bin", "/etc/passwd", "sub/a.bin", "..", "", "a\0", ".hidden", "a\n", "c:\\x"):
        with pytest.raises(InputError, match="first"):
            write_manifest(folder, {"first": file})
        good = (folder / MANIFEST).read_text()
        with pytest.raises(FileDamaged):
            read_manifest(_with_text(folder, good.replace('"a.bin"', repr(file).replace("'", '"'))))
        (folder / MANIFEST).write_text(good)


def one_file(**changes):
    return json.dumps({"version": 1, "files": {"a": {"file": "a", "bytes": 1, "blake3": "0" * 64} | changes}})


def test_manifest_of_one_file_is_read(tmp_path):
    assert read_manifest(_with_text(tmp_path, one_file())) == {"a": Entry("a", 1, "0" * 64)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        "\xff",
        "[" * 100_000,
        " " * 2**20 + "{}",
        '{"version": 2, "files": {}}',
        '{"version": 1, "files": []}',
        '{"version": 1, "files": {}, "more": 1}',
        '{"version": 1, "version": 1, "files": {}}',
        '{"version": 1, "files": {"a": {"file": "a", "bytes": 1}}}',
        '{"version": 1, "files": {"a": ["a", 1, ""]}}',
        one_file(file=1),
        one_file(bytes=-1),
        one_file(bytes=True),
        one_file(bytes=1.0),
        one_file(blake3="0" * 63),
        one_file(blake3="0" * 65),
        one_file(blake3="A" * 64),
        one_file(blake3=0),
        one_file(more=0),
    ],
)
def test_manifest_refuses_other_text(tmp_path, text):
    with pytest.raises(FileDamaged, match=r"manifest\.json"):
        read_manifest(_with_text(tmp_path, text))


def test_manifest_must_exist(tmp_path):
    with pytest.raises(FileDamaged, match="there is no such file"):
        read_manifest(tmp_path)


def _with_text(folder: Path, text: str) -> Path:
    (folder / MANIFEST).write_bytes(text.encode("latin-1"))
    return folder

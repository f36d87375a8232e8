"""Damaged and hostile bundles are errors, found in bounded memory: nothing is read as what it isn't."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.conformance.records import checkpoint, write
from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.model import Payload
from ckpt_cli.savers.bundle import index as index_module
from ckpt_cli.savers.bundle.ends import HEADER_SIZE, VERSION
from ckpt_cli.savers.bundle.files import bundle_writer
from ckpt_cli.savers.bundle.frames import Frame, Kind
from ckpt_cli.savers.bundle.index import Entry
from ckpt_cli.savers.bundle.segments import Segment
from ckpt_cli.savers.bundle.writer import BundleWriter
from ckpt_cli.savers.bundle.zstd import compress
from tests.savers.bundle.making import add, contents, make_bundle

RECORDS = [checkpoint("a", "1"), write("a", "1"), checkpoint("a", "2", body=Payload("bytes", b"long" * 5000))]
MOST = 150 << 20
"""No refusal takes more memory."""


def refusal(path: Path) -> str:
    """The message with which a bundle is refused, in bounded memory."""
    tracemalloc.start()
    try:
        with pytest.raises(DatabaseUnreachable) as caught:
            contents(path)
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()
    return caught.value.message


def test_no_byte_can_be_changed_unseen(tmp_path: Path) -> None:
    """With any one byte changed, a bundle is refused, or it is read as it was."""
    path = make_bundle(tmp_path / "some.ckpt", RECORDS)
    whole, data = contents(path), path.read_bytes()
    unseen = []
    for position in range(len(data)):
        path.write_bytes(data[:position] + bytes([data[position] ^ 0x20]) + data[position + 1 :])
        try:
            assert contents(path) == whole
            unseen.append(position)
        except DatabaseUnreachable:
            pass
    assert unseen == list(range(40, HEADER_SIZE)), "only the header's note may differ"


def test_a_newer_version_is_named(tmp_path: Path) -> None:
    """A bundle of a later format isn't guessed at."""
    path = make_bundle(tmp_path / "some.ckpt", RECORDS)
    data = bytearray(path.read_bytes())
    data[20] = VERSION + 1
    path.write_bytes(data)
    assert "version 2" in refusal(path)


Spoil = Callable[[BundleWriter, Entry], None]


def _lines(text: bytes) -> Spoil:
    """Records of thread ``a`` that a writer wouldn't write."""

    def spoil(writer: BundleWriter, entry: Entry) -> None:
        entry.pages = [writer._frames.add(Kind.RECORDS, text)]

    return spoil


def _frame(**fields: Any) -> Spoil:
    """A first frame of which the index lies."""

    def spoil(writer: BundleWriter, entry: Entry) -> None:
        flush = writer._frames.flush

        def lying() -> list[Frame]:
            first, *rest = flush()
            return [first._replace(**fields), *rest]

        writer._frames.flush = lying  # type: ignore[method-assign]

    return spoil


def _entry(**fields: Any) -> Spoil:
    def spoil(writer: BundleWriter, entry: Entry) -> None:
        for name, value in fields.items():
            setattr(entry, name, value)

    return spoil


def _bomb(writer: BundleWriter, entry: Entry) -> None:
    """A frame of some kilobytes whose contents are a gigabyte, and of which the index says a megabyte."""
    import hashlib

    data = compress(bytes(1 << 30))
    offset = writer._append(data)
    writer._frames.frames.append(Frame(offset, len(data), 1 << 20, hashlib.sha256(data).digest()[:16]))
    entry.pages = [Segment(len(writer._frames.frames) - 1, 0, 1 << 20)]


_LINE = b'["checkpoint","","1",null,["x"],["x"],null]\n'
HOSTILE: list[tuple[Spoil, str]] = [
    (_lines(b"[" * 100_000), "malformed line: RecursionError"),
    (_lines(b'["checkpoint","","1",null,["x",0,0],["x"],null]\n'), "malformed line"),
    (_lines(b'["checkpoint","","1",null,["x",0,-1,5],["x"],null]\n'), "a number is missing"),
    (_lines(b'["checkpoint","","1",null,["x",0,0,1e300],["x"],null]\n'), "a number is missing"),
    (_lines(b'["checkpoint","",1,null,["x"],["x"],null]\n'), "a text is missing"),
    (_lines(b'["checkpoint","","1",null,["x"],["x"],7]\n'), "malformed line: AttributeError"),
    (_lines(b'["write","","1","t",true,"c","",["x"]]\n'), "a text is missing"),
    (_lines(b'["write","","1","t",' + b"9" * 5000 + b',"c","",["x"]]\n'), "malformed line: ValueError"),
    (_lines(b"\xff\xfe\n"), "malformed line"),
    (_lines(b"{}\n"), "malformed line"),
    (_lines(_LINE * 2), "checkpoint 1 twice"),
    (_lines(_LINE), "aren't those that the index says"),
    (_lines(b'["checkpoint","","1",null,["x"' + b",0,0,20000" * 100_000 + b'],["x"],null]\n'), "the most is"),
    (
        _lines(_LINE + b'["checkpoint","","2",null,["x",99,0,1],["x"],null]\n["write","","1","t",0,"c","",["x"]]\n'),
        "99",
    ),
    (
        _lines(_LINE + b'["checkpoint","","2",null,["x",0,0,90000],["x"],null]\n["write","","1","t",0,"c","",["x"]]\n'),
        "bytes",
    ),
    (_frame(contents=1), "names bytes that frame 0 doesn't have"),
    (_frame(contents=1 << 25), "aren't the"),
    (_frame(contents=1 << 26), "larger than a frame may be"),
    (_frame(size=1 << 26), "larger than a frame may be"),
    (_frame(offset=1 << 40), "larger than a frame may be, or isn't before"),
    (_frame(offset=1), "checksum differs"),
    (_frame(digest=b""), "checksum differs"),
    (_entry(checkpoints=1 << 50), "aren't those that the index says"),
    (_entry(head=checkpoint("a", "9").row.ref), "aren't those that the index says"),
    (_entry(origin=7), "its origin is missing"),
    (_entry(pages=[Segment(7, 0, 1)]), "names frame 7"),
    (_entry(pages=[Segment(0, 0, 1 << 25)] * 1000), "they are refused"),
    (_bomb, "aren't the 1,048,576 bytes"),
]


@pytest.mark.parametrize(("spoil", "message"), HOSTILE)
def test_a_hostile_bundle_is_refused(tmp_path: Path, spoil: Spoil, message: str) -> None:
    """Lies about lengths, places, counts and shapes are found where they are read; checksums here are all right."""
    path = tmp_path / "hostile.ckpt"
    with bundle_writer(path) as writer:
        add(writer, RECORDS)
        assert writer._finished is not None
        spoil(writer, writer._finished)
    assert message in refusal(path)


def test_an_index_that_is_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that would expand to much more than its size isn't decompressed."""
    blank = b" " * (1 << 22)
    blocks = [(compress(blank), len(blank))] * 50
    monkeypatch.setattr("ckpt_cli.savers.bundle.writer.index_blocks", lambda _: iter(blocks))
    assert "it is refused" in refusal(make_bundle(tmp_path / "bomb.ckpt", []))
    lying = [(block, 1000) for block, _ in blocks]
    monkeypatch.setattr("ckpt_cli.savers.bundle.writer.index_blocks", lambda _: iter(lying))
    assert "has more than the" in refusal(make_bundle(tmp_path / "lying.ckpt", []))


def test_parents_that_form_a_circle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A circle of parents is shown, as on any other database; nothing goes round in it."""
    circle = [checkpoint("t", "1", parent_id="2"), checkpoint("t", "2", parent_id="1")]
    path = make_bundle(tmp_path / "circle.ckpt", circle)
    assert run(["log", "t", "-d", str(path)]) in (0, 5)
    assert run(["tree", "t", "-d", str(path)]) in (0, 5)
    capsys.readouterr()


@pytest.mark.parametrize("verb", [["threads"], ["tree", "a"], ["show", "a"], ["grep", "x"], ["log", "a"], ["info"]])
def test_a_damaged_bundle_ends_a_command(tmp_path: Path, verb: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is that of a database that can't be opened, and there is one line about it."""
    path = make_bundle(tmp_path / "some.ckpt", RECORDS)
    data = bytearray(path.read_bytes())
    data[-140] ^= 1
    path.write_bytes(data)
    assert run([*verb, "-d", str(path)]) == 3
    assert "the bundle's index is damaged: its checksum differs" in capsys.readouterr().err


def test_the_limits_are_those_of_the_page() -> None:
    """docs/bundle.md names the limits that the code has."""
    page = Path(__file__).parents[3].joinpath("docs", "bundle.md").read_text("utf-8")
    assert f"more than {index_module._FREE >> 20} MiB and more than {index_module._RATIO} times its own size" in page

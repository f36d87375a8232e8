"""What is put into a bundle is read from it, by ckpt and by a program written from the specification."""

import io
import os
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckpt_cli.conformance.records import checkpoint, write
from ckpt_cli.conformance.samples import everything
from ckpt_cli.errors import Refused
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Record, Write, name_of
from ckpt_cli.savers.bundle import open_path
from ckpt_cli.savers.bundle.files import bundle_writer
from ckpt_cli.savers.bundle.index import Redaction
from ckpt_cli.savers.bundle.saver import BundleSaver
from ckpt_cli.savers.bundle.segments import parts
from tests.savers.bundle.making import add, make_bundle
from tests.savers.bundle.other_program import read_bundle

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_LONG = [os.urandom(70_000), b"word " * 30_000, os.urandom(5000)]
_PIECES = st.lists(
    st.sampled_from([*_LONG, b"", b"\xdb\x00\x01\x11\x70", b'"', b"{", b"\xc6\xff\xff\xff\xff"]), max_size=5
)
_TAGS = st.sampled_from(["msgpack", "json", "", "msgpack+aes", "ä\ud800"])
_PAYLOADS = st.builds(lambda tag, pieces, end: Payload(tag, b"".join(pieces) + end), _TAGS, _PIECES, st.binary())
_NAMES = st.text(st.characters(), max_size=3)


@st.composite
def _checkpoints(draw: st.DrawFn) -> Checkpoint:
    thread_id, ns, own = draw(_NAMES), draw(st.sampled_from(["", "s:1"])), draw(_NAMES)
    row = CheckpointRow(thread_id, ns, own, draw(st.none() | _NAMES))
    channels = draw(st.none() | st.dictionaries(_NAMES, _PAYLOADS, max_size=3))
    return Checkpoint(row, draw(_PAYLOADS), draw(_PAYLOADS), channels)


_WRITES = st.builds(
    lambda own, idx, payload, channel: Write("w", "", own, "task", idx, channel, "", payload, len(payload.data)),
    _NAMES,
    st.integers(-4, 9) | _NAMES,
    _PAYLOADS,
    _NAMES,
)


def _unique(records: list[Record]) -> list[Record]:
    return [*{name_of(record): record for record in records}.values()]


@settings(max_examples=150, deadline=None)
@given(st.lists(_checkpoints(), max_size=5).map(_unique), st.lists(_WRITES, max_size=5).map(_unique))
def test_records_are_what_they_were(checkpoints: list[Record], writes: list[Record]) -> None:
    """Names, tags and bytes are the same, by ckpt's reader and by that of another program."""
    records = [checkpoint("w", "1"), *(one for one in checkpoints if name_of(one)[0] != "w"), *writes]
    with TemporaryDirectory() as folder:
        path = make_bundle(Path(folder, "some.ckpt"), records)
        saver = open_path(path)
        _, stored, stored_writes = everything(saver)
        saver.close()
        others = read_bundle(path)
    found: list[Record] = [one._replace(row=one.row._replace(size=None)) for one in stored]
    assert {name_of(one): one for one in [*found, *stored_writes]} == {name_of(one): one for one in records}
    assert sorted(map(repr, _by_columns(records))) == sorted(repr([t, *one]) for t in others for one in others[t])


def _by_columns(records: list[Record]) -> list[list[object]]:
    def pair(payload: Payload | None) -> tuple[str, bytes]:
        assert payload is not None
        return payload.tag, payload.data

    lines: list[list[object]] = []
    for one in records:
        if isinstance(one, Write):
            names = (one.ns, one.checkpoint_id, one.task_id, one.idx, one.channel, one.task_path)
            lines.append([one.thread_id, "write", *names, pair(one.payload)])
        else:
            apart = None if one.channels is None else {name: pair(value) for name, value in one.channels.items()}
            names = one.row[1:4]
            lines.append([one.row.thread_id, "checkpoint", *names, pair(one.body), pair(one.metadata), apart])
    return lines


@given(_PAYLOADS)
def test_parts_make_up_the_payload(payload: Payload) -> None:
    """The parts of a payload are its bytes, without a gap, whatever they look like."""
    assert b"".join(payload.data[part.start : part.end] for part in parts(payload)) == payload.data


@pytest.mark.parametrize(
    ("tag", "around"),
    [
        ("msgpack", lambda value: b"\x81\xa1a\xc6" + len(value).to_bytes(4, "big") + value),
        ("json", lambda v: b'{"a": "' + v + b'"}'),
    ],
)
def test_a_long_value_inside_states_is_kept_once(tmp_path: Path, tag: str, around: object) -> None:
    """A value that doesn't compress costs its size once, in whichever number of states it is."""
    assert callable(around)
    value = os.urandom(500_000).replace(b'"', b"'")
    states = [Payload(tag, around(value) + str(n).encode()) for n in range(40)]
    path = make_bundle(tmp_path / "file.ckpt", [checkpoint("t", f"{n:02}", body=one) for n, one in enumerate(states)])
    assert path.stat().st_size < 520_000
    saver = open_path(path)
    assert [one.body for one in saver.checkpoints(row.ref for row in saver.rows("t"))] == states
    saver.close()


def test_states_that_grow_are_compressed_against_each_other(tmp_path: Path) -> None:
    """A conversation that is stored whole at every step takes about as much as its last state."""
    texts = [os.urandom(400).hex().encode() for _ in range(200)]
    states = [Payload("msgpack", b"".join(texts[:n])) for n in range(200)]
    path = make_bundle(tmp_path / "long.ckpt", [checkpoint("t", f"{n:03}", body=one) for n, one in enumerate(states)])
    assert sum(len(one.data) for one in states) / path.stat().st_size > 100


def test_frames_have_their_own_bytes(tmp_path: Path) -> None:
    """Frames that are full, shorter or longer than those before them have no bytes of these."""
    sizes = [5 << 20, 3 << 20, 1 << 16, 9 << 20, 1 << 16, 17 << 20, 1 << 17, 5 << 20]  # a frame of long values has 4 MB
    values = [os.urandom(64) * (size // 64) for size in sizes]
    states = [Payload("msgpack", b"\xc6" + len(one).to_bytes(4, "big") + one) for one in values]
    path = make_bundle(tmp_path / "some.ckpt", [checkpoint("t", str(n), body=one) for n, one in enumerate(states)])
    saver = open_path(path)
    assert [one.body for one in saver.checkpoints(row.ref for row in saver.rows("t"))] == states
    saver.close()
    assert [one[4] for one in read_bundle(path)["t"]] == states


def test_a_bundle_is_a_zstandard_file(tmp_path: Path) -> None:
    """The whole file, header and footers included, can be decompressed by any program that knows zstandard."""
    path = make_bundle(tmp_path / "some.ckpt", [checkpoint("t", "1")])
    make_bundle(path, [checkpoint("u", "1")])
    with zstd.open(io.BytesIO(path.read_bytes())) as file:
        contents = file.read()
    assert b"body of t||1" in contents and b"body of u||1" in contents and contents.count(b'"format"') == 2


def test_threads_and_records_are_added(tmp_path: Path) -> None:
    """An addition keeps what is there, adds threads, and adds records to threads; the head is the new one."""
    path = make_bundle(tmp_path / "some.ckpt", [checkpoint("a", "1"), checkpoint("b", "1", ns="s")])
    before = path.read_bytes()
    make_bundle(path, [checkpoint("b", "0"), checkpoint("c", "1"), write("a", "1")])
    assert path.read_bytes().startswith(before)
    saver = open_path(path)
    assert [thread.head.ns for thread in saver.threads() if thread.thread_id == "b"] == [""]
    assert saver.totals()[:3] == (3, 4, 1)
    assert [one.ref for one in saver.writes("a")] == [checkpoint("a", "1").row.ref]
    saver.close()


def test_a_new_bundle_is_private_and_whole(tmp_path: Path) -> None:
    """Only its user may read it; it has its name only when it is whole; an error leaves nothing."""
    path = tmp_path / "some.ckpt"
    with bundle_writer(path):
        assert not path.exists()
    assert path.stat().st_mode & 0o777 == 0o600
    other = tmp_path / "other.ckpt"
    with pytest.raises(ZeroDivisionError), bundle_writer(other):
        raise ZeroDivisionError
    assert [*tmp_path.iterdir()] == [path]


def test_two_programs_dont_add_at_once(tmp_path: Path) -> None:
    """The second one is refused, and changes nothing."""
    path = make_bundle(tmp_path / "some.ckpt", [checkpoint("a", "1")])
    for one in (path, tmp_path / "new.ckpt"):
        with bundle_writer(one), pytest.raises(Refused, match="another program"), bundle_writer(one):
            raise AssertionError


@pytest.mark.parametrize("key", ["", "0" * 32])
def test_a_redacted_bundle_says_so(tmp_path: Path, key: str) -> None:
    """Header and index say it, a reader that doesn't know it reads on, and only what was redacted alike is added."""
    path, redaction = tmp_path / "some.ckpt", Redaction(("pattern",), key)
    with bundle_writer(path, redaction) as writer:
        add(writer, [checkpoint("t", "c1")])
    assert path.read_bytes()[40:64] == b"redacted, docs/bundle.md" and read_bundle(path).keys() == {"t"}
    with closing(BundleSaver(path)) as saver:
        assert saver.redaction == redaction and "not a byte-for-byte copy" in saver.about().facts["redacted"]
    before = path.read_bytes()
    for other in (None, Redaction(("pattern",), "1" * 32), Redaction(("path",), key), *([] if key else [redaction])):
        with pytest.raises(Refused), bundle_writer(path, other):
            pass
    assert path.read_bytes() == before
    with (
        pytest.raises(Refused),
        bundle_writer(make_bundle(tmp_path / "plain.ckpt", [checkpoint("t", "c1")]), redaction),
    ):
        pass

"""msgpack as the real serializer writes it: every type is decoded as recorded and encoded to the same bytes."""

from typing import Any

import ormsgpack
import pytest

from ckpt_cli.model import Payload
from ckpt_cli.serde import msgpack
from ckpt_cli.serde.codec import Codec
from ckpt_cli.serde.msgpack import LEVELS
from ckpt_cli.serde.msgpack_write import pack
from ckpt_cli.values.jsonback import from_json
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.same import same
from tests.serde.samples import CHECKPOINT, SERIALIZER, VALUES, Point, payload


def ext(code: int, *parts: Any) -> Payload:
    """One object as an extension payload."""
    return Payload(
        "msgpack", ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(list(parts), option=ormsgpack.OPT_NON_STR_KEYS)))
    )


@pytest.mark.parametrize("name", VALUES)
def test_untouched_values_go_out_with_the_bytes_they_came_in(name: str) -> None:
    """Decode then encode is the identity on what the real serializer writes, without looking at the old payload."""
    stored = payload({"value": VALUES[name]})
    assert pack(Codec().decode(stored)) == stored.data


@pytest.mark.parametrize("name", VALUES)
def test_values_made_anew_from_their_json_have_the_bytes_of_the_real_serializer(name: str) -> None:
    """Nodes without raw bytes are written by their form exactly as the real serializer writes the objects."""
    stored = payload({"value": VALUES[name]})
    value = Codec().decode(stored)
    again = from_json(to_json(value, reveal=True))
    assert same(again, value)
    assert pack(again) == stored.data


@pytest.mark.parametrize(
    ("value", "form", "kind"),
    [
        (VALUES["uuid"], Form.VALUE, "uuid.UUID"),
        (VALUES["date"], Form.ARGS, "datetime.date"),
        (VALUES["dataclass"], Form.KWARGS, "tests.serde.samples.Point"),
        (VALUES["datetimes"][0], Form.METHOD, "datetime.datetime"),
        (VALUES["pydantic"], Form.PYDANTIC, "tests.serde.samples.Person"),
        (VALUES["arrays"][0], Form.ARRAY, "numpy.ndarray"),
    ],
)
def test_each_extension_opens_as_its_form(value: Any, form: Form, kind: str) -> None:
    """Class and form are what the extension code says."""
    node = Codec().decode(payload(value))
    assert (node.form, node.type) == (form, kind)


def test_a_delta_snapshot_holds_the_channels_value() -> None:
    """Extension 7 wraps the value itself, without a class."""
    from langgraph.checkpoint.serde.types import _DeltaSnapshot

    stored = payload(_DeltaSnapshot(["a", VALUES["uuid"]]))
    node = Codec().decode(stored)
    assert node.form is Form.SNAPSHOT and node.state[0] == "a"
    assert pack(from_json(to_json(node))) == stored.data


def test_fields_of_an_unknown_class_are_all_there() -> None:
    """A class that can't be imported shows its name and every field."""
    node = Codec().decode(ext(5, "gone.module", "Gone", {"a": 1, "b": [2]}, "model_validate_json"))
    assert (node.module, node.name, node.fields) == ("gone.module", "Gone", {"a": 1, "b": [2]})


def test_equal_objects_are_one_node() -> None:
    """Equal payloads are decoded once, within a value and between values."""
    codec = Codec()
    first, second = codec.decode(payload([Point(1), Point(1)]))
    assert first is second is codec.decode(payload({"x": Point(1)}))["x"]


def test_an_object_is_decoded_when_it_is_looked_into() -> None:
    """A checkpoint decodes although an object in it is damaged; the damage shows when the object is used."""
    inner = ormsgpack.packb(["m", "C", {"text": "Q"}]).replace(b"Q", b"\xff")
    value = Codec().decode(Payload("msgpack", ormsgpack.packb({"good": 1, "bad": ormsgpack.Ext(2, inner)})))
    assert value["good"] == 1
    assert value["bad"].state["text"].problem == "bad UTF-8 @ $.text"


@pytest.mark.parametrize(
    "stored",
    [
        ext(0, "m", "C"),
        ext(0, 1, "C", 2),
        ext(1, "m", "C", {"not": "a list"}),
        ext(2, "m", "C", {1: "no name"}),
        ext(3, "m", "C", "arg"),
        ext(5, "m", "C", {}, None),
        ext(6, "<f8", [-1], "C", b""),
        ext(6, "<f8", [1], "X", b""),
        ext(6, "<f8", [1], "C", "text"),
        Payload("msgpack", ormsgpack.packb(ormsgpack.Ext(4, b""))),
        Payload("msgpack", ormsgpack.packb(ormsgpack.Ext(5, ormsgpack.packb({"no": "list"})))),
    ],
)
def test_a_payload_of_another_shape_is_broken(stored: Payload) -> None:
    """What no library writes is not guessed at, and keeps its bytes."""
    node = Codec().decode(stored)
    assert node.form is Form.BROKEN and node.problem
    assert pack(node) == stored.data


def test_unknown_extensions_are_carried_on() -> None:
    """An unknown extension code is opaque and is written back unchanged."""
    stored = Payload("msgpack", b"\x92\xc7\x03\x2aabc\xd6\xff\0\0\0\1")
    first, second = Codec().decode(stored)
    assert (first.form, first.raw, second.name) == (Form.OPAQUE, b"abc", "msgpack:-1")
    assert pack(from_json(to_json([first, second]))) == stored.data


def test_a_long_chain_of_objects_opens_to_its_bound() -> None:
    """Objects inside objects open one after the other; far beyond any real use a BROKEN node ends the chain."""
    chain: Any = None
    for n in range(60):
        chain = Point(n, chain)
    node = Codec().decode(payload(chain))
    for _ in range(59):
        node = node.state["y"]
    assert node.state["x"] == 0

    raw = b"\xc0"
    for _ in range(2 * LEVELS):
        raw = ormsgpack.packb(ormsgpack.Ext(7, raw))
    bomb, depth = Codec().decode(Payload("msgpack", raw)), 0
    while isinstance(bomb.state, Node):
        bomb, depth = bomb.state, depth + 1
    assert bomb.form is Form.BROKEN and LEVELS <= depth < 2 * LEVELS


def test_a_real_checkpoint_reads_back_in_the_real_library() -> None:
    """What is encoded is what the library itself decodes to the same objects."""
    stored = payload(CHECKPOINT)
    rebuilt = pack(from_json(to_json(Codec().decode(stored), reveal=True)))
    assert SERIALIZER.loads_typed(("msgpack", rebuilt)) == CHECKPOINT


@pytest.mark.parametrize("length", [0, 1, 31, 32, 255, 256])
def test_a_payload_that_is_one_text(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short text is decoded at once, and it and damaged ones become what any other value does."""
    texts = ["a" * length, "ä" * (length // 2)]
    whole = [ormsgpack.packb(text) for text in texts]
    damaged = [bad for data in whole for bad in (data[:-1], data + b"\x00", data[:-1] + b"\xff")]
    quickly = [Codec().decode(Payload("msgpack", data)) for data in (*whole, *damaged)]
    monkeypatch.setattr(msgpack, "_short_text", lambda _: None)
    slowly = [Codec().decode(Payload("msgpack", data)) for data in (*whole, *damaged)]
    assert quickly[:2] == texts
    assert all(map(same, quickly, slowly))

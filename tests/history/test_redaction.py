"""Values without what a pattern matches, without what is at a path, and as outlines."""

import base64
import json
from typing import Any

import pytest

from ckpt_cli.errors import UsageError
from ckpt_cli.history.redaction.masks import MASK, Masks
from ckpt_cli.history.redaction.patterns import Patterns
from ckpt_cli.history.redaction.redactor import Redactor
from ckpt_cli.history.state.paths import parse

SALT = "a salt that nobody guesses"


def redact(value: Any, channel: str = "c", **options: Any) -> Any:
    redactor = Redactor(**{**options, "paths": [parse(path) for path in options.get("paths", ())]})
    with redactor.patterns.running():
        return redactor.channel(channel, value, ("state",))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("ann and Ann", f"{MASK} and Ann"),
        (r'{"a": "\u0061nn", "b": 1}', f'{{"a": "{MASK}", "b": 1}}'),
        (r"b'\x61\x6e\x6e\n'", rf"b'{MASK}\n'"),
        ("?who=%61nn&x=1", f"?who={MASK}&x=1"),
        ("<p>&#97;nn</p>", f"<p>{MASK}</p>"),
        (base64.b64encode(b"hello ann, hello").decode(), MASK),
        (f"key {b'hello ann'.hex()}!", f"key {MASK}!"),
        (json.dumps(json.dumps({"a": "é ann"})), None),
        ("a\0n\0n", MASK),
        ("anodyne", "anodyne"),
    ],
)
def test_a_text_in_any_spelling(text: str, left: str | None) -> None:
    """Only what matches is replaced, as it is spelled; the rest of the text stays."""
    new = redact(text, patterns=["ann"])
    assert "ann" not in new
    assert left is None or new == left


def test_a_slow_pattern_is_stopped() -> None:
    """A pattern that takes seconds for one text is an error."""
    with pytest.raises(UsageError, match="the pattern takes"):
        redact("a" * 40 + "b", patterns=["(a+)+$"])


def test_pseudonyms_need_the_salt() -> None:
    """The same salt gives the same pseudonyms, in all places; another one gives others, and none gives the mask."""
    first, again, other = (Masks(salt) for salt in (SALT, SALT, f"another {SALT}"))
    assert first.text("ann") == again.text("ann") == first.name("ann") != first.text("bob")
    assert first.text("ann") != other.text("ann") and Masks().text("ann") == MASK
    assert Masks().name("ann") != Masks().name("ann")
    with pytest.raises(UsageError, match="can be guessed"):
        Masks("short")


@pytest.mark.parametrize(
    ("path", "value", "left"),
    [
        ("c", {"n": 5, "ok": True, "of": 1.5, "no": None}, {"n": 0, "ok": False, "of": 0.0, "no": None}),
        ("c.a", {"a": "x", "b": "y"}, {"a": MASK, "b": "y"}),
        ("c[0].a", [{"a": "x"}, {"b": "y"}], [{"a": MASK}, {"b": "y"}]),
        ("c.a", [{"a": ["x", "y"]}], [{"a": [MASK, MASK]}]),
        ("c.a.b", {"a": "text"}, {"a": MASK}),
        ("c.a", {"__overwrite__": {"a": "x"}}, {"__overwrite__": {"a": MASK}}),
        ("d.a", {"d": {"a": "x"}}, {"d": {"a": "x"}}),
    ],
)
def test_a_path(path: str, value: Any, left: Any) -> None:
    """A position means every position; a text where the path expects an object is replaced too."""
    new = redact(value, paths=[path])
    assert list(new.values()) == list(left.values()) if path == "c" else new == left


def test_a_path_in_an_input() -> None:
    """In special channels, and in Sends, a path may begin at any key."""
    assert redact({"x": {"user": {"mail": "a", "id": 1}}}, "__start__", paths=["user.mail"]) == {
        "x": {"user": {"mail": MASK, "id": 1}}
    }


def test_an_outline() -> None:
    """Equal values stay equal, and lengths have their class; content isn't left."""
    value = {"a": ["yes", "no", "yes"], "b": "x" * 1000, "c": 1234, "type": "human", "d": b"abc"}
    new = redact(value, outline=True)
    kept = new.pop("type")
    first, second, number, data = new.values()
    assert kept == "human" and set(new) & set(value) == set()
    assert first[0] == first[2] != first[1] and {len(one) for one in first} == {16}
    assert len(second) == 1024 and 0 <= number < 10_000 and len(data) == 16
    assert redact(value, outline=True, salt=SALT) == redact(value, outline=True, salt=SALT)


def test_what_cant_be_looked_into() -> None:
    """Bytes that are no text, and long base64 that is none, are replaced as a whole."""
    assert redact(b"\x00\xff\x80", patterns=["x"]) == MASK.encode()
    image = base64.b64encode(bytes(range(256)) * 2).decode()
    assert redact(f"data:image/png;base64,{image}", patterns=["ann"]) == f"data:image/png;base64,{MASK}"
    assert redact("x" * 5000, patterns=["ann"]) in ("x" * 5000, MASK)


def test_a_value_nested_too_deep() -> None:
    """It can't be looked into, so all of it is replaced."""
    value: Any = "ann"
    for _ in range(3000):
        value = [value]
    assert redact(value, patterns=["ann"]) == redact(value, outline=True) == MASK


def test_matches_that_overlap_are_one() -> None:
    """Two patterns that match the same characters leave one mask."""
    assert Patterns(["anna", "nab"], Masks()).text("xannabel") == f"x{MASK}el"

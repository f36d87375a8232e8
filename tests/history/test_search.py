"""The search for texts in values and through a history."""

from ckpt_cli.history.search.pattern import Match, Needle
from ckpt_cli.history.search.search import MatchedText, Place, Search, Sightings
from ckpt_cli.values.node import Form, Node, Opened

PERSON = Node(Opened("m", "P", Form.PYDANTIC, {"name": "Ada", "tags": ["red", "green"]}))


def paths(value: object, pattern: str) -> list[tuple[object, ...]]:
    """The paths of the matches of a pattern."""
    return sorted((match.path for match in Search(Needle(pattern)).find(value)), key=str)


def test_texts_keys_and_numbers_are_found_by_path() -> None:
    """Lists, dicts and recorded objects are searched."""
    value = {"a": ["x", {"b": "xx"}], "x": 1, "n": 41, "p": PERSON}
    assert paths(value, "x") == [("a", 0), ("a", 1, "b"), ("x",)]
    assert paths(value, "41") == [("n",)]
    assert paths(value, "red|Ada") == [("p", "name"), ("p", "tags", 0)]


def test_an_object_of_the_same_bytes_is_opened_once() -> None:
    """Its matches are given at every place of the object."""
    opened = []

    def load(raw: bytes) -> Opened:
        opened.append(raw)
        return Opened("m", "P", Form.PYDANTIC, {"t": "a word"})

    twice = [Node(encoding="msgpack:5", raw=b"... word", load=load) for _ in range(2)]
    assert [found.path for found in Search(Needle("word")).find(twice)] == [(1, "t"), (0, "t")]
    assert len(opened) == 1


def test_an_object_whose_bytes_lack_the_word_is_not_opened() -> None:
    """Only its bytes are searched."""

    def refuse(raw: bytes) -> Opened:
        raise AssertionError(raw)

    assert list(Search(Needle("word")).find([Node(encoding="msgpack:5", raw=b"nothing", load=refuse)])) == []


def test_endless_nesting_is_searched() -> None:
    """The search doesn't recurse deeper for deeper values."""
    value: object = "needle"
    for n in range(3000):
        value = [value] if n % 2 else Node(Opened("m", "P", Form.PYDANTIC, {"in": value}), raw=b"needle%d" % n)
    assert len(list(Search(Needle("needle")).find(value))) == 1


def matched(text: str, *path: object) -> MatchedText:
    """A match."""
    return MatchedText(path, hash(text), Match("", text, "", 0))


def test_a_text_that_moves_in_its_list_is_the_same_sighting() -> None:
    """It extends from the first checkpoint that holds it to the last."""
    seen = Sightings()
    seen.add("1", Place.STATE, [matched("x", "m", 3)])
    seen.add("2", Place.STATE, [matched("x", "m", 2), matched("y", "m", 3)])
    seen.add("3", Place.STATE, [matched("y", "m", 3)])
    assert [(s.match.text, s.path, s.first, s.last, s.checkpoints) for s in seen.distinct()] == [
        ("x", ("m", 3), "1", "2", 2),
        ("y", ("m", 3), "2", "3", 2),
    ]


def test_writes_that_became_state_are_not_given_twice() -> None:
    """Writes to a delta channel, which the state holds only later, and writes that never became state are given."""
    parents = [("1", None), ("2", "1"), ("3", "2")]
    seen = Sightings()
    seen.add("2", Place.STATE, [matched("taken up", "m", 0), matched("input", "m", 1)])
    seen.add("3", Place.STATE, [matched("delta", "d", 0)])
    seen.add("1", Place.STATE, [matched("input", "__start__")])
    seen.add("1", Place.WRITES, [matched("taken up", "m"), matched("delta", "d"), matched("pending", "m")])
    seen.add("2", Place.METADATA, [matched("taken up", "writes", "node"), matched("only here", "user")])
    sightings = [(str(s.place), s.match.text) for s in seen.distinct(parents)]
    assert sightings == [
        ("writes", "delta"),
        ("writes", "pending"),
        ("state", "taken up"),
        ("state", "input"),
        ("metadata", "only here"),
        ("state", "delta"),
    ]

"""Of a redacted text, no byte is in a bundle, wherever and however it was stored."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.app import run
from tests.redaction.graphs import run_all
from tests.redaction.places import NAMES, PATTERN, VALUES, secret
from tests.redaction.reading import contents, found
from tests.savers.bundle.other_program import read_bundle
from tests.servers.postgres import PostgresServer

ALL = {**{place: one.structure for place, one in VALUES.items()}, **NAMES}
"""Every place: whether its secret is a name of the graph's structure."""
SALT = "a salt that nobody guesses"

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with a secret at every place."""
    if request.param == "sqlite":
        url = str(tmp_path_factory.mktemp("redaction") / "agent.sqlite")
        with SqliteSaver.from_conn_string(url) as saver:
            run_all(saver)
        return url
    postgres: PostgresServer = request.getfixturevalue("postgres")
    url = postgres.space()
    with PostgresSaver.from_conn_string(url) as other:
        other.setup()
        run_all(other)
    return url


@pytest.fixture(scope="module")
def bundles(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Gives the bundle of an export with some options, made once."""
    folder = tmp_path_factory.mktemp("bundles")

    @cache
    def make(*options: str) -> Path:
        path = folder / f"{len(list(folder.iterdir()))}.ckpt"
        assert run(["export", "-d", database, "-o", str(path), *options]) == 0
        return path

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SALT", SALT)
        yield make


def left(path: Path, places: Any) -> dict[str, set[str]]:
    """The places whose secrets are in a bundle, and how they are spelled there."""
    data = contents(path)
    return {place: spelled for place in places if (spelled := found(secret(place), data))}


def test_there_are_many_places(bundles: Any) -> None:
    """Without redaction, the secret of each place is in the bundle."""
    assert len(ALL) >= 80
    assert left(bundles(), ALL).keys() == ALL.keys()


@pytest.mark.parametrize("more", [(), ("--salt-env", "SALT"), ("--only-structure",), ("--redact", "box")])
def test_a_pattern_finds_all(bundles: Any, more: tuple[str, ...]) -> None:
    """No spelling of what a pattern matches is left."""
    assert left(bundles("--redact-pattern", PATTERN, *more), ALL) == {}


def test_a_path_finds_its_values(bundles: Any) -> None:
    """What is at a path is in no state, write, input, Send, question or answer."""
    assert left(bundles("--redact", "box"), [place for place, one in VALUES.items() if not one.structure]) == {}
    paths = "given short log who user user_id session labels shared __error__ __interrupt__ __resume__ __return__"
    options = [word for path in (*paths.split(), "__previous__", "__end__") for word in ("--redact", path)]
    names = [place for place, is_structure in NAMES.items() if not is_structure and place not in _NOT_BY_PATH]
    assert left(bundles(*options), names) == {}


_NOT_BY_PATH = frozenset({"the thread's id", "a functional input"})


def test_an_outline_has_only_structure(bundles: Any) -> None:
    """Names of nodes, channels, classes and fields are left, and nothing else."""
    assert left(bundles("--only-structure"), [place for place, is_structure in ALL.items() if not is_structure]) == {}


@pytest.mark.parametrize("option", [("--redact-pattern", PATTERN), ("--only-structure",), ("--redact", "box")])
def test_every_look_works(bundles: Any, option: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Every command that reads, reads a redacted bundle."""
    path = str(bundles(*option))
    capsys.readouterr()
    assert run(["threads", "-d", path, "--json"]) == 0
    threads = [one["thread_id"] for one in json.loads(capsys.readouterr().out)["threads"]]
    assert len(threads) == 3
    for words in (["threads"], ["grep", "x"], ["verify"], ["stats"], ["info"]):
        assert run([*words, "-d", path]) in (0, 1), words
    for thread in threads:
        for verb in ("log", "tree", "show", "writes", "graph", "trace"):
            assert run([verb, thread, "-d", path]) == 0, (verb, thread, capsys.readouterr().err)
        assert run(["diff", thread, "step:-1", "@", "-d", path]) == 0
        assert run(["show", thread, "--json", "-d", path]) == 0


@pytest.mark.parametrize("option", [("--redact-pattern", PATTERN), ("--only-structure",), ("--redact", "box")])
def test_the_library_decodes_what_is_left(bundles: Any, option: tuple[str, ...]) -> None:
    """LangGraph's own serializer makes of every payload what it made before, of the same type."""
    serde, before, after = JsonPlusSerializer(), read_bundle(bundles()), read_bundle(bundles(*option))
    assert len(before) == len(after)
    kinds = [sorted(_kinds(serde, bundle)) for bundle in (before, after)]
    assert kinds[0] == kinds[1]


def _kinds(serde: JsonPlusSerializer, bundle: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for records in bundle.values():
        for record in records:
            payloads = [*record[-3:-1], *(record[-1] or {}).values()] if record[0] == "checkpoint" else [record[-1]]
            for tag, data in payloads:
                value = json.loads(data) if tag == "json" else serde.loads_typed((tag, data)) if tag else data
                yield record[0], type(value).__name__
                if isinstance(value, dict) and "box" in (values := value.get("channel_values", value)):
                    yield from (("box", type(one).__name__) for one in values["box"].values())


def test_a_salt_links_exports(database: str, tmp_path: Path) -> None:
    """With the same salt, a repeated export adds nothing; with another salt or none it is refused."""
    path, options = tmp_path / "some.ckpt", ["--redact-pattern", PATTERN]
    command = ["export", "-d", database, "-o", str(path)]
    assert run([*command, *options, "--salt-env", "NOT_SET"]) == 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SALT", SALT)
        patch.setenv("OTHER_SALT", f"another {SALT}")
        assert run([*command, *options, "--salt-env", "SALT"]) == 0
        size = path.stat().st_size
        assert run([*command, *options, "--salt-env", "SALT"]) == 0
        assert path.stat().st_size - size < size / 3
        before = path.read_bytes()
        for other in (options, [], [*options, "--salt-env", "OTHER_SALT"], ["--only-structure", "--salt-env", "SALT"]):
            assert run([*command, *other]) == 7, other
    assert path.read_bytes() == before


def test_a_pattern_without_a_match_replaces_nothing(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The audit counts what is other than it was: secrets alone, not the names of nodes that it looks at."""
    words = ["export", "-d", database, "-o", str(tmp_path / "a.ckpt"), "--redact-pattern", "no text is like this"]
    assert run([*words, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)["redaction"]
    assert [rule["matches"] for rule in report["rules"]] == [0]
    replaced = [place["path"] for place in report["places"] if place["replaced"]]
    assert [path for path in replaced if "SecretStr" not in path and "password" not in path] == []

"""`ckpt copy --rename-class`: the agent goes on with the class at its new place."""

import json
import sys
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel

from ckpt_cli.app import run
from tests.graphs.building import line, on
from tests.langgraph.places import places


@pytest.fixture
def carts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A class under its old and its new name, in modules of which only the second exists later."""
    made = []
    for module in ("shop_then", "shop_now"):
        cart = type("Cart", (BaseModel,), {"__annotations__": {"owner": str}, "__module__": module})
        own = ModuleType(module)
        own.Cart = cart  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module, own)
        made.append(cart)
    return made


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_an_agent_goes_on(request: pytest.FixtureRequest, kind: str, carts: list[Any], capsys: Any) -> None:
    """Values of the old class have the new one, in states and writes; a copy again finds nothing to do."""
    source, target = places(request, "sqlite")(), places(request, kind)()
    old, new = carts
    with source.official() as saver:
        line(saver, "a", "b", interrupt_before=["b"]).invoke({"log": [old(owner="Ann"), "shop_then.Cart"]}, on("t"))
    words = ["copy", source.url, target.url, "--rename-class", "shop_then.Cart=shop_now.Cart", "--yes"]
    assert run(words) == 0, capsys.readouterr()
    assert "shop_then.Cart as shop_now.Cart" in capsys.readouterr().out
    del sys.modules["shop_then"]
    with target.official() as saver:
        values = line(saver, "a", "b").invoke(None, on("t"))
        assert values["log"] == [new(owner="Ann"), "shop_then.Cart", "a", "b"]
    assert run(["copy", source.url, target.url, "--yes"]) == 7  # the target's values have another class
    assert run(words) == 0
    assert "already there" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("shop.Cart", 2, "it is not old.module.Class=new.module.Class"),
        ("Cart=shop.Cart", 2, "it is not"),
        ("shop.Cart=1.x", 2, "it is not"),
        ("no.Such=shop.Cart", 4, "no value of these threads is a no.Such; nothing was written"),
    ],
)
def test_wrong_names(
    text: str, code: int, words: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """A text that names no two classes, and a class that no value has: nothing is written."""
    monkeypatch.chdir(tmp_path)
    assert run(["demo"]) == 0
    capsys.readouterr()
    assert run(["copy", "ckpt-demo.sqlite", "new.sqlite", "--rename-class", text, "--yes", "--json"]) == code
    assert words in json.loads(capsys.readouterr().err)["error"]["message"]
    assert not list(tmp_path.glob("new*"))

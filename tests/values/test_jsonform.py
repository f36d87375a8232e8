"""Typed JSON: every value is written as JSON and read back the same."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.errors import UsageError
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.jsonback import SNAPSHOT_CLASS, from_json
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.node import Form, Node, Opened, broken, opaque
from ckpt_cli.values.same import same
from tests.serde.samples import VALUES, payload

TEXT = st.text(st.characters(exclude_categories=[]) | st.sampled_from("$.a"), max_size=6)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.binary(max_size=6)
NAMES = st.text(st.sampled_from("ab.$ é"), max_size=5)
KEYS = SCALARS | st.tuples(SCALARS, SCALARS)


def nodes(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Node]:
    """Nodes of every form around other values."""
    fields = st.dictionaries(TEXT, inner, max_size=3)
    listed = st.lists(inner, max_size=3)
    call = st.fixed_dictionaries({"args": listed, "kwargs": fields})
    pickled = st.dictionaries(st.sampled_from(["args", "kwargs", "state", "items"]), inner, max_size=4)
    array = st.fixed_dictionaries(
        {"dtype": TEXT, "shape": st.lists(st.integers(0), max_size=3), "order": TEXT, "data": st.binary(max_size=8)}
    )
    states = {
        Form.VALUE: inner,
        Form.ARGS: listed,
        Form.KWARGS: fields,
        Form.METHOD: inner,
        Form.PYDANTIC_V1: fields | inner,
        Form.PYDANTIC: fields | inner,
        Form.LC1: fields,
        Form.LC2: call,
        Form.PICKLE: pickled,
    }
    classes = st.tuples(NAMES, NAMES) | st.sampled_from(
        [("datetime", "datetime"), ("langchain_core.messages.ai", "AIMessage"), ("numpy", "ndarray"), ("", "Set")]
    )

    def of(form: Form) -> st.SearchStrategy[Node]:
        methods = st.sampled_from(["", "fromisoformat", "construct"]) if form is not Form.VALUE else st.just("")
        if form is Form.METHOD:
            methods = st.sampled_from(["fromisoformat", "fromhex"])
        return st.builds(
            lambda named, state, method: Node(Opened(*named, form, state, method)), classes, states[form], methods
        )

    return st.one_of(
        *map(of, states),
        st.builds(lambda state: Node(Opened("numpy", "ndarray", Form.ARRAY, state)), array),
        st.builds(
            lambda state: Node(Opened(*SNAPSHOT_CLASS, Form.SNAPSHOT, state)),
            inner,
        ),
        st.just(Node(Opened("", "undefined", Form.UNDEFINED, None))),
        st.builds(opaque, TEXT, st.binary(max_size=6)),
        st.builds(lambda raw, key: broken("gone", raw, needs_key=key), st.binary(max_size=6), st.booleans()),
    )


ANY = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4) | nodes(inner),
    max_leaves=14,
)


@given(ANY)
def test_every_value_comes_back_the_same(value: Any) -> None:
    """Through real JSON text, whatever the keys, the classes and the forms."""
    text = json.dumps(to_json(value, reveal=True))
    assert same(from_json(json.loads(text)), value)


@given(ANY)
def test_its_json_is_json_that_means_itself(value: Any) -> None:
    """It is strict JSON: no NaN, only text keys."""
    json.dumps(to_json(value), allow_nan=False)

    def check(data: Any) -> None:
        if isinstance(data, dict):
            assert all(type(key) is str for key in data)
            for item in data.values():
                check(item)
        elif isinstance(data, list):
            for item in data:
                check(item)

    check(to_json(value))


@given(st.recursive(st.none() | st.booleans() | st.integers() | TEXT, lambda v: st.lists(v) | st.dictionaries(TEXT, v)))
def test_plain_data_is_itself_but_for_keys_with_a_dollar(value: Any) -> None:
    """Plain JSON data without such keys is written as it is."""
    if "$" not in json.dumps(value):
        assert to_json(value) == value


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("uuid", {"$type": "uuid.UUID", "$value": "12345678123456781234567812345678"}),
        ("date", {"$type": "datetime.date", "$args": [2024, 2, 29]}),
        ("dataclass", {"$type": "tests.serde.samples.Point", "x": 0.5}),
        ("pydantic", {"$type": "tests.serde.samples.Person", "$form": "pydantic", "name": "Ada"}),
        ("document", {"$type": "langchain_core.documents.base.Document", "page_content": "doc", "id": "d1"}),
        ("keys", {"$map": [[1, "one"], [2.5, "float"], [None, "none"]]}),
        ("nan", {"$float": "nan"}),
    ],
)
def test_the_documented_forms(name: str, form: dict[str, Any]) -> None:
    """The JSON of each kind, as users and scripts see it."""
    written = to_json(Codec().decode(payload(VALUES[name])))
    for key, item in form.items():
        assert written[key] == item if key != "$map" else written[key][:3] == item


def test_keys_that_begin_with_a_dollar_are_escaped() -> None:
    """A user's own ``$type`` gets one more dollar, and loses it again."""
    assert to_json({"$type": "x", "$$y": 1}) == {"$$type": "x", "$$$y": 1}
    assert from_json({"$$type": "x", "$$$y": 1}) == {"$type": "x", "$$y": 1}


def test_secrets_are_masked_unless_revealed() -> None:
    """A secret and a secret in a field of a model; what is masked can't be read back as the secret."""
    value = Codec().decode(payload(VALUES["secrets"]))
    assert "p@ss" not in json.dumps(to_json(value))
    assert json.dumps(to_json(value, reveal=True)).count("p@ss") == 2
    with pytest.raises(UsageError, match="masked"):
        from_json(to_json(value))


@pytest.mark.parametrize(
    "data",
    [
        {"$nope": 1},
        {"$bytes": 1},
        {"$bytes": "no base 64!"},
        {"$float": "x"},
        {"$map": 1},
        {"$map": [[1]]},
        {"$map": [[[], 1]]},
        {"$type": "a.B", "$form": "nope"},
        {"$type": "a.B", "$form": "lc2"},
        {"$type": "a.B", "$form": "value"},
        {"$tuple": 1},
        {"$form": "pickle"},
    ],
)
def test_forms_that_fit_nothing_are_refused(data: Any) -> None:
    """A typing error in an edited document is an error; nothing is guessed."""
    with pytest.raises(UsageError):
        from_json([data])


def test_depth_is_free() -> None:
    """Values nested beyond Python's recursion limit are written and read back."""
    value: Any = "core"
    for _ in range(20_000):
        value = [value]
    assert same(from_json(to_json(value)), value)
    while isinstance(value, list):
        value = value[0]


@pytest.mark.parametrize(("name", "whole"), [("set", "builtins.set"), ("deque", "collections.deque")])
def test_a_class_that_people_write_without_its_module(name: str, whole: str) -> None:
    """LangGraph couldn't find it, and would give the graph a list; with the module it is read."""
    with pytest.raises(UsageError, match="has no module") as caught:
        from_json({"$type": name, "$args": [["only"]]})
    assert f'"{whole}"' in (caught.value.hint or "")
    assert from_json({"$type": whole, "$args": [["only"]]}).type == whole

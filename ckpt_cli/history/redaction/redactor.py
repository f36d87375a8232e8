"""`Redactor`: values without what a pattern matches, without what is at a path, or as outlines.

The result has the same shape and the same types. What can't be looked into is replaced as a whole. Equal objects are
walked through once; they stay equal.
"""

from collections.abc import Callable
from typing import Any

from ckpt_cli.history.redaction.langgraph_parts import (
    is_library_class,
    is_library_word,
    is_name_field,
    is_name_key,
    is_trigger,
)
from ckpt_cli.history.redaction.memo import Memo
from ckpt_cli.history.redaction.neutral_values import neutral
from ckpt_cli.history.redaction.path_rules import EVERYTHING, NODE_NAMES, Active
from ckpt_cli.history.redaction.single_values import SingleValues
from ckpt_cli.history.redaction.tally import LEVELS, Place, Tally
from ckpt_cli.history.state.channels import TASKS
from ckpt_cli.values.langgraph_values import is_secret, js_send, overwrite
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.well_known_types import text as natural_text

_UNREADABLE = frozenset({Form.BROKEN, Form.OPAQUE, Form.PICKLE})
_MEMO = 32 << 20  # bytes of objects that are remembered, each with what became of it
_ENTRY = 1500  # bytes that a remembered object takes beside its own
_LONG_TEXT = 2048  # characters; whether such a text has a match is remembered
_TEXTS = 50_000

_Key = tuple[str, bytes, Active]


class Redactor(SingleValues):
    """Redacts the values of threads.

    Args:
        pack: gives an object the bytes that are stored for it.
        options: those of `SingleValues`.
    """

    def __init__(self, *, pack: Callable[[Node], Node] = lambda node: node, **options: Any) -> None:
        super().__init__(**options)
        self._pack = pack
        self._memo = Memo[Any](_MEMO)

    def start(self, thread_id: str) -> None:
        """See `SingleValues.start`."""
        super().start(thread_id)
        self._memo.clear()

    def channel(self, name: str, value: Any, place: Place) -> Any:
        """The value of a channel, or what was written to it, redacted."""
        if name == TASKS:
            self.learn_called(value)
        active = self.paths.channel(name)
        if is_trigger(name) and not active.done:
            active = NODE_NAMES
        elif self.outline:
            active = EVERYTHING
        return self._bounded(value, (*place, self.identifier(name)), active)

    def learn_called(self, sends: Any) -> None:
        """Learn the nodes that a Send, or each Send of a list, calls: a node that hasn't finished is in no other name.

        Call this only of what LangGraph stores as Sends; an application's own value may look like one.
        """
        found = map(js_send, sends if isinstance(sends, list | tuple) else [sends])
        self.learn(one.node for one in found if one is not None)

    def anywhere(self, value: Any, place: Place) -> Any:
        """A value in which a path may begin at any key, redacted."""
        return self._bounded(value, place, EVERYTHING if self.outline else Active(anywhere=bool(self.paths)))

    def entry(self, key: str, own: str, value: Any, place: Place) -> Any:
        """The value of an entry of the metadata, redacted; `own` is its redacted key."""
        active = EVERYTHING if self.outline else Active(anywhere=bool(self.paths))
        try:
            return self._member(key, own, value, place, active)
        except RecursionError:
            return self.opaque(place)

    def _bounded(self, value: Any, place: Place, active: Active) -> Any:
        """The value, redacted; one that is nested too deep can't be looked into."""
        try:
            return self.value(value, place, active)
        except RecursionError:
            return self.opaque(place)

    def value(self, value: Any, place: Place, active: Active) -> Any:
        """A value, redacted by the rules that are active for it."""
        kind = type(value)
        if kind is str:
            return self.text(value, place, active)
        if kind is Node:
            return self._node(value, place, active)
        if kind is list or kind is tuple:
            return kind(self.value(item, place, active) for item in value)
        if kind is dict:
            return self._dict(value, place, active)
        return self.leaf(value, place, active)

    def _dict(self, value: dict[Any, Any], place: Place, active: Active) -> dict[Any, Any]:
        new: dict[Any, Any] = {}
        for key, item in value.items():
            own = self.key(key, place, active)
            while own in new:
                own = f"{own}-2"
            new[own] = self._member(key, own, item, place, active)
        return new

    def _member(self, key: Any, own: Any, item: Any, place: Place, active: Active) -> Any:
        inner = self.paths.into(active, key) if self.paths else active
        below = (*place, str(own)) if len(place) < LEVELS else place
        if type(item) is str:
            if inner.done and is_library_word(key, item):
                self.tally.kept(below)
                return item
            return self.text(item, below, inner, name=is_name_key(key))
        return self.value(item, below, inner)

    def _node(self, node: Node, place: Place, active: Active) -> Any:
        if node.raw is None:
            return self._new_node(node, place, active)
        key = node.encoding, node.raw, active
        known = self._memo.get(key)
        if known is None:
            outer, self.tally = self.tally, Tally()
            try:
                new = self._new_node(node, (), active)
                known = self._packed(new) if isinstance(new, Node) else new, self.tally
            finally:
                self.tally = outer
            self._memo.put(key, *known, 2 * len(node.raw))
        self.tally.add(place, known[1])
        return known[0]

    def _packed(self, node: Node) -> Node:
        return self._pack(node) if node.raw is None else node

    def _new_node(self, node: Node, place: Place, active: Active) -> Any:
        form = node.form
        if form in _UNREADABLE:
            return self.opaque(place)
        if form is Form.UNDEFINED:
            return node
        if form is Form.ARRAY:
            self.tally.opaque(place)
            return _with_state(node, {**node.state, "data": bytes(len(node.state["data"]))})
        if is_secret(node):
            active = active if active.done else EVERYTHING
        if active.done or (self.patterns and self.patterns.match(natural_text(node) or "")):
            plain = neutral(node, self._eraser, self.masks.digest)
            if plain is not None:
                self.tally.replaced(place)
                return plain
        return self._classified(_with_state(node, self._state(node, place, active)))

    def _state(self, node: Node, place: Place, active: Active) -> Any:
        """The contents of an object, redacted."""
        form, state = node.form, node.state
        if form is Form.LC2:
            kwargs = self._fields(node, state["kwargs"], place, active)
            return {"args": self.value(state["args"], place, active), "kwargs": kwargs}
        if form is Form.ARGS and node.name == "Send" and node.module.startswith("langgraph") and state:
            inside = active if active.done else active._replace(anywhere=bool(self.paths))
            return [self._identifiers(state[0], place), *(self.value(one, place, inside) for one in state[1:])]
        if isinstance(state, dict) and form is not Form.VALUE:
            return self._fields(node, state, place, active)
        return self.value(state, place, active)

    def _fields(self, node: Node, fields: dict[str, Any], place: Place, active: Active) -> dict[str, Any]:
        """The named fields of an object: their names are the class's."""
        library = is_library_class(node.module)
        if node.module.startswith("langgraph") and not active.done and overwrite(node) is None:
            active = active._replace(anywhere=bool(self.paths))
        transparent = overwrite(node) is not None
        new = {}
        for key, item in fields.items():
            own = key if library else self.patterns.text(key, name=True)
            if is_name_field(node, key):
                new[own] = self._identifiers(item, place)
            elif transparent:
                new[own] = self.value(item, place, active)
            else:
                new[own] = self._member(key, own, item, place, active)
        return new

    def _identifiers(self, value: Any, place: Place) -> Any:
        """Names of nodes and namespaces, alone or in a list."""
        if isinstance(value, str):
            new = self.identifier(value)
            (self.tally.kept if new == value else self.tally.replaced)(place)
            return new
        if isinstance(value, list | tuple):
            return [self._identifiers(item, place) for item in value]
        return self.anywhere(value, place) if isinstance(value, dict | Node) else value

    def _classified(self, node: Node) -> Node:
        """The object; the name of an application's class is redacted too."""
        if not self.patterns or is_library_class(node.module):
            return node
        module, name = self.names.name(node.module), self.names.name(node.name)
        method = self.names.name(node.method)
        return Node(Opened(module, name, node.form, node.state, method))


def _with_state(node: Node, state: Any) -> Node:
    return Node(Opened(node.module, node.name, node.form, state, node.method))

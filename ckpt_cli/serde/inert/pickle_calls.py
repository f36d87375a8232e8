"""Which class or function a pickle would have called; its arguments, also those of a wrong type.

It may be called directly, by one of its methods, or through copyreg.
"""

from dataclasses import dataclass
from typing import Any

from ckpt_cli.values.node import Form, Node, Opened


@dataclass(frozen=True, slots=True)
class PickleCall:
    """A call that a pickle would have made; the result would then have got `state`, `items` and `pairs`."""

    module: str
    name: str
    args: Any
    kwargs: Any
    state: Any
    items: list[Any]
    pairs: dict[Any, Any]
    method: str = ""

    def node(self, form: Form, state: Any, module: str = "", name: str = "", method: str = "") -> Node:
        """A node of this class, or of the class named by `module` and `name`.

        Raises:
            TypeError: the state doesn't fit the form; a pickle may contain any value as arguments.
        """
        if form is Form.ARGS and not isinstance(state, list):
            raise TypeError(state)
        return Node(Opened(module or self.module, name or self.name, form, state, method))


def resolve_call(
    made_by: Any, args: Any, kwargs: Any, state: Any, items: list[Any], pairs: dict[Any, Any]
) -> PickleCall:
    """The call that a pickle's opcode REDUCE, NEWOBJ, INST or OBJ would have made."""
    rest = (kwargs, state, items, pairs)
    if not _is_global(made_by):
        if owner := _bound(made_by):
            return PickleCall(owner.module, owner.name, args, *rest, method=made_by.state["args"][1])
        return PickleCall("", "call", [made_by, args], *rest)
    module = _MODULES.get(made_by.module, made_by.module)
    if module == "copyreg" and isinstance(args, list) and args and _is_global(args[0]):
        own = [part for part in args[2:] if part is not None] if made_by.name == "_reconstructor" else args[1:]
        return PickleCall(args[0].module, args[0].name, own, *rest)
    return PickleCall(module, made_by.name, args, *rest)


def _is_global(value: Any) -> bool:
    return isinstance(value, Node) and value.form is Form.PICKLE and not value.state


def _bound(value: Any) -> Node | None:
    """The class whose method ``getattr`` would have given; None for any other value."""
    if isinstance(value, Node) and (value.module, value.name) == ("builtins", "getattr"):
        args = value.state.get("args") if value.form is Form.PICKLE else None
        if isinstance(args, list) and len(args) == 2 and _is_global(args[0]) and isinstance(args[1], str):
            owner: Node = args[0]
            return owner
    return None


_MODULES = {"__builtin__": "builtins", "exceptions": "builtins", "copy_reg": "copyreg", "pathlib._local": "pathlib"}

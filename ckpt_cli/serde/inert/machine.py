"""The pickle machine that calls nothing: opcodes, memo, stack; hostile, cut off and damaged pickles.

It follows the opcodes and records the values that they would build. langgraph 0.0.26 to 0.0.38 stored whole checkpoints
as pickles; later releases pickle values that msgpack refuses (``JsonPlusSerializer(pickle_fallback=True)``). Python's
`Unpickler` isn't used, because nine bytes can make it allocate a gigabyte. Here memory grows only with the number of
opcodes. The result is a graph of the records below.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

STEPS = 5_000_000
"""How many opcodes are followed at most."""


class MalformedPickleError(Exception):
    """The opcodes contradict each other."""


@dataclass(frozen=True, slots=True)
class Global:
    """A name that a pickle would have imported."""

    module: str
    name: str


@dataclass(slots=True, eq=False)
class Dict:
    """A dict; a key may be any value."""

    pairs: list[tuple[Any, Any]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Set:
    """A set or a frozenset."""

    name: str
    items: list[Any] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Object:
    """An object that a call of `made_by` would have made; then the object would have got its state, items and pairs."""

    made_by: Any
    args: Any
    kwargs: Any = None
    state: Any = None
    items: list[Any] = field(default_factory=list)
    pairs: list[tuple[Any, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Missing:
    """A value that the pickle doesn't contain, or contains only in part."""

    problem: str


_MARK = object()


class Machine:
    """One run over one pickle."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self.problem = ""

    def run(self, data: bytes) -> Any:
        """The value that the pickle records; for a damaged pickle, the part before the damage (see `problem`)."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # pickletools warns of odd escapes in a text
                return self._follow(data)
        except MalformedPickleError as error:
            self.problem = str(error)
        except (ValueError, IndexError, OverflowError, UnicodeError) as error:
            self.problem = f"damaged pickle: {error}"
        return self._salvage()

    def _follow(self, data: bytes) -> Any:
        from pickletools import genops

        for step, (op, arg, _) in enumerate(genops(data)):
            if op.name == "STOP":
                return self._pop()
            if step >= STEPS:
                break
            self._step(op.name, arg)
        raise MalformedPickleError(f"damaged pickle: no end within {STEPS} opcodes")

    def _step(self, name: str, arg: Any) -> None:
        if name in _ATOMS:
            self._stack.append(arg)
        elif name in _CONSTANTS:
            self._stack.append(_CONSTANTS[name]())
        elif name not in _IGNORED:
            _STEPS[name](self, arg)

    def _pop(self) -> Any:
        if not self._stack or self._stack[-1] is _MARK:
            raise MalformedPickleError("damaged pickle: nothing on the stack")
        return self._stack.pop()

    def _top(self) -> Any:
        value = self._pop()
        self._stack.append(value)
        return value

    def _since_mark(self) -> list[Any]:
        for at in range(len(self._stack) - 1, -1, -1):
            if self._stack[at] is _MARK:
                items = self._stack[at + 1 :]
                del self._stack[at:]
                return items
        raise MalformedPickleError("damaged pickle: no mark")

    def _put(self, key: int | None) -> None:
        self._memo[len(self._memo) if key is None else key] = self._top()

    def _get(self, key: int) -> None:
        if key not in self._memo:
            raise MalformedPickleError(f"damaged pickle: nothing under memo {key}")
        self._stack.append(self._memo[key])

    def _tuple(self, length: int) -> None:
        items = [self._pop() for _ in range(length)]
        self._stack.append(tuple(reversed(items)))

    def _extend(self, items: list[Any]) -> None:
        owner = self._top()
        if isinstance(owner, list):
            owner.extend(items)
        elif isinstance(owner, Set | Object):
            owner.items.extend(items)
        else:
            raise MalformedPickleError("damaged pickle: items added to something that can't hold items")

    def _set_items(self, flat: list[Any]) -> None:
        owner = self._top()
        if not isinstance(owner, Dict | Object) or len(flat) % 2:
            raise MalformedPickleError("damaged pickle: pairs added to something that can't hold pairs")
        owner.pairs.extend(zip(flat[::2], flat[1::2], strict=True))

    def _set_item(self, _: Any) -> None:
        value, key = self._pop(), self._pop()
        self._set_items([key, value])

    def _make(self, made_by: Any, args: Any, kwargs: Any = None) -> None:
        self._stack.append(Object(made_by, args, kwargs))

    def _reduce(self, _: Any) -> None:
        args = self._pop()
        self._make(self._pop(), args)

    def _newobj_ex(self, _: Any) -> None:
        kwargs, args = self._pop(), self._pop()
        self._make(self._pop(), args, kwargs)

    def _global(self, arg: str) -> None:
        module, _, name = arg.partition(" ")
        self._stack.append(Global(module, name))

    def _stack_global(self, _: Any) -> None:
        name, module = self._pop(), self._pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise MalformedPickleError("damaged pickle: a name that is no text")
        self._stack.append(Global(module, name))

    def _inst(self, arg: str) -> None:
        items = self._since_mark()
        self._global(arg)
        self._make(self._pop(), tuple(items))

    def _obj(self, _: Any) -> None:
        items = self._since_mark()
        if not items:
            raise MalformedPickleError("damaged pickle: no class")
        self._make(items[0], tuple(items[1:]))

    def _build(self, _: Any) -> None:
        state = self._pop()
        owner = self._pop()
        if not isinstance(owner, Object):
            owner = Object(owner, None)
        owner.state = state
        self._stack.append(owner)

    def _pop_value_or_mark(self, _: Any) -> None:
        if self._stack and self._stack[-1] is _MARK:
            self._stack.pop()
        else:
            self._pop()

    def _salvage(self) -> Any:
        """The object at the bottom of the stack; each value above is first added to the container where it belongs."""
        stack = self._stack
        for _ in range(sum(1 for item in stack if item is _MARK)):
            items = self._since_mark()
            if not stack or stack[-1] is _MARK or not _give(stack[-1], items):
                stack.append(tuple(items))
        while len(stack) > 1:
            value = stack.pop()
            if isinstance(stack[-1], list | Set):
                _give(stack[-1], [value])
            elif len(stack) > 1 and isinstance(stack[-2], Dict | Object):
                stack[-2].pairs.append((stack.pop(), value))
        return stack[0] if stack else Missing(self.problem)


def _give(owner: Any, items: list[Any]) -> bool:
    if isinstance(owner, list):
        owner.extend(items)
    elif isinstance(owner, Set):
        owner.items.extend(items)
    elif isinstance(owner, Dict | Object):
        owner.pairs.extend(zip(items[::2], items[1::2], strict=False))
    else:
        return False
    return True


_ATOMS = frozenset(
    {
        *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
        *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    }
)
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "EMPTY_DICT": Dict,
    "EMPTY_SET": lambda: Set("set"),
    "MARK": lambda: _MARK,
    "NEXT_BUFFER": lambda: Missing("a buffer that is not in the pickle"),
}
_IGNORED = frozenset({"PROTO", "FRAME", "READONLY_BUFFER"})
_STEPS: dict[str, Callable[[Machine, Any], None]] = {
    "LIST": lambda m, _: m._stack.append(m._since_mark()),
    "TUPLE": lambda m, _: m._stack.append(tuple(m._since_mark())),
    "TUPLE1": lambda m, _: m._tuple(1),
    "TUPLE2": lambda m, _: m._tuple(2),
    "TUPLE3": lambda m, _: m._tuple(3),
    "FROZENSET": lambda m, _: m._stack.append(Set("frozenset", m._since_mark())),
    "DICT": lambda m, _: m._stack.append(_pairs(m._since_mark())),
    "APPEND": lambda m, _: m._extend([m._pop()]),
    "APPENDS": lambda m, _: m._extend(m._since_mark()),
    "ADDITEMS": lambda m, _: m._extend(m._since_mark()),
    "SETITEM": Machine._set_item,
    "SETITEMS": lambda m, _: m._set_items(m._since_mark()),
    "POP": Machine._pop_value_or_mark,
    "POP_MARK": lambda m, _: m._since_mark().clear(),
    "DUP": lambda m, _: m._stack.append(m._top()),
    "GET": Machine._get,
    "BINGET": Machine._get,
    "LONG_BINGET": Machine._get,
    "PUT": Machine._put,
    "BINPUT": Machine._put,
    "LONG_BINPUT": Machine._put,
    "MEMOIZE": lambda m, _: m._put(None),
    "EXT1": lambda m, code: m._stack.append(Global("copyreg", f"extension {code}")),
    "EXT2": lambda m, code: m._stack.append(Global("copyreg", f"extension {code}")),
    "EXT4": lambda m, code: m._stack.append(Global("copyreg", f"extension {code}")),
    "GLOBAL": Machine._global,
    "STACK_GLOBAL": Machine._stack_global,
    "REDUCE": Machine._reduce,
    "NEWOBJ": Machine._reduce,
    "NEWOBJ_EX": Machine._newobj_ex,
    "INST": Machine._inst,
    "OBJ": Machine._obj,
    "BUILD": Machine._build,
    "PERSID": lambda m, name: m._make(Global("", "persistent"), (name,)),
    "BINPERSID": lambda m, _: m._make(Global("", "persistent"), (m._pop(),)),
}


def _pairs(flat: list[Any]) -> Dict:
    if len(flat) % 2:
        raise MalformedPickleError("damaged pickle: a key without a value")
    return Dict(list(zip(flat[::2], flat[1::2], strict=True)))

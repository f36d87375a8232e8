"""`ClassRenaming`: other names for classes in payloads; every other byte stays.

Nothing is imported: a class is the module and the name that msgpack's extensions and JSON's envelopes have
(langgraph-checkpoint 4.3, ``serde/jsonplus.py: _msgpack_default``; 1.0, ``_encode_constructor_args``).
"""

import json
from collections.abc import Mapping
from typing import Any

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import Payload
from ckpt_cli.serde import msgpack_spans
from ckpt_cli.serde.msgpack_write import pack, packed_extension

_OBJECTS = range(6)  # the extensions whose payload begins with module and name
_SNAPSHOT = 7
_LEVELS = 200  # objects in objects; `msgpack.py` decodes 400 containers, of which each object is two


class ClassRenaming:
    """Gives classes other names.

    Args:
        names: ``old.module.Class`` to ``new.module.Class``.

    Attributes:
        names: as they are given.
        found: those old names that a payload had.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = dict(names)
        self._marks = [tuple(part.encode() for part in _divided(old)) for old in names]
        self.found: set[str] = set()

    def payload(self, payload: Payload) -> Payload:
        """The payload with the new names; the same object if it has none of the old ones.

        Raises:
            NotSupported: it is a pickle with such a name.
        """
        kind, data = payload.tag.rpartition("@")[2], payload.data
        if not self._may_name(data, kind):
            return payload
        if kind == "msgpack":
            new = self._msgpack(data, 0)
        elif kind == "pickle" or data[:1] == b"\x80":
            raise NotSupported("a value that names the class is a pickle, in which it can't get another name")
        elif kind in ("json", "redis-json", ""):
            new = self._json(data)
        else:
            return payload
        return payload if new == data else payload._replace(data=new)

    def _may_name(self, data: bytes, kind: str) -> bool:
        """Whether the bytes of a name are there at all; JSON may spell those of other alphabets with escapes."""
        if kind not in ("msgpack", "pickle") and b"\\u" in data:
            return True
        return any(name in data and module.rpartition(b".")[2] in data for module, name in self._marks)

    def _msgpack(self, data: bytes, level: int) -> bytes:
        """A payload, or the contents of an extension; from where the bytes are damaged, they stay as they are."""
        parts, done, at = [], 0, 0
        try:
            while at < len(data):
                head = msgpack_spans.head(data, at)
                if head.kind == msgpack_spans.EXT and (new := self._extension(head, data, level)) is not None:
                    parts += [data[done:at], new]
                    done = head.end
                at = head.end
        except msgpack_spans.DamageError:
            pass
        return b"".join([*parts, data[done:]]) if parts else data

    def _extension(self, head: msgpack_spans.Head, data: bytes, level: int) -> bytes | None:
        """An extension with new names; None if nothing in it changes."""
        content = data[head.start : head.end]
        if not (head.code in _OBJECTS or head.code == _SNAPSHOT) or level > _LEVELS:
            return None
        if not self._may_name(content, "msgpack"):
            return None
        new = self._msgpack(content, level + 1)
        if head.code in _OBJECTS:
            new = self._object(new)
        return None if new == content else packed_extension(head.code, new)

    def _object(self, content: bytes) -> bytes:
        """The payload of an object: an array of module, name and what it is made of."""
        if not msgpack_spans.is_array(content) or msgpack_spans.head(content, 0).size < 3:
            return content
        start = msgpack_spans.head(content, 0).start
        module = msgpack_spans.head(content, start)
        name = msgpack_spans.head(content, module.end)
        if module.kind != msgpack_spans.STR or name.kind != msgpack_spans.STR:
            return content
        new = self._new_name(".".join(content[one.start : one.end].decode(errors="replace") for one in (module, name)))
        if new is None:
            return content
        return content[:start] + b"".join(pack(part) for part in _divided(new)) + content[name.end :]

    def _json(self, data: bytes) -> bytes:
        from ckpt_cli.serde.lcjson_write import JsonWire
        from ckpt_cli.serde.splice import splice

        try:
            text = data.decode("utf-8", "surrogatepass")
            old = json.loads(text)
            new = self._plain(old)
        except (ValueError, RecursionError):
            return data
        return str(splice(JsonWire(text), new, old, text)).encode("utf-8", "surrogatepass")

    def _plain(self, value: Any) -> Any:
        """Plain data with new names in its envelopes."""
        if isinstance(value, list):
            return [self._plain(one) for one in value]
        if not isinstance(value, dict):
            return value
        new = {key: self._plain(one) for key, one in value.items()}
        path = value.get("id")
        if value.get("lc") in (1, 2) and isinstance(path, list) and all(isinstance(one, str) for one in path):
            renamed = self._new_name(".".join(path))
            new["id"] = path if renamed is None else renamed.split(".")
        return new

    def _new_name(self, old: str) -> str | None:
        new = self.names.get(old)
        if new is not None:
            self.found.add(old)
        return new


def _divided(name: str) -> tuple[str, str]:
    module, _, own = name.rpartition(".")
    return module, own

"""`SingleValues`: redacts texts, numbers, bytes and keys; `Redactor` redacts what is made of them."""

from collections.abc import Iterable, Sequence
from typing import Any

from ckpt_cli.history.redaction.erasing import Eraser, Mask, Outline
from ckpt_cli.history.redaction.langgraph_parts import MESSAGE_KEYS
from ckpt_cli.history.redaction.masks import MASK, Masks
from ckpt_cli.history.redaction.names import Names, is_own_id
from ckpt_cli.history.redaction.path_rules import Active, PathRules
from ckpt_cli.history.redaction.patterns import Patterns
from ckpt_cli.history.redaction.tally import Place, Tally

_LONG_TEXT = 2048  # characters; whether such a text has a match is remembered
_TEXTS = 50_000


class SingleValues:
    """Redacts values that have no parts.

    Args:
        patterns: matches of these regular expressions are replaced.
        paths: the steps of the paths whose values are replaced.
        outline: everything is replaced, and only structure is left.
        salt: makes pseudonyms that are the same in every export; "" for none.

    Attributes:
        names: redacts the names of nodes, channels and namespaces.
        tally: what was done since `start`.
    """

    def __init__(
        self,
        *,
        patterns: Iterable[str] = (),
        paths: Sequence[Sequence[Any]] = (),
        outline: bool = False,
        salt: str = "",
    ) -> None:
        self.masks = Masks(salt)
        self.patterns = Patterns(patterns, self.masks)
        self.paths = PathRules(paths)
        self.outline = outline
        self.names = Names(self.patterns)
        self.tally = Tally()
        self._eraser: Eraser = Outline(self.masks) if outline else Mask(self.masks)
        self._structure = set[str]()
        self._thread_id = ""
        self._untouched: set[int] = set()

    def start(self, thread_id: str) -> None:
        """Begin with a thread."""
        self.tally = Tally()
        self._thread_id = thread_id
        self._structure = set()

    def identifier(self, text: str) -> str:
        """A name; in an outline, one that isn't of the graph's structure becomes a pseudonym."""
        if self.outline and text and not self._is_structure(text):
            return self.masks.name(text)
        return self.names.name(text)

    def opaque(self, place: Place) -> str:
        """The replacement of a value that can't be looked into."""
        self.tally.opaque(place)
        return MASK

    def _is_structure(self, text: str) -> bool:
        return text in self._structure or text.startswith("__") or is_own_id(text)

    def text(self, text: str, place: Place, active: Active, *, name: bool = False) -> str:
        """A text, redacted; a name stays different from other names."""
        if active.names:
            new = self.identifier(text)
        elif active.done or active.states:  # in the second case, the path expected an object here
            new = self._erased(text, name=name)
        elif not self.patterns:
            new = text
        else:
            new = self._matched(text, place, name=name)
        is_kept = new is text or (active.names and new == text)
        (self.tally.kept if is_kept else self.tally.replaced)(place)
        return new

    def _erased(self, text: str, *, name: bool) -> str:
        """The replacement of a whole text; that of a name differs from those of other names."""
        if text == self._thread_id:
            return self.thread_id(text) if self.outline else self.masks.name(text)
        if name and self.outline and text in self._structure:
            return self.names.name(text)
        return self.masks.name(text) if name and text and not self.outline else self._eraser.text(text)

    def _matched(self, text: str, place: Place, *, name: bool) -> str:
        if len(text) >= _LONG_TEXT and hash(text) in self._untouched:
            return text
        new = self.patterns.text(text, name=name)
        without = self.patterns.without_opaque(new)
        if without is not new:
            self.tally.opaque(place)
        elif new is text and len(text) >= _LONG_TEXT and len(self._untouched) < _TEXTS:
            self._untouched.add(hash(text))
        return without

    def leaf(self, value: Any, place: Place, active: Active) -> Any:
        """A value that is no text and has no parts, redacted."""
        if value is None:
            return None
        if isinstance(value, bytes):
            return self._data(value, place, active)
        if not isinstance(value, bool | int | float):
            return self.opaque(place)
        if not active.done and not self._is_matching_number(value, active):
            self.tally.kept(place)
            return value
        self.tally.replaced(place)
        if isinstance(value, bool):
            return False
        return self._eraser.integer(value) if isinstance(value, int) else self._eraser.real(value)

    def _is_matching_number(self, number: float, active: Active) -> bool:
        if active.names or not self.patterns or isinstance(number, bool):
            return False
        return self.patterns.match(_digits(number))

    def _data(self, data: bytes, place: Place, active: Active) -> bytes:
        if active.done or active.states:
            self.tally.replaced(place)
            return self._eraser.data(data)
        new = self.patterns.data(data) if self.patterns else data
        if new is None:
            return self.opaque(place).encode()
        (self.tally.kept if new is data else self.tally.replaced)(place)
        return new

    def thread_id(self, text: str) -> str:
        """The id of a thread."""
        return self.masks.name(text) if self.outline else self.patterns.text(text, name=True)

    def learn(self, structure: Iterable[str]) -> None:
        """Names of channels and nodes, which an outline keeps."""
        self._structure.update(structure)

    def key(self, key: Any, place: Place, active: Active) -> Any:
        """The key of a dict, which may be a name or data."""
        if isinstance(key, tuple):
            return tuple(self.key(part, place, active) for part in key)
        if key is None or isinstance(key, bool):
            return key
        text = key if isinstance(key, str) else _digits(key) if isinstance(key, int | float) else repr(key)
        if active.done and not (text in MESSAGE_KEYS or self._is_kept_key(key, text)):
            self.tally.replaced(place)
            return self.masks.name(text)
        new = self.patterns.text(text, name=True)
        if new == text and isinstance(key, bytes) and self.patterns and self.patterns.data(key) is not key:
            new = self.masks.name(text)
        if new != text:
            self.tally.replaced(place)
        return key if new == text else new

    def _is_kept_key(self, key: Any, text: str) -> bool:
        return isinstance(key, str) and (text in self._structure or text.startswith("__"))


def _digits(number: float) -> str:
    return "" if isinstance(number, int) and number.bit_length() > 4096 else str(number)

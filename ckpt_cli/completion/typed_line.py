"""Parses a command line that is typed so far: its words, and the quote that is open at the cursor."""

from dataclasses import dataclass, field

_SPECIAL_IN_DOUBLE = '$`"\\\n'


@dataclass(slots=True)
class TypedLine:
    """The words before the cursor, and the unfinished word at the cursor.

    Attributes:
        words: the finished words, without their quotes.
        word: the meaning of the unfinished word so far; empty if the cursor is after a blank.
        begin: where the unfinished word begins in the line.
        quote: the quote that is open at the cursor, or "".
        plain: whether the unfinished word has no closed quote, and no quote that begins with a ``$``.
        opened: where the text within the open quote begins.
    """

    text: str
    fish: bool = False
    words: list[str] = field(default_factory=list)
    word: str = ""
    begin: int = 0
    quote: str = ""
    plain: bool = True
    opened: int = 0

    def __post_init__(self) -> None:
        self._read()

    def meaning(self, end: int) -> str:
        """The meaning of the unfinished word up to a place in the line."""
        return TypedLine(self.text[self.begin : end], self.fish).word

    def _read(self) -> None:
        at, started = 0, False
        while at < len(self.text):
            char = self.text[at]
            if not self.quote and char.isspace():
                if started:
                    self.words.append(self.word)
                started, self.word, self.begin, self.plain = False, "", at + 1, True
            else:
                started = True
                at += self._take(char, at)
            at += 1

    def _take(self, char: str, at: int) -> int:
        """Read one character of a word; gives how many further characters it has used."""
        if char == self.quote:
            self.quote, self.plain = "", False
        elif not self.quote and char in "'\"":
            self.quote, self.opened = char, at + 1
            self.plain = self.plain and not self.text[self.begin : at].endswith("$")
        elif char == "\\" and (special := self._escaped(self.text[at + 1 : at + 2])):
            self.word += special
            return 1
        elif char != "\\" or self.quote:
            self.word += char
        return 0

    def _escaped(self, follower: str) -> str:
        """The character that a backslash escapes, or "" if the backslash is plain text."""
        if not self.quote:
            return follower
        if self.quote == '"':
            return follower if follower in _SPECIAL_IN_DOUBLE else ""
        return follower if self.fish and follower in "'\\" else ""

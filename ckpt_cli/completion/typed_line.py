"""Parses a command line up to the cursor for TAB: its words, and the quote that is open at the cursor."""

from dataclasses import dataclass, field

_SPECIAL_IN_DOUBLE = '$`"\\\n'


@dataclass(slots=True)
class TypedLine:
    """The words before the cursor, and the unfinished word at the cursor.

    Attributes:
        words: the finished words, without their quotes.
        word: the unfinished word so far, without its quotes; empty if the cursor is after a blank.
        begin: the index in the line where the unfinished word begins.
        quote: the quote that is open at the cursor; "" if there is none.
        plain: whether the unfinished word has neither a closed quote nor a quote after a ``$``.
        opened: the index in the line where the text inside the open quote begins.
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
        """The unfinished word up to an index in the line, without its quotes."""
        return TypedLine(self.text[self.begin : end], self.fish).word

    def _read(self) -> None:
        at, in_word = 0, False
        while at < len(self.text):
            char = self.text[at]
            if not self.quote and char.isspace():
                if in_word:
                    self.words.append(self.word)
                in_word, self.word, self.begin, self.plain = False, "", at + 1, True
            else:
                in_word = True
                at += self._take(char, at)
            at += 1

    def _take(self, char: str, at: int) -> int:
        """Read one character of a word, and return the number of further characters that were used."""
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

"""`Masks`: replacements of texts and names: a fixed mask, or a pseudonym made with a salt.

A pseudonym is an HMAC-SHA256, so nobody can find its text by trying texts without knowing the salt. Names (thread ids,
nodes, channels, keys) always get pseudonyms, for a name must stay different from other names, and the same in all
records. Without a salt their key is random and kept nowhere.
"""

import hashlib
import hmac
import os
from collections.abc import Sequence

from ckpt_cli.errors import UsageError

MASK = "[redacted]"
"""The replacement of a text if there is no salt."""
SHORTEST_SALT = 12  # characters
_PSEUDONYM = "redacted-"
_DIGITS = 16  # hexadecimal digits of a pseudonym
_ROUNDS = 200_000  # of PBKDF2: each guess at a salt takes about a tenth of a second
_REMEMBERED = 20_000


class Masks:
    """Makes masks.

    Args:
        salt: the same salt gives the same pseudonyms; "" for none.

    Raises:
        UsageError: the salt is so short that it can be guessed.
    """

    def __init__(self, salt: str = "") -> None:
        if salt and len(salt) < SHORTEST_SALT:
            raise UsageError(f"the salt has {len(salt)} characters; fewer than {SHORTEST_SALT} can be guessed")
        self.salted = bool(salt)
        self._key = _stretched(salt) if salt else os.urandom(32)
        self._names: dict[str, str] = {}

    def text(self, text: str) -> str:
        """The replacement of a text, or of the part of a text that matched."""
        return self.name(text) if self.salted else MASK

    def name(self, text: str) -> str:
        """The pseudonym of a text: the same for the same text, another one for any other text."""
        known = self._names.get(text)
        if known is None:
            if len(self._names) >= _REMEMBERED:
                self._names.clear()
            known = self._names[text] = _PSEUDONYM + self.digest(text)[:_DIGITS]
        return known

    def digest(self, text: str) -> str:
        """64 hexadecimal digits that belong to a text under this key."""
        return hmac.digest(self._key, text.encode("utf-8", "surrogatepass"), "sha256").hex()

    def mark(self, rules: Sequence[str]) -> str:
        """Shows whether another redaction has the same salt and rules; "" without a salt, for then none has."""
        return self.digest("\0".join(("rules", *rules)))[:32] if self.salted else ""


def _stretched(salt: str) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", salt.encode("utf-8", "surrogatepass"), b"ckpt redaction", _ROUNDS)

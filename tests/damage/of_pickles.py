"""`langgraph dev`: any part of the three pickled dicts, keys and members of tuples too."""

import pickle
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.damage.kinds import THREADS, Kind, talk
from tests.damage.stored import BLOBS, DOCUMENTS, NUMBERS, TEXTS
from tests.savers.dev.storage import NAME, fill, server

_LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS, BLOBS, DOCUMENTS)
_VALUES = st.one_of(
    _LEAVES,
    st.lists(_LEAVES, max_size=5),
    st.lists(_LEAVES, max_size=5).map(tuple),
    st.dictionaries(st.one_of(TEXTS, NUMBERS, st.tuples(TEXTS, NUMBERS)), _LEAVES, max_size=3),
    st.just(b"x").map(bytearray),
)


class OnPickles(Kind):
    """A folder."""

    written = False

    def __init__(self, folder: Path) -> None:
        self.url = str(folder / ".langgraph_api")
        with server(Path(self.url)) as saver:
            talk(saver)
        self.sound = [pickle.loads(self._file(number).read_bytes()) for number in (1, 2, 3)]

    def _file(self, number: int) -> Path:
        return Path(self.url, NAME.format(number))

    def restore(self) -> None:
        """Write the files."""
        fill(Path(self.url), self.sound)

    def dump(self) -> list[bytes]:
        """The files."""
        return [self._file(number).read_bytes() for number in (1, 2, 3)]

    def harm(self, draw: Any) -> str:
        """Replace one part of one file."""
        number = draw(st.integers(0, 2))
        owner: list[str] = []
        parts = [*self.sound]
        parts[number] = _changed(draw, dict(parts[number]), owner, draw(st.integers(1, 5)))
        fill(Path(self.url), parts)
        return next(iter(owner), THREADS[0])


def _changed(draw: Any, whole: Any, owner: list[str], depth: int) -> Any:
    if isinstance(whole, tuple | list) and whole and depth:
        at = draw(st.integers(0, len(whole) - 1))
        return type(whole)([*whole[:at], _changed(draw, whole[at], owner, depth - 1), *whole[at + 1 :]])
    if isinstance(whole, dict) and whole and depth:
        key = draw(st.sampled_from(sorted(whole, key=repr)))
        thread_id = key[0] if isinstance(key, tuple) else key
        if not owner:
            owner.append(thread_id)
        if draw(st.sampled_from([False] * 4 + [True])):
            new = _changed(draw, key, owner, depth - 1)
            try:
                return {new if one == key else one: value for one, value in whole.items()}
            except TypeError:  # a list is no key
                return whole
        return {**whole, key: _changed(draw, whole[key], owner, depth - 1)}
    return draw(_VALUES)

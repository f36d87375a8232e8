"""The official saver of a database and ckpt on the same data: tests that every backend is put through.

A backend's tests subclass `Look` and `Travel` (named ``Test…``) and give a module-scoped fixture ``fresh``: a function
that gives an empty database of its own as a `Backend` each time it is called. `look` may be slow to fill and is shared
by the tests of a scenario; what a backend's own saver loses or orders differently is said by overriding a method.
"""

import pytest

pytest.register_assert_rewrite("tests.cross.backend", "tests.cross.look", "tests.cross.travel")

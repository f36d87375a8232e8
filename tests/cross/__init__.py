"""The official saver of a database and ckpt on the same data: tests that every backend is put through.

A backend's tests subclass `Look`, `Travel`, `Since`, `Steps` and `Identity` (named ``Test…``) and give a module-scoped
fixture ``fresh``: a function that gives an empty database of its own as a `Backend` each time it is called. The tests
of a scenario share one; what a backend's own saver loses or orders differently is said by overriding a method.
"""

import pytest

pytest.register_assert_rewrite(
    "tests.cross.backend",
    "tests.cross.forget",
    "tests.cross.identity",
    "tests.cross.look",
    "tests.cross.memories",
    "tests.cross.pruned",
    "tests.cross.since",
    "tests.cross.steps",
    "tests.cross.travel",
)

"""Tests of what every saver must do, for authors of a new backend: subclass `Conformance` and give it a `make` fixture.

`make` takes records and returns an open saver that holds exactly these. The tests need pytest and use nothing but
`make`, so they can also run against savers that are broken on purpose.
"""

from ckpt_cli.conformance.reading import Reading
from ckpt_cli.conformance.samples import Make, everything
from ckpt_cli.conformance.writing import Writing

__all__ = ["Conformance", "Make", "everything"]


class Conformance(Reading, Writing):
    """The contract of `savers.contract.Saver`, as tests."""

"""Tests of what every saver must do. Authors of a new backend subclass `Conformance` and add a `make` fixture.

`make` takes records and returns an open saver that contains exactly these records. The tests need pytest and use no
other fixture than `make`, so the tests can also run against savers that are broken on purpose.
"""

from ckpt_cli.conformance.choosing import Choosing
from ckpt_cli.conformance.measuring import Measuring
from ckpt_cli.conformance.reading import Reading
from ckpt_cli.conformance.samples import Make, everything
from ckpt_cli.conformance.writing import Writing

__all__ = ["Conformance", "Make", "everything"]


class Conformance(Reading, Choosing, Measuring, Writing):
    """The contract of `savers.contract.Saver`, as tests."""

"""What every saver must do, whatever its engine: subclass `Conformance` and give it a `make` fixture.

`make` turns records into an open saver that holds exactly these. The tests take nothing but `make`, so that they can
also be run against savers that are broken on purpose. They want pytest, and are for whoever adds a kind of database.
"""

from ckpt_cli.conformance.reading import Reading
from ckpt_cli.conformance.samples import Make, everything
from ckpt_cli.conformance.writing import Writing

__all__ = ["Conformance", "Make", "everything"]


class Conformance(Reading, Writing):
    """The contract of `savers.contract.Saver`, as tests."""

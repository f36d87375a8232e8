"""``ckpt`` without a verb: what there is to type, and the database at hand."""

from ckpt_cli import __version__
from ckpt_cli.errors import CkptError
from ckpt_cli.session import Session
from ckpt_cli.views.overview import Known, OverviewView


def run(session: Session, verbs: list[Known]) -> OverviewView:
    """The verbs, and which database they would read if none is named."""
    view = OverviewView(__version__, verbs, None, "")
    try:
        view.database = session.read(lambda reader: reader.saver.about().location)
    except CkptError as error:
        view.problem = ": ".join([error.message, *([", ".join(error.candidates)] if error.candidates else [])])
    return view

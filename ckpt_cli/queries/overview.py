"""``ckpt`` without a verb: the list of verbs, and the database that they would use."""

from ckpt_cli import __version__
from ckpt_cli.errors import CkptError
from ckpt_cli.session import Session
from ckpt_cli.views.overview import Known, OverviewView


def run(session: Session, verbs: list[Known]) -> OverviewView:
    """The view of the verbs, and of the database that they use if the user names none."""
    view = OverviewView(__version__, verbs, None, "")
    try:
        view.database = session.read(lambda reader: reader.saver.about().location)
    except CkptError as error:
        view.problem = ": ".join([error.message, *([", ".join(error.candidates)] if error.candidates else [])])
    return view

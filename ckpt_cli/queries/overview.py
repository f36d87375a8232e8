"""``ckpt`` without a verb: the list of verbs, and the database that they would use."""

from collections.abc import Iterator

from ckpt_cli import __version__
from ckpt_cli.errors import CkptError
from ckpt_cli.savers.url import NoDatabaseError
from ckpt_cli.session import Session
from ckpt_cli.views.overview import Known, Nameable, OverviewView


def run(session: Session, verbs: list[Known]) -> OverviewView:
    """The view of the verbs, and of the database that they use if the user names none."""
    view = OverviewView(__version__, verbs, None, "")
    try:
        view.database = session.read(lambda reader: reader.saver.about().location)
    except CkptError as error:
        view.problem = ": ".join([error.message, *([", ".join(error.candidates)] if error.candidates else [])])
        if isinstance(error, NoDatabaseError):
            view.kinds = list(_kinds())
        else:
            view.hint = error.hint
    return view


def _kinds() -> Iterator[Nameable]:
    """The kinds of databases, each with the command that installs what is missing for it."""
    from ckpt_cli.installing import install_extra
    from ckpt_cli.savers.kinds import KINDS, missing_extra

    for kind in KINDS:
        extra = missing_extra(kind)
        yield Nameable(kind.label, kind.example, install_extra(extra) if extra else "")

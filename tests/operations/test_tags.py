"""Tags: given, moved, removed, in the log and never in the database."""

import pytest

from ckpt_cli.errors import NotFound, Refused, UsageError
from ckpt_cli.model import Ref
from ckpt_cli.operations import tags
from ckpt_cli.operations.apply import apply
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.savers.memory import MemorySaver
from tests.operations.plans import adding


def test_tags(log: OperationLog) -> None:
    """Names are given, moved only by force, taken away, and kept apart by thread and namespace."""
    first, second = Ref("t", "", "1"), Ref("t", "", "2")
    tags.add(log, tags.Tag("good", first, 1.0))
    tags.add(log, tags.Tag("good", first, 2.0))
    tags.add(log, tags.Tag("good", Ref("t", "sub:1", "7"), 3.0))
    with pytest.raises(Refused, match="'good' is on 1 already"):
        tags.add(log, tags.Tag("good", second, 3.0))
    tags.add(log, tags.Tag("good", second, 4.0), move=True)
    tags.add(log, tags.Tag("v1.2/中", Ref("u", "", "1"), 5.0))
    assert [(tag.name, tag.ref, tag.at) for tag in tags.read_tags(log, "t")] == [
        ("good", second, 4.0),
        ("good", Ref("t", "sub:1", "7"), 3.0),
    ]
    assert tags.remove(log, "t", "", "good").ref == second
    assert [tag.name for tag in tags.read_tags(log)] == ["good", "v1.2/中"]
    with pytest.raises(NotFound, match="no tag 'good'"):
        tags.remove(log, "t", "", "good")


@pytest.mark.parametrize("name", ["", "a b", "a~1", "a^", "@{1}", "a:b", "\x1b[2J"])
def test_names_that_are_no_tags(log: OperationLog, name: str) -> None:
    """What couldn't be typed as tag:NAME is refused."""
    with pytest.raises(UsageError):
        tags.add(log, tags.Tag(name, Ref("t", "", "1"), 1.0))
    assert not log.exists


def test_halves_of_surrogate_pairs(saver: MemorySaver, log: OperationLog) -> None:
    """Names that no encoding holds, as thread ids may be, come back from the log and the tags as they were."""
    odd = "a\udcffb"
    plan = adding("3")._replace(reason=f"why {odd}", summary=f"adds 3 in {odd}")
    apply(saver, log, plan, at=0)
    (found,) = log.operations()
    assert (found.reason, found.summary) == (f"why {odd}", f"adds 3 in {odd}")
    tag = tags.Tag("good", Ref(odd, "", "1"), 5.0)
    tags.add(log, tag)
    assert tags.read_tags(log, odd) == tags.read_tags(log) == [tag]
    tags.remove(log, odd, "", "good")
    assert tags.read_tags(log) == []

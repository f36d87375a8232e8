"""``ckpt update`` of a graph whose state is no dict, as ``graph.update_state`` does it."""

import pytest

from ckpt_cli.errors import UsageError
from ckpt_cli.plans.superstep_writer import INPUT, Update
from tests.twins.test_update import MOST, named, planned, to
from tests.twins.twin import RELEASES, Copies, compare


@pytest.mark.parametrize("node", [INPUT, "a"])
@pytest.mark.parametrize("release", RELEASES)
def test_a_state_that_is_no_dict_is_the_librarys(copies: Copies, release: str, node: str) -> None:
    """The value of the channel ``__root__`` is what ``update_state`` takes, as the input or as a node."""
    for place in range(MOST):
        mine, theirs = copies.pair("root_state", "root")
        if place >= len(configs := theirs.targets(MOST)):
            continue
        given = Update({"__root__": ["more"]}, node, None if node == INPUT else to())
        mine.apply(planned(release, "root", named(configs[place]), given))
        theirs.ask("update", configs[place], [[[["more"], node]]])
        compare(mine, theirs)


@pytest.mark.parametrize("release", ["installed"])
def test_no_state_is_no_input(copies: Copies, release: str) -> None:
    """None as the input is refused, as LangGraph refuses it."""
    mine, theirs = copies.pair("root_state", "root")
    with pytest.raises(UsageError, match="an input needs values"):
        mine.apply(planned(release, "root", "@", Update({"__root__": None}, INPUT)))
    with pytest.raises(Exception, match="no input writes"):
        theirs.ask("update", theirs.targets(MOST)[0], [[[None, INPUT]]])

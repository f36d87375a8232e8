"""`ckpt rollback`: an earlier state is current again."""

from collections.abc import Callable

from tests.commands.changes import THREAD, Json, values


def test_a_rollback(ckpt: Callable[..., Json]) -> None:
    """The head becomes a child of the checkpoint with its values."""
    old = ckpt("show", THREAD, "step:0")
    done = ckpt("rollback", THREAD, "step:0", "--yes")
    new, named = ckpt("show", THREAD), done["config"]["configurable"]
    assert (new["checkpoint_id"], new["parent"]["checkpoint_id"]) == (named["checkpoint_id"], old["checkpoint_id"])
    assert (values(new), new["next"]) == (values(old), old["next"])
    assert ckpt("rollback", THREAD, "@", "--yes", code=7) == {}

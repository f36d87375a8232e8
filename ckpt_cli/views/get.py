"""The view of ``ckpt get``: one value."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ckpt_cli.views.base import View


@dataclass
class GetView(View):
    """One value of the state at one checkpoint.

    Attributes:
        path: the path in ckpt's own spelling.
    """

    verb: ClassVar[str] = "get"
    query_field: ClassVar[str] = "value"

    thread_id: str
    ns: str
    checkpoint_id: str
    path: str
    value: Any

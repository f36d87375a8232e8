"""Read pickles without running them: a pickle machine that calls nothing, and the tree of values that it records."""

from typing import Any

from ckpt_cli.serde.inert.machine import Dict, Machine, Missing
from ckpt_cli.serde.inert.tree import Tree
from ckpt_cli.values.node import DAMAGED, broken


def decode(data: bytes) -> Any:
    """The value that a pickle records; never raises. If the pickle is damaged, a BROKEN node says how."""
    machine = Machine()
    root = machine.run(data)
    if machine.problem and isinstance(root, Dict):
        root.pairs.append((DAMAGED, Missing(machine.problem)))
    elif machine.problem:
        return broken(f"{machine.problem}", data)
    return Tree(len(data)).value(root)

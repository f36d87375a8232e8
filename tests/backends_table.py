"""The table in `docs/databases.md` of what each kind of database can do."""

import re
from pathlib import Path

from ckpt_cli.savers.about import Ability

DATABASES = (Path(__file__).parent.parent / "docs" / "databases.md").read_text("utf-8")
_COLUMNS = (Ability.WRITE, Ability.ATOMIC, Ability.MOMENT, Ability.SKIPS, Ability.BRANCHES, Ability.TASK_PATHS)


def promised() -> dict[str, dict[Ability, str]]:
    """For each kind and ability what the table says: ``✓``, ``–``, or a condition."""
    _, _, table = DATABASES.partition("| kind | changes |")
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", table.partition("\n\n")[0], re.MULTILINE)
    return {kind: dict(zip(_COLUMNS, (cell.strip() for cell in cells.split("|")), strict=True)) for kind, cells in rows}


def broken(kind: str, abilities: frozenset[Ability]) -> list[str]:
    """Where an open database contradicts the table's row for its kind."""
    row = promised()[kind]
    return [
        f"{kind}: {ability} is {ability in abilities}, docs/databases.md says {word}"
        for ability, word in row.items()
        if word in ("✓", "–") and (word == "✓") is not (ability in abilities)
    ]

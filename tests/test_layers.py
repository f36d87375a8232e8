"""Imports point down only, every third-party library has one home, and only output writes to stdout and stderr."""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import fields
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from ckpt_cli.app import VERBS, function_of
from ckpt_cli.views.base import View
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.plan import PlanView

PACKAGE = Path(__file__).parent.parent / "ckpt_cli"

_GROUND = {"values", "model", "errors", "shell_words", "ctrl_c", "lock_waits", "masking", "installing", "config_file"}
_LOGIC = {"history", "serde", "savers", "views"}
_READING = {"layouts", "row_reading", "reading", "inspection", "lost_values", "other_joins"}
_BELOW_COMMANDS = {"session", "operations", "plans", "copying", "output", "demo"} | _READING | _LOGIC | _GROUND
_BESIDE_COMMANDS = {"completion", "parameters", "queries", "bulk_change"}

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "config_file": {"errors"},
    "shell_words": set(),
    "ctrl_c": set(),
    "lock_waits": set(),
    "masking": set(),
    "model": {"errors"},
    "values": {"model", "errors"},
    "views": _GROUND,
    "savers": {
        "model",
        "errors",
        "ctrl_c",
        "lock_waits",
        "masking",
        "installing",
        "config_file",
    },  # they work on checkpoints nobody can decode
    "serde": _GROUND,
    "history": _GROUND,  # pure logic: no database, no terminal, no bytes
    "output": _GROUND | {"views", "history"},
    "layouts": _GROUND | {"history"},
    "row_reading": _GROUND | {"history", "savers"},
    "reading": _GROUND | _LOGIC | {"layouts", "row_reading", "revision_search"},
    "revision_search": _GROUND | {"history"},
    "inspection": _GROUND | {"history", "reading", "lost_values", "other_joins"},
    "lost_values": _GROUND | {"history", "reading"},
    "other_joins": _GROUND | {"history", "reading"},
    "demo": _GROUND | _LOGIC,
    "operations": _GROUND | {"savers", "views", "history", "serde"},  # ids and metadata tell what made a checkpoint
    "plans": _GROUND | _READING | {"history", "operations"},
    "copying": _GROUND | _READING | {"history", "savers", "serde"},  # encodes records anew for other savers
    "session": _GROUND | _LOGIC | {"reading", "operations", "output", "confirmation"},
    "confirmation": _GROUND | {"savers", "views", "operations", "session", "bulk_change"},  # a plan's way to the rows
    "bulk_change": _GROUND | {"savers", "views", "operations", "session"},  # the same for many threads
    "completion": _BELOW_COMMANDS,
    "parameters": _BELOW_COMMANDS | {"completion"},
    "queries": _BELOW_COMMANDS | {"parameters", "bulk_change"},
    "commands": _BELOW_COMMANDS | _BESIDE_COMMANDS,
    "langgraph": _GROUND | {"savers", "serde", "layouts"},  # the adapter: the only code that imports langgraph
    "conformance": {"savers", "model", "errors"},  # for tests, also of other people's savers
    "fast_start": {"ctrl_c"},
    "unknown_verb": set(),
    "installing": {"shell_words"},
    "typer_commands": _BELOW_COMMANDS | _BESIDE_COMMANDS | {"fast_start", "commands"},
    "app": _BELOW_COMMANDS | _BESIDE_COMMANDS | {"fast_start", "typer_commands", "commands", "unknown_verb"},
    "__main__": {"app"},
}
"""What each part may import beside itself; the package's own `__init__` (the version) is free to all."""

DOORS: dict[str, set[str]] = {
    "savers.dev": {"serde", "values"},  # its rows are inside pickles, which serde reads without running them
    "savers.custom": {"serde"},  # LangGraph's serializer is handed no payload that lies about its lengths
}
"""What a part's own folder may import beside that."""

HOMES: dict[str, tuple[str, ...]] = {
    "rich": ("output.*",),
    "typer": ("app", "typer_commands", "commands.*", "parameters.*", "completion.*"),
    "jmespath": ("output.query",),
    "jsonschema": ("history.tasks.answer_schema",),
    "referencing": ("history.tasks.answer_schema",),
    "ormsgpack": ("serde.*", "savers.custom.inert"),
    "Crypto": ("serde.aes",),
    "simpleeval": ("history.state.filters", "history.state.filter_evaluator"),
    "xxhash": ("history.tasks.task_ids",),
    "uuid6": ("demo.*",),
    "sqlite3": ("savers.sqlite*", "operations.*"),
    "psycopg_pool": ("savers.postgres.*",),
    "psycopg": ("savers.postgres.*",),
    "pymysql": ("savers.mysql.*",),
    "redis": ("savers.redis.*", "savers.valkey.*"),
    "pymongo": ("savers.mongodb.*",),
    "bson": ("savers.mongodb.*",),
    "boto3": ("savers.dynamodb.*",),
    "botocore": ("savers.dynamodb.*",),
    "backports": ("savers.bundle.zstd",),
    "compression": ("savers.bundle.zstd",),
    "pytest": ("conformance.*",),
    "langgraph": ("langgraph.*", "savers.custom.*"),
    "langchain_core": ("langgraph.*",),
    "subprocess": ("output.pager", "output.editor", "output.deliveries", "output.state_command"),
    "importlib": ("app", "output.printer", "savers.url", "savers.registry", "savers.custom.*", "installing"),
    "pickletools": ("serde.*",),
    # Nothing in a database is ever run:
    "pickle": (),
    "shelve": (),
    "marshal": (),
    "runpy": (),
    "ctypes": (),
}
"""Where third parties, and the standard modules that could do harm, may be imported; others have no home."""

TALKERS = ("output.*", "app", "fast_start")
"""Who may touch stdout and stderr (the app through Typer: its help and version; the start flushes them at the end)."""


def modules() -> list[Path]:
    """Every file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    """``output.text.info`` for a file, without the package's own name."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def breaches(module: str, source: str) -> Iterator[str]:
    """Each sentence of the table that a module breaks."""
    tree = ast.parse(source)
    for imported in _imports(tree):
        yield from _own(module, imported) if imported.split(".")[0] == "ckpt_cli" else _foreign(module, imported)
    if not _at_home(module, TALKERS):
        yield from (f"{module} talks: {name} in line {line}" for name, line in _talk(tree))
    yield from (
        f"{module} runs text: {name}() in line {line}" for name, line in _called(tree, {"eval", "exec", "__import__"})
    )


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            if node.module == "ckpt_cli":
                yield from (f"ckpt_cli.{alias.name}" for alias in node.names)
            else:
                yield node.module or ""


def _own_imports(tree: ast.AST, known: set[str]) -> set[str]:
    """The modules of the package that a module imports, without the package's name."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("ckpt_cli"):
            part = node.module.removeprefix("ckpt_cli").removeprefix(".")
            names = {f"{part}.{alias.name}".removeprefix(".") for alias in node.names}
            found |= (names & known) or {part}
    return found


def _circle(start: str, edges: dict[str, set[str]]) -> list[str]:
    """The shortest way from a module over its imports back to itself; empty where there is none."""
    ways, seen = [[start]], {start}
    for way in ways:
        for module in sorted(edges.get(way[-1], ())):
            if module == start:
                return [*way, module]
            if module not in seen:
                seen.add(module)
                ways.append([*way, module])
    return []


def _own(module: str, imported: str) -> Iterator[str]:
    here, there = module.split(".")[0], [*imported.split("."), ""][1]
    may = MAY_IMPORT[here] | DOORS.get(".".join(module.split(".")[:2]), set())
    if there not in {here, "", "__version__"} and there not in may:
        yield f"{module} imports {imported}: {here} may not know {there}"


def _foreign(module: str, imported: str) -> Iterator[str]:
    top = imported.split(".")[0]
    if top in HOMES:
        if not _at_home(module, HOMES[top]):
            yield f"{module} imports {top}, whose home is {', '.join(HOMES[top]) or 'nowhere'}"
    elif top not in sys.stdlib_module_names:
        yield f"{module} imports {top}, which has no home"


def _at_home(module: str, homes: tuple[str, ...]) -> bool:
    return any(fnmatchcase(module, home) or fnmatchcase(f"{module}.", home) for home in homes)


def _talk(tree: ast.AST) -> Iterator[tuple[str, int]]:
    yield from _called(tree, {"print", "input"})
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = f"{node.value.id}.{node.attr}"
            if name in {
                "sys.stdout",
                "sys.stderr",
                "sys.stdin",
                "sys.exit",
                "typer.echo",
                "typer.secho",
                "os.system",
            }:
                yield name, node.lineno


def _called(tree: ast.AST, names: set[str]) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            yield node.func.id, node.lineno


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_module_keeps_to_its_layer(path: Path) -> None:
    """A module imports what its layer may, third parties stay at home, and only output talks."""
    module = module_name(path) or "__main__"
    assert list(breaches(module, path.read_text())) == []


def test_no_module_of_output_imports_itself_over_others() -> None:
    """The imports of `output` form no circle, also counting those inside functions."""
    sources = {module_name(path): path.read_text() for path in modules()}
    edges = {module: _own_imports(ast.parse(source), set(sources)) for module, source in sources.items()}
    assert [way for module in sources if module.startswith("output.") if (way := _circle(module, edges))] == []
    assert _circle("a", {"a": {"b"}, "b": {"c", "b"}, "c": {"a"}}) == ["a", "b", "c", "a"]


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_files_and_functions_stay_small(path: Path) -> None:
    """A file ends before 300 lines and a function before 50."""
    source = path.read_text()
    assert source.count("\n") <= 300
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= 50, f"{node.name} has {length} lines"


def test_commands_holds_only_verbs() -> None:
    """Each file of `commands` is a verb of the table, and each verb has its file."""
    assert {path.stem for path in (PACKAGE / "commands").glob("*.py")} == {"__init__", *VERBS}


def test_the_map_names_each_part() -> None:
    """The floors of ARCHITECTURE.md are the files and folders of the package, no more and no fewer."""
    page = (PACKAGE.parent / "ARCHITECTURE.md").read_text()
    floors = page.partition("## The floors")[2].partition("\n## ")[0]
    rooms = [line.split("|")[1] for line in floors.splitlines() if line.startswith("| `")]
    beside = floors.partition("Beside the tower:")[2]
    named = {name for text in (*rooms, beside) for name in re.findall(r"`(\w+(?:\.py|/))`", text)}
    parts = {f"{path.name}/" for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    parts |= {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py"}
    assert named == parts


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_the_same_name_everywhere(verb: str) -> None:
    """A verb's signature, its plan (if it changes something), its view and its renderer are in files of its name."""
    command = import_module(f"ckpt_cli.commands.{verb}")
    returned = get_type_hints(function_of(verb))["return"]
    views = get_args(returned) or (returned,)
    if not all(issubclass(view, PlanView | BulkView) for view in views):
        assert callable(command.run)
    elif verb not in ("undo", "import"):  # an undo's rows are the log's, an import is a copy
        assert import_module(f"ckpt_cli.plans.{verb}")
    for view in views:
        assert issubclass(view, View)
        assert (view.verb, view.__module__) == (view.verb, f"ckpt_cli.views.{view.verb}")
        assert view in (PlanView, BulkView) or view.verb == verb
        assert callable(import_module(f"ckpt_cli.output.text.{view.verb}").render)
        assert not view.rows_field or view.rows_field in {field.name for field in fields(view)}


@pytest.mark.parametrize(
    ("module", "source", "breach"),
    [
        ("savers.sqlite", "from ckpt_cli.serde.codec import Codec", "savers may not know serde"),
        ("history.diff.diff", "def f():\n    import ckpt_cli.savers.contract", "history may not know savers"),
        ("views.log", "from ckpt_cli import output", "views may not know output"),
        (
            "values.langgraph_values",
            "if TYPE_CHECKING:\n    from ckpt_cli.history.lineage.ids import step",
            "values may not know history",
        ),
        ("commands.log", "import rich.text", "commands.log imports rich, whose home is output.*"),
        ("serde.picklereader", "from pickle import Unpickler", "imports pickle, whose home is nowhere"),
        ("history.diff.diff", "import sqlite3", "whose home is savers.sqlite*, operations.*"),
        ("output.json", "import requests", "imports requests, which has no home"),
        ("commands.log", "print('x')", "commands.log talks: print in line 1"),
        ("reading", "import sys\nsys.stderr.write('x')", "reading talks: sys.stderr in line 2"),
        ("history.state.filters", "eval('1')", "history.state.filters runs text: eval() in line 1"),
    ],
)
def test_a_breach_is_named(module: str, source: str, breach: str) -> None:
    """Each kind of breach is found, wherever in the module it is, and described in words."""
    [found] = breaches(module, source)
    assert breach in found

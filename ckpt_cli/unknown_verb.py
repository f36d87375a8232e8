"""The hint for a verb that ckpt doesn't have: the nearest verb, or the one that other tools call so."""

from collections.abc import Mapping

_MOST = 2  # commands in one hint

OTHER_WORDS = {
    "threads": "ls list ll ps dir sessions conversations chats runs status st",
    "threads --status waiting": "waiting interrupts questions approvals inbox",
    "threads --status failed": "failed failures errors",
    "log": "history hist timeline steps checkpoints reflog",
    "tree": "branches branch subgraphs namespaces",
    "show --json": "dump",
    "show": "cat view print state inspect describe head open read next",
    "get": "value path select jq query",
    "diff": "compare delta changes",
    "graph": "nodes edges workflow flow topology draw mermaid",
    "trace": "profile time tokens usage cost spans perf timings",
    "verify": "check fsck validate audit integrity doctor",
    "watch": "tail follow monitor listen events wait",
    "writes": "tasks pending outputs results",
    "blame": "annotate praise who whodunit culprit origin provenance",
    "bisect": "regression first-bad bisection",
    "grep": "find search rg ack",
    "stats": "metrics top du",
    "info": "status db database schema size ping whoami doctor",
    "fork": "checkout switch branch clone duplicate",
    "rollback": "checkout reset restore rewind revert goto back",
    "resume": "answer reply respond approve reject continue",
    "replay": "retry rerun run apply commit",
    "update": "put write patch commit",
    "edit": "set modify change",
    "tag": "label name bookmark mark",
    "delete": "rm remove del drop purge clear erase forget truncate",
    "prune": "clean gc compact thin keep retain retention trim vacuum",
    "copy": "cp clone duplicate sync migrate move mv",
    "import": "load unpack unbundle thaw",
    "export": "backup save pack archive bundle",
    "repair": "fix mend heal unstick tool_calls toolcalls",
    "undo": "revert restore back",
    "operations": "ops oplog audit journal changelog",
    "demo": "init example tutorial sample new",
    "--help": "help man usage commands",
    "--version": "version",
}
"""Command lines of ckpt, each with the words by which git, databases and shells call something like it."""


def hint(word: str, verbs: Mapping[str, str]) -> str:
    """What to type instead of an unknown verb.

    Args:
        word: the unknown verb.
        verbs: verb to its help in one line.
    """
    from difflib import get_close_matches

    lines = _lines(word.lower())
    if not lines:
        if near := get_close_matches(word.lower(), verbs, cutoff=0.6):
            return f"did you mean {', '.join(repr(verb) for verb in near)}?"
        words = {other for some in OTHER_WORDS.values() for other in some.split()}
        lines = [line for other in get_close_matches(word.lower(), words, n=1, cutoff=0.75) for line in _lines(other)]
    return "; ".join(_describe(line, verbs) for line in lines[:_MOST]) or "ckpt --help"


def _lines(word: str) -> list[str]:
    """The command lines that do what this word means elsewhere."""
    return [line for line, words in OTHER_WORDS.items() if word in words.split()]


def _describe(line: str, verbs: Mapping[str, str]) -> str:
    """A command line and what it does: ``ckpt undo takes back …``, in the words of its help."""
    help_line = verbs.get(line, "").rstrip(".")
    return f"`ckpt {line}`: {help_line[:1].lower()}{help_line[1:]}" if help_line else f"`ckpt {line}`"

"""Words as a shell takes them, so that a command we suggest can be pasted, whatever characters an id holds."""

from shlex import quote


def argument(text: str) -> str:
    """One word, quoted where it must be; control characters as bash's and zsh's ``$'…'`` spells them."""
    if text.isprintable():
        return quote(text)
    spelled = text.encode("unicode_escape").decode().replace("'", "\\'")
    return f"$'{spelled}'"


def command(*words: str) -> str:
    """A command line; what begins with a dash stands behind ``--``."""
    verb, *rest = words
    shown = [argument(word) for word in rest]
    return " ".join([verb, *(["--"] if any(word.startswith("-") for word in rest) else []), *shown])


def visible(name: str) -> str:
    """A name as tables show it: between quotes where its ends, or all of it, could not be seen."""
    return name if name and name == name.strip() else f"'{name}'"

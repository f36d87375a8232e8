"""Names as tables show them."""


def visible(name: str) -> str:
    """A name between quotes where its ends, or all of it, could not be seen."""
    return name if name and name == name.strip() else f"'{name}'"

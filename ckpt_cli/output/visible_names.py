"""Makes names in tables visible: quotes a name that is empty or has blanks at its ends."""


def visible(name: str) -> str:
    """The name, in quotes if it is empty or begins or ends with a blank."""
    return name if name and name == name.strip() else f"'{name}'"

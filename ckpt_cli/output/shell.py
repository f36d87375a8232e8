"""Makes names in tables visible, even empty ones."""


def visible(name: str) -> str:
    """The name, in quotes if it is empty or begins or ends with a blank."""
    return name if name and name == name.strip() else f"'{name}'"

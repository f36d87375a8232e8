"""Prints the installed versions of what pyproject.toml names, after a heading."""

import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version

names = sorted(
    {re.split(r"[^\w.-]", requirement)[0] for requirement in requires("langgraph-ckpt") or ()} - {"langgraph-ckpt"}
)
found = []
for name in names:
    try:
        found.append(f"{name} {version(name)}")
    except PackageNotFoundError:
        found.append(f"{name} (not installed)")
print(f"{sys.argv[1]}: Python {sys.version.split()[0]}, {', '.join(found)}")

"""The description for an index page: the README, whose links to the project's own files lead nowhere there.

``CKPT_REPOSITORY`` is the address under which these files can be read; without it, links become plain text.
"""

import os
import re
from pathlib import Path

from setuptools import setup

_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")


def description() -> str:
    """The README with links that work on every page."""
    base = os.environ.get("CKPT_REPOSITORY", "").rstrip("/")
    readme = Path(__file__).with_name("README.md").read_text("utf-8")
    return _LINK.sub(rf"[\1]({base}/\2)" if base else r"\1", readme)


setup(long_description=description(), long_description_content_type="text/markdown")

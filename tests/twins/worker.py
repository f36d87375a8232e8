"""`Library` in a process of its own: a question a line in JSON, answered with a line."""

import json
import sys
import traceback
from pathlib import Path

from tests.twins.library import Library


def main() -> None:
    """Answer until nobody asks any more."""
    library, out = Library(Path(sys.argv[1])), sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        try:
            answer = {"answer": library.call(*json.loads(line))}
        except Exception as error:
            answer = {"error": type(error).__name__, "traceback": "".join(traceback.format_exception(error))}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()

"""The ``ckpt`` process: handles Ctrl-C before other modules are imported, so that no traceback is printed.

The imports take longer than many commands. If Ctrl-C interrupted an import, Python would print a traceback.
"""

import os
import signal

CODE = 130


def main() -> None:
    """Run one command line and end the process."""
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_default:
        signal.signal(signal.SIGINT, _stop)
    from ckpt_cli.app import main as app

    try:
        if is_default:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        app()
    except KeyboardInterrupt:  # before the command began, or after it ended
        _stop()


def _stop(*_: object) -> None:
    os.write(2, b"ckpt: stopped\n")
    os._exit(CODE)


if __name__ == "__main__":
    main()

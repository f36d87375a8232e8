"""The ``ckpt`` process: handles Ctrl-C before other modules are imported, so that no traceback is printed.

The imports take longer than many commands. If Ctrl-C interrupted an import, Python would print a traceback.
They make many objects and little garbage, so the garbage collector runs less often: Python's own threshold of 700 new
objects costs 0.01 s.

glibc gives freed memory of more than 128 kB back to the system at once, so each long value would cost as many page
faults as it has pages: a third of the time in which a checkpoint is read. Once a longer piece was freed, it keeps
pieces up to that length for the next value (``malloc/malloc.c``: "dynamic mmap threshold"). Nothing is written to this
piece, so it takes no memory.
"""

import gc
import os
import signal

CODE = 130
_YOUNG = 50_000  # the garbage collector first runs after this many new objects
_LONG = 16 << 20  # bytes; shorter values use memory that was freed before


def main() -> None:
    """Run one command line and end the process."""
    gc.set_threshold(_YOUNG, 20, 20)
    bytes(_LONG)
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

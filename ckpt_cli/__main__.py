"""``python -m ckpt_cli`` is the same as ``ckpt``."""

from ckpt_cli.app import main

if __name__ == "__main__":
    main()

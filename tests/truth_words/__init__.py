"""Random histories by the real library, and what ckpt says of them: no line, value, task or verdict contradicts it."""

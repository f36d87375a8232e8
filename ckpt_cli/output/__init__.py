"""The only code that writes to stdout or stderr."""

"""Redacted exports: what may not be in them, and that they can be read."""

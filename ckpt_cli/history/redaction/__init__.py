"""Redaction: decoded values without the texts that a pattern matches, without the parts at a path, or as outlines."""

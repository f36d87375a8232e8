"""Decode and encode payloads: one module for each encoding. Nothing that a payload names is imported or run."""

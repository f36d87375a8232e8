"""Postgres, against a real server."""

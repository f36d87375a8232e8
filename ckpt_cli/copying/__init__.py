"""Copies threads between databases: each record as the saver of the target writes it, and nothing twice."""

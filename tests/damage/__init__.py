"""Rows that no LangGraph writes, but damage, migrations and other tools do: none stops a database from being read."""

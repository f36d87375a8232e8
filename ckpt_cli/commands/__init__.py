"""One file for each verb: a thin Typer signature, and a plain ``run(...)`` that returns a view."""

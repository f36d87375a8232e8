"""One verb a file: a thin Typer signature and a plain ``run(...)`` that returns a view."""

"""What the shell offers after TAB: names that are in the database. Silent when anything fails, done within a second."""

import typer


def complete_thread(ctx: typer.Context, incomplete: str) -> list[str]:
    """Thread ids, the most recently active first."""
    return []


def complete_revision(ctx: typer.Context, incomplete: str) -> list[str]:
    """Revisions of the thread on the command line."""
    return []


def complete_channel(ctx: typer.Context, incomplete: str) -> list[str]:
    """Channels of the thread on the command line."""
    return []


def complete_namespace(ctx: typer.Context, incomplete: str) -> list[str]:
    """Namespaces of the thread on the command line."""
    return []

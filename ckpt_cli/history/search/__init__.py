"""Text looked for in the history of a thread."""

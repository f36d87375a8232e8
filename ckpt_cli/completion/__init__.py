"""What a shell offers at TAB: the names in a database, as words that no shell runs."""

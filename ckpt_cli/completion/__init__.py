"""Shell completion: offers the names in a database, as words that no shell can run."""

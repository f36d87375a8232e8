"""Shell completion: offers the names in a database, in a form that no shell can run as a command."""

"""Plans: what a command would change, computed from the database. This code reads and never writes."""

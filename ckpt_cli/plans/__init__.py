"""Plans: what a command would change, computed from the database. Plans read and never write."""

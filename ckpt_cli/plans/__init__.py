"""Plans: what a command would change, computed from what is recorded. Plans read, never write."""

"""Pure computations of plans: what a command would change, from what is recorded, before anything is touched."""

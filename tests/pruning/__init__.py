"""`ckpt prune` on threads of random graphs, by random policies, on every saver; killed at any time."""

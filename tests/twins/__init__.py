"""ckpt and the library do the same to two copies of a database, and the real graph carries on alike from both."""

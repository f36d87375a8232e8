"""MongoDB."""

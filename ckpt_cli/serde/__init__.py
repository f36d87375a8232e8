"""bytes <-> values: one module per wire encoding, a table of type tags. Nothing a payload names is imported or run."""

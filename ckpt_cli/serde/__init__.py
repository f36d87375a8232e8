"""bytes <-> values: one module per wire encoding, and a table of type tags. Nothing a payload names is ever imported or run."""

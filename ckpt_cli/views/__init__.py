"""What commands return, one module a verb; the fields are the JSON contract and only ever grow."""

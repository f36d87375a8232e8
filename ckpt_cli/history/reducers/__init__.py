"""Reducers that were named or learned; they rebuild delta channels and replay recorded steps."""

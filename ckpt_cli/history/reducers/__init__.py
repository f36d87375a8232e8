"""What channels make of writes: reducers, named or learned; delta channels, rebuilt; recorded steps, replayed."""

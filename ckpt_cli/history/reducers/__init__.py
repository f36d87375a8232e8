"""What channels make of writes: reducers given or learned, delta channels, recorded steps replayed."""

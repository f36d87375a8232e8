"""A saver joined with the operation log: plans are applied with their before-images safe on disk, and can be undone."""

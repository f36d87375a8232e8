"""One database a file behind one contract; `url` maps what a person typed to a saver, imported on demand."""

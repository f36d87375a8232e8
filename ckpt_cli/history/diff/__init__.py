"""What differs between two values: by structure, by list elements, by words, as a patch."""

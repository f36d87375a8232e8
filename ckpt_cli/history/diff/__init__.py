"""How two values differ: by structure, by list elements, by words, as a patch."""

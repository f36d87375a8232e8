"""State as people name, filter and edit it: channels, paths, expressions, exact edits."""

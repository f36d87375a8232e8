"""Input from the user besides the verb: options, JSON, metadata, and a draft in an editor."""

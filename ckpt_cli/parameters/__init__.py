"""What a person says on the command line beside the verb: options, JSON, metadata, a draft in an editor."""

"""Which checkpoints a thread has and how they hang together: ids, parents, branches, revisions, the drawn tree."""

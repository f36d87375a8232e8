"""Which checkpoints a thread has and how they are related: ids, parents, branches, revisions, the drawn tree."""

"""The tasks that ran or will run at a checkpoint, the node of each task, and the writes of each task."""

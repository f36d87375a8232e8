"""Which tasks ran or will run at a checkpoint, which node each is, and which writes are whose."""

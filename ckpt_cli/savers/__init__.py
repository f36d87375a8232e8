"""Every backend behind one contract; `url` opens the saver for what the user typed and imports only that backend."""

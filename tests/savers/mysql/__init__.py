"""MySQL and MariaDB: a real server, LangGraph's own saver, and ckpt on the same tables."""

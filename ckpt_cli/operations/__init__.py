"""Applies plans to a database and undoes them; an operation log keeps the images of all changed rows."""

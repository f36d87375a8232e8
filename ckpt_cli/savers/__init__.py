"""All backends, with one interface. `url` opens the saver that the user named, and imports only its backend."""

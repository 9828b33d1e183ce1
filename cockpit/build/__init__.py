"""The composition root: the only place where screen, engine and SSH meet."""

"""The training side: torch and the standard library."""

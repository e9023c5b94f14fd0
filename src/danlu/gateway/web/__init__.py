"""Doors into tasks for browsers: each on a port or a name of its own."""

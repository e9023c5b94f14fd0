"""Doors into tasks for SSH clients: a process of its own, which outlives the server."""

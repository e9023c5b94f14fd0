"""Doors into tasks for SSH clients and browsers: a process that outlives the server."""

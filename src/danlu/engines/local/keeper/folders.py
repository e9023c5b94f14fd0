"""Folders of a task's own in its view."""

RUN = "/run/danlu"
"""In memory, for sockets: only its user can enter."""
RUN_SIZE = "64m"

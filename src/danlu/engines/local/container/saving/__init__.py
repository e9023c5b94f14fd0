"""Saving a container as an image. Runs in the server, never in a keeper."""

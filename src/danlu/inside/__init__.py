"""Runs inside tasks, with the Python of Danlu's tools; imports no other package of Danlu's."""

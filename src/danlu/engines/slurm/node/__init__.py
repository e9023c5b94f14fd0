"""Runs on compute nodes, as a job's user: one keeper for each task, and a door to it.

Imports only the standard library and the local engine's keeper, which are copied to the shared
folder together. Works with Python 3.9.
"""

"""Tasks in containers: Docker or Podman creates the container, a keeper runs the command in it.

`holder.py`, `wire.py`, `enter.py`, `confine.py` and `keeper.py` are loaded by keepers: they import
only the standard library and the keeper's modules.
"""

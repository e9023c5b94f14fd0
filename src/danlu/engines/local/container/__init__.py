"""Tasks in containers: Docker or Podman make the container, a keeper runs the command inside.

`holder.py`, `wire.py`, `enter.py`, `confine.py` and `keeper.py` are loaded by keepers: they import
the standard library and modules of the keeper only.
"""

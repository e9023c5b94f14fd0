"""Commands of other platforms under their own names: thin programs over the same server."""

"""Commands of other platforms under their own names, as thin clients of the same server."""

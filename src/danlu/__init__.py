"""Danlu: the GPU platform a lab runs for itself."""

__version__ = "0.1.0"

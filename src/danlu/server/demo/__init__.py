"""The demo: a made-up cluster with made-up people, for a first look without GPUs."""

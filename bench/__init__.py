"""Benchmarks: each prints a table of Danlu against its anchor. `bench/run` lists them."""

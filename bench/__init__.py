"""The measurements: each prints one table of Danlu against its anchor. `bench/run` lists them."""

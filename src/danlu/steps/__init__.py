"""Programs that run inside the tasks of batch jobs: standard library only, Python 3.8 or later."""

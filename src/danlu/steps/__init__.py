"""Programs of batch jobs that run inside their tasks: standard library only, any Python 3.8."""

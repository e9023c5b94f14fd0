"""The Slurm engine: Slurm queues and places, tasks run on its nodes as their users.

`node/` runs on the compute nodes, `users` and `worker` become a job's user on this machine, and
everything that must outlive both is in files of that user on a folder all of them share.
"""

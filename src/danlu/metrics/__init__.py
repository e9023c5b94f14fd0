"""Usage of jobs and nodes: sampled, stored with decreasing resolution, served as series."""

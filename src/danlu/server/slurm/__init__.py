"""`danlu slurm`: a Slurm for a few bare machines (init), and what is wrong with one (check)."""

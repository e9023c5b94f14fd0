#!/bin/bash
#SBATCH --name=slips
#SBATCH --cpus=12
#SBATCH --email=alice@lab.example
#SBATCH --email-type=END
#SBATCH --walltime=2:00:00
#SBATCH --mpi=pmix
srun ./x

#!/bin/bash
#SBATCH --ntasks=6 --mem-per-cpu=500M
srun ./mpi

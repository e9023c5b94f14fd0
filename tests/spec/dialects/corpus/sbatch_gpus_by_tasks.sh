#!/bin/bash
#SBATCH --job-name=by-tasks
#SBATCH --ntasks=6
#SBATCH --ntasks-per-gpu=2
srun ./rank

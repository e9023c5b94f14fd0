#!/bin/bash
#SBATCH --job-name=by-cards
#SBATCH --nodes=2
#SBATCH --gpus-per-node=4
#SBATCH --ntasks-per-gpu=2
#SBATCH --cpus-per-task=3
srun ./rank

#!/bin/bash
#SBATCH --job-name=both
#SBATCH --nodes=2
#SBATCH --gpus=a100:8
#SBATCH --ntasks-per-gpu=1
#SBATCH --exclusive
srun ./rank

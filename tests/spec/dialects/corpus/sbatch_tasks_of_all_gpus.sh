#!/bin/bash
#SBATCH --job-name=all-cards
#SBATCH --gpus=h100:8
#SBATCH --gpus-per-task=2
#SBATCH --cpus-per-task=12
#SBATCH --array=[0-3]
srun ./rank

#!/bin/bash
#SBATCH --job-name=one-each
#SBATCH --nodes=2
#SBATCH --gres=gpu:4
#SBATCH --gpus-per-task=1
srun ./rank

#!/bin/bash
#SBATCH --gpus-per-node=gpu:a100_80gb:2
#SBATCH --gpus-per-task=gpu:1
#SBATCH --constraint="[v100|a100]"
srun ./fit

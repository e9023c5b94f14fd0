#!/bin/bash
#SBATCH --job-name=sixteen
#SBATCH --gpus=a100:16
#SBATCH --gpus-per-node=8
srun ./rank

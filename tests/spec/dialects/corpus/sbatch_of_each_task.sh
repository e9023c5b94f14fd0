#!/bin/bash
#SBATCH --job-name=tres
#SBATCH --ntasks=4
#SBATCH --tres-per-task=cpu=6,gres/gpu:a100=1,license/matlab=1
#SBATCH --mincpus=32
srun ./rank

#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --gpus-per-task=2
#SBATCH --cpus-per-gpu=3
#SBATCH --mem-per-cpu=2048
srun ./step

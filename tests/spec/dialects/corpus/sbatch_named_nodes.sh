#!/bin/bash
#SBATCH --job-name=named
#SBATCH --nodelist=node[1-3],login
#SBATCH --gpus-per-node=v100
srun hostname

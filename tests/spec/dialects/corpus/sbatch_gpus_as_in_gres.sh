#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=02
#SBATCH --cpus-per-task=08
#SBATCH --gpus-per-node=gpu:4
#SBATCH --constraint=[v100]
#SBATCH --err=e.txt --out=o.txt
srun ./fit

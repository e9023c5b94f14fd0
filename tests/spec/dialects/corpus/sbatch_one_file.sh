#!/bin/bash
#SBATCH --job-name=together
#SBATCH --output=logs/%x-%3j.log
#SBATCH --error=logs/%x-%3j.log
#SBATCH --time=10
#SBATCH --time=20
#SBATCH --signal=B:USR1@120
#SBATCH --exclusive
#PBS -l select=2:ncpus=8
#PBS -q workq
./train

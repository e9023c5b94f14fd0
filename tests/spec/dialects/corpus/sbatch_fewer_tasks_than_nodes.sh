#!/bin/bash
#SBATCH --job-name=fewer
#SBATCH --nodes=4
#SBATCH --ntasks=1
#SBATCH --ntasks-per-node=8
#SBATCH --cpus-per-task=2
./serial

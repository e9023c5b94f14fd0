#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus=a100:5
#SBATCH --mem=0
srun ./step

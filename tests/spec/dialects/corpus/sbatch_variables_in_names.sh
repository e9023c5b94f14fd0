#!/bin/bash
#SBATCH --job-name=dollar
#SBATCH --output=$HOME/logs/%j.out
#SBATCH --image=docker:lab/sky:2
#SBATCH --volume="/srv/slow:/data"
#SBATCH --gpu_cmode=shared
srun shifter ./sky

#!/bin/bash
# A comment.
##SBATCH --nodes=9
# SBATCH --nodes=9
#SBATCH --time=30   # half an hour
#SBATCH --gres=gpu:rtx3090:2(S:0-1),lscratch:100

echo start
#SBATCH --nodes=9

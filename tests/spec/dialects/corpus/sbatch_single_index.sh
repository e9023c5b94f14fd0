#!/bin/sh
#SBATCH --array=7
echo $SLURM_ARRAY_TASK_ID

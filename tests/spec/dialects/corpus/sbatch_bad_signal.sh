#!/bin/bash
#SBATCH --time=10 --signal=USR3@120
srun python train.py

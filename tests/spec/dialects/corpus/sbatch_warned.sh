#!/bin/bash
#SBATCH --time=2-00 --signal=B:usr1@120
srun python train.py --resume

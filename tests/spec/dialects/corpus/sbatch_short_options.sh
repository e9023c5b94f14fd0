#!/bin/bash -l
#SBATCH -J short -p gpu -N 2 -n 8 -c 4
#SBATCH -t 90 -o out.%j -e err.%j -A vision -q high
#SBATCH -D /userhome/project
#SBATCH -a 0-15%4
#SBATCH -d afterok:12:13,afterany:14_2
#SBATCH -C v100 -G 8 -w node[1-2] -x node3
srun python train.py

#!/bin/bash
#SBATCH -J slice
#SBATCH --gpus-per-node=3g.40gb:1
#SBATCH --ear=off --mpibind=off
python infer.py

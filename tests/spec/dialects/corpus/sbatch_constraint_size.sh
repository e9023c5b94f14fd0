#!/bin/bash
#SBATCH --job-name=sized
#SBATCH --gres=gpu:v100:2
#SBATCH -C v100-32g
python train.py

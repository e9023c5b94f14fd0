#!/bin/bash
#SBATCH --job_name=two-cards
#SBATCH --gres=gpu:2080ti:2,gpumem:11g
#SBATCH --cpu_bind=cores
#SBATCH --mem 48GB
#SBATCH --exclude=rack[03-05]
python train.py

#!/bin/bash
#SBATCH -J "night run"
#SBATCH --comment 'two words' --time "01:00:00"
#SBATCH -o 'out/%x-%j.txt' # where it goes
#SBATCH --gres="gpu:1"
python train.py

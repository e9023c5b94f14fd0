#!/bin/bash
#SBATCH --gpus=1
#SBATCH --constraint="a100|h100"
python train.py

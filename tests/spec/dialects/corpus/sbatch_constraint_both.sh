#!/bin/bash
#SBATCH --gpus=1
#SBATCH -C 'a100&nvlink'
python train.py

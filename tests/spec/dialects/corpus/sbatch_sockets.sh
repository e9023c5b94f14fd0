#!/bin/bash
#SBATCH -J sockets
#SBATCH --gpus-per-socket=a100:2 --sockets-per-node=2
#SBATCH --begin=now
#SBATCH --gres-flags=enforce-binding
python train.py

#!/bin/bash
#SBATCH -N 2 --gpus-per-node=8 --exclusive
IMAGE=lab/train:2
srun -l \
  --container-image="$IMAGE" --container-mounts=/data:/data \
  python train.py

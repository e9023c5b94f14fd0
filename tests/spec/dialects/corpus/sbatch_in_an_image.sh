#!/bin/bash
#SBATCH --job-name=in-an-image
#SBATCH --gpus=1
#SBATCH --container-image=registry.lab:5000\#vision/train:2
#SBATCH --container-mounts=/srv/slow/alice:/data:ro,/srv/fast
#SBATCH --container-workdir=/data
#SBATCH --no-container-mount-home --container-env=HOME
python train.py

#!/bin/bash
#SBATCH --container-image=/images/train.sqsh
#SBATCH --container-mounts=/scratch/alice:/data
python train.py

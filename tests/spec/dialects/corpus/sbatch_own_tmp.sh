#!/bin/bash
#SBATCH --gpus=1
# unpack next to the GPU
tar xf data.tar -C $SLURM_TMPDIR
python train.py --data $SLURM_TMPDIR

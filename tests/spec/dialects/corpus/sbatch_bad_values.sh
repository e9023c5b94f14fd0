#!/bin/bash
#SBATCH --nodes=two
#SBATCH --ntasks=0
#SBATCH --gres=gpu:many
#SBATCH --gpus=a lot
#SBATCH --mem=lots
#SBATCH --time=tomorrow
#SBATCH --array=a-b
#SBATCH --dependency=afterok:mnist?
#SBATCH --open-mode=sideways
hostname

#!/bin/bash
#SBATCH --job-name=x
#SBATCH --gpus-per-nod3=1
#SBATCH --time
#SBATCH -Z
#SBATCH --mem=4G "unclosed
hostname

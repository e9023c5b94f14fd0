#!/bin/bash
#SBATCH --job-name=quiet
#SBATCH --input=none
#SBATCH --output=None
#SBATCH --error=quiet-%j.err
#SBATCH --begin=2021-03-04T05:06:07
#SBATCH --mem=1
#SBATCH --export=ALL,CACHE=$HOME/cache,LEVEL=3
#SBATCH --sockets-per-node=1
#SBATCH --get-user-env
./measure

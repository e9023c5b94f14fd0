#!/bin/bash
#SBATCH--job-name=tight
#SBATCH--ntasks-per-node=8
#SBATCH --mem=32G#of RAM
#SBATCH --output=runs\#1.out
#SBATCH --comment='a "quoted" # sign'
#SBATCH	-t	1-12
./assemble

#!/bin/bash
#SBATCH --mem-per-cpu=4G
#SBATCH --cpus-per-task=8
#SBATCH --mem=20G
./fit

#!/bin/bash
#SBATCH --dependency=afterwards:12,afterok:train,singleton
hostname

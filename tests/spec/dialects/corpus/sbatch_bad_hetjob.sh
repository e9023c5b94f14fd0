#!/bin/bash
#SBATCH --nodes=1
#SBATCH hetjob
#SBATCH --nodes=2
hostname

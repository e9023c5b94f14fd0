#!/bin/bash
#SBATCH --job-name=nightly:run
#SBATCH --dependency=singleton,afterok:41
python nightly.py

#!/usr/bin/env python3
# SBATCH --job-name=in-python
# SBATCH --mem=1G
import os

print(os.environ["SLURM_JOB_ID"])

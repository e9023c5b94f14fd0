#!/usr/bin/env -S bash -e
#SBATCH --account=abc@v100
#SBATCH --array=0-0%1
#SBATCH  --mem=16000M        # with a comment
                             # that goes on
#SBATCH -o Job.%J.out
hostname

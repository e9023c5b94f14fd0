#!/bin/bash
#sbatch --job-name=small-letters
#SBATCH -J capital
#SBATCH -p <partition>
#SBATCH -A <project>
#SBATCH --sockets-per-node=2
#SBATCH --cpus-per-gpu=4
#SBATCH --export=all,MODE=fast
./run

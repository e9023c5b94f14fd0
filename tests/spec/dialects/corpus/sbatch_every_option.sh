#!/bin/bash
#SBATCH --job-name="a name"
#SBATCH --partition=gpu,long
#SBATCH --account=vision
#SBATCH --qos=normal
#SBATCH --nodes=2-4
#SBATCH --ntasks=8
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=2
#SBATCH --gpus-per-node=a100:4
#SBATCH --mem-per-gpu=16G
#SBATCH --time=1-12:30:00
#SBATCH --begin=now+1hour
#SBATCH --output=%x-%A_%a-%N-%t-%u-%%.out
#SBATCH --error=err-%J.log
#SBATCH --open-mode=append
#SBATCH --input=in.txt
#SBATCH --array=1-9:2%3
#SBATCH --dependency=after:5+10
#SBATCH --constraint="intel&ib"
#SBATCH --exclude=node9
#SBATCH --nodelist=node1,node2
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --no-requeue
#SBATCH --hold
#SBATCH --chdir=/userhome/project
#SBATCH --export=ALL,MODE=fast,HOME
#SBATCH --mail-type=END,FAIL
#SBATCH --mail-user=someone@lab
#SBATCH --signal=B:USR1@120
#SBATCH --comment="a comment"
#SBATCH --wrap="ignored"
#SBATCH --wait --parsable --test-only
#SBATCH --uid=1000
#SBATCH --hint=nomultithread --licenses=matlab:1
srun --label hostname

#!/bin/bash
#SBATCH -J shard
#SBATCH --gres=gpu:1 --gres=shard:4
python small.py

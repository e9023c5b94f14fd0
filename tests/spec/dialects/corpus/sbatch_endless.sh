#!/bin/bash
#SBATCH --time=UNLIMITED --gres=none --export=NONE
sleep 10

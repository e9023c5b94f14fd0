#!/bin/bash
#SBATCH --job=short --ntasks-per-n=2 --cpus-per-t=2 --workdir=sub/folder
echo $PWD

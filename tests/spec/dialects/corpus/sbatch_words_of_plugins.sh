#!/bin/csh
#SBATCH --killable
#SBATCH --nvmps --cluster=smp
#SBATCH --cuda-mps
#SBATCH --perf=generic
#SBATCH --disable-dcgm
#SBATCH --disable-perfparanoid
#SBATCH --begin=2021-02-30
#SBATCH -c4 --time=2- --disable-turbomode
#SBATCH --deadline="now+8hours"
setenv OMP_NUM_THREADS 4
./solve

#!/bin/bash
#SBATCH --mem-per=1G
hostname

#SBATCH --time=10
echo no first line

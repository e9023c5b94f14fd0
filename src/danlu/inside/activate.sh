#!/bin/sh
# Runs a command in a conda environment, as `conda activate` would set it up: PREFIX COMMAND...
prefix=$1
shift
export CONDA_PREFIX="$prefix" CONDA_DEFAULT_ENV="${prefix##*/}" PATH="$prefix/bin:$PATH"
for script in "$prefix"/etc/conda/activate.d/*.sh; do
  [ -r "$script" ] && . "$script"
done
exec "$@"

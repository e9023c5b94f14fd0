#!/bin/bash
# Submits the evaluation.
set -e
/opt/tools/dlc submit pytorchjob \
  --name=evaluate \
  --workers 2 --worker_gpu=1 \
  --worker_cpu=8 --worker_memory=64Gi \
  --worker_image="lab/train:2" \
  --job_max_running_time_minutes=0 \
  --tags="from=here" \
  --interactive \
  --command='bash <<-EOF
source ~/.bashrc
echo "$HOME" it is; python evaluate.py
EOF' # the last one
echo submitted

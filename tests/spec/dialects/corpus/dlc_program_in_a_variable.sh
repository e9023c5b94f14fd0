#!/bin/bash
DLC_BIN=/opt/tools/dlc
"${DLC_BIN}" submit tfjob --name=in_a_variable --workers=2 --worker_image=python:3.12 \
  --worker_spec=ecs.g6.xlarge --command="python fit.py"

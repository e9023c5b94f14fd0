#!/bin/bash
IMAGE=lab/train:2
dlc submit pytorchjob --name=x --workers=1 \
  --worker_image=${IMAGE} --priority="$(cat priority)" --command='echo $HOME'

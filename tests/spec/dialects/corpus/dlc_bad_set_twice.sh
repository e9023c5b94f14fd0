#!/bin/bash
image=lab/train:1
[ -n "$NEW" ] && image=lab/train:2
image=lab/train:3
count=$(nproc)
dlc submit pytorchjob --name=x --workers=$count --worker_image=$image --command=true

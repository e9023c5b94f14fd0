#!/bin/bash
REGION=cn-north
dlc -r $REGION -e dlc.example.com --config=/root/.dlc/config submit pytorchjob \
  -n short -w=lab --workers 1 --worker_image python:3.12 --worker_gpu 1 --worker_cpu 4 \
  --worker_memory 8Gi --access_id=abc --command 'python fit.py -n 3 -w 2'

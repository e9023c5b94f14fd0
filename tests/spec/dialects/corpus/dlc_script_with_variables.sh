#!/bin/bash
submit() {
    nodes=2
    export image='lab/train:2'
    name="tune-${SUFFIX:-first}"
    twice=1
    empty=
    command="cd /work && \
bash ./train.sh $nodes"
    ~/bin/dlc --config ~/.dlc/lab create job -c other \
      --name $name --worker_count ${nodes} --worker_image=$image --kind PyTorchJob \
      --worker_cpu 4 --worker_memory 16 --priority 4 --tags="$empty" \
      --command "$command"
}
submit

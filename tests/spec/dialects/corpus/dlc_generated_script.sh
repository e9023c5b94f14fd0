#!/bin/bash
dlc submit pytorchjob \
    --name=generated \
    --command='set -e
        torchrun --nnodes=$WORLD_SIZE --node_rank=$RANK train.py' \
    --data_source_uris='nas://lab.example/srv/slow/set::/mnt/data/:{mountType:nfs,options:ro},oss://bucket/srv/fast::/mnt/fast' \
    --workspace_id=252434 \
    --workers=2 \
    --worker_image=lab/torch:2 \
    --worker_spec=ecs.gn6e-c12g1.12xlarge \
    --aimaster_args "--job-execution-mode Sync --enable-job-restart True" \
    --enable_preemptible_job --aimaster_enable \
    --enable_credential=true \
    --disable_ecs_stock_check=true \
    --exit_code_on_stopped 3

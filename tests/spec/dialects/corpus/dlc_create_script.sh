./dlc create job --kind BatchJob --name one\ word --worker_count 1 --worker_image lab/a:1 --command "echo \"quoted\" \$HOME"

dlc create job --params_file ./job.params

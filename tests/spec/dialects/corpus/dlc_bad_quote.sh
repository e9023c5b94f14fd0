dlc submit pytorchjob --name=a --command='echo

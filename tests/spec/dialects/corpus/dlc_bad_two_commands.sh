dlc submit pytorchjob --name=a --workers=1 --worker_image=i --command=true
dlc submit pytorchjob --name=b --workers=1 --worker_image=i --command=true

dlc submit pytorchjob \
  --name=windows \
  --workers=1 --worker_image=python:3.12 --worker_spec=ecs.g6.xlarge \
  --command='cd /userhome
python fit.py'

from danlu.cli.main import start

start()

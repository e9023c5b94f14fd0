"""What runs beside the server: the spawner and one keeper per task.

Modules in this folder import the standard library and each other only: the spawner is forked for
every task, so each module it loads is paid for by every task.
"""

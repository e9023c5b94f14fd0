"""The processes beside the server: the spawner and one keeper per task.

Modules in this folder import only the standard library and each other: the spawner is forked for
every task, so every task pays for each module it loads.
"""

"""What several commands take."""

from danlu.cli.options import Option

JOB, FILE, FOLDER = "<job>", "<file>", "<dir>"

COMMON = (
    Option("json"),
    Option("server", "URL"),
    Option("token", "TOKEN"),
    Option("context", "NAME"),
    Option("lang", "LANG", words="zh en"),
    Option("help", short="h"),
)

PATIENCE = Option("patience", "TIME")
TASK = Option("task", "N")
YES = Option("yes", short="y")

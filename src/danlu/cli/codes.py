"""Exit codes, as `danlu help` documents them."""

OK = 0
TROUBLE = 1  # the server cannot be reached, or failed
USAGE = 2  # the command line or the job file is invalid
NOT_FOUND = 3
DENIED = 4  # not logged in, or not allowed
CONFLICT = 5  # not possible in the job's current state
INTERNAL = 70  # a bug in danlu
NEVER_RAN = 125  # run: the job ended without an exit code, or it is unknown
SIGNALLED = 128  # plus the signal's number
SIGHUP, SIGINT, SIGPIPE, SIGTERM = 1, 2, 13, 15

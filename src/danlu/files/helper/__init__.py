"""The process that works on files as one user. It imports the standard library only.

It begins with the server's rights, imports everything it will need (the user may not be able to
read the server's installation), gives its rights up for good, and then answers requests.
"""

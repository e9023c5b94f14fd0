"""The image registry: the OCI distribution API over a folder of blobs, in a process of its own."""

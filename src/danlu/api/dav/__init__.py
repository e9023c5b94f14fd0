"""WebDAV (classes 1 and 2) to the folders of the file centre, at /dav: for laptops.

Everything is done by the same services as elsewhere, so by the user's own helper.
"""

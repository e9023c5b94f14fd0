"""`danlu tools`: builds, packs, installs and lists the tools tree."""

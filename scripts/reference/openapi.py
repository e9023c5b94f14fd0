"""Prints the server's OpenAPI document, from which other clients are generated."""

from __future__ import annotations

import json
import sys

from scripts.reference.models import document

if __name__ == "__main__":
    json.dump(document(), sys.stdout, indent=1)

"""Where Python packages come from: as pip is configured on this machine, also for uv."""

from __future__ import annotations

import os
import subprocess
import sys

_AS_FOR_UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "proxy": "HTTPS_PROXY",
}


def uv_env() -> dict[str, str]:
    """uv reads variables of its own, which win over pip's configuration."""
    env = dict(os.environ)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    )
    for line in done.stdout.splitlines():
        name, _, value = line.partition("=")
        key = name.rpartition(".")[2].removeprefix("default-")
        if key in _AS_FOR_UV:
            env.setdefault(_AS_FOR_UV[key], value.strip("'"))
    return env | {"UV_NO_CONFIG": "1"}

"""Danlu: the GPU platform a lab runs for itself."""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.sdk import ApiError as ApiError
    from danlu.sdk import AsyncClient as AsyncClient
    from danlu.sdk import Client as Client


def __getattr__(name: str) -> object:
    # On demand: the command line starts by importing this file.
    if name not in ("ApiError", "AsyncClient", "Client"):
        raise AttributeError(f"module 'danlu' has no attribute {name!r}")
    import danlu.sdk

    found: object = getattr(danlu.sdk, name)
    return found

"""The backup route: admins only, streamed, one at a time."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from danlu.api.dependencies import Asks, Our
from danlu.api.problems import error_responses

router = APIRouter(tags=["platform"])


@router.post(
    "/backup",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/gzip": {}}}, **error_responses(403, 409)},
)
async def backup(
    our: Our,
    asks: Asks,
    homes: Annotated[bool, Query(description="include the users' home folders")] = False,
) -> StreamingResponse:
    """Creates a backup while the server is running.

    The response is a file with a consistent snapshot of the database, the logs, the settings and
    the keys. It contains the secrets of all users. If the connection ends before the last chunk,
    the file is incomplete, and `danlu restore` rejects it.
    """
    pieces = await our.backup.make(asks, homes)
    name = time.strftime("danlu-%Y%m%d-%H%M%S.backup")
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Cache-Control": "no-store",
    }
    return StreamingResponse(pieces, media_type="application/gzip", headers=headers)

"""The body of a request on its way to a user's helper, which writes it into a file."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import ClientDisconnect, Request

from danlu.api.piping import WORTH, Piping, Stuck, piping
from danlu.services.file_calls import SLOW, Transfer

PIECE = 1 << 20
MOST_READ = 1 << 18
CHECK_EVERY = 256 << 20
Check = Callable[[], Awaitable[object]]


async def pass_on(
    request: Request, transfer: Transfer, most: int, check: Check, every: int = CHECK_EVERY
) -> bool:
    """From the request to the helper; also what came before the connection broke (False).

    `most`: bytes that the helper takes. After each `every` bytes it is checked that there is still
    room: others write there, too.
    """
    way = piping(request.scope)
    length = None if way is None else way.length()
    if way is not None and length is not None and WORTH <= length <= most:
        whole = await _piped(way, transfer, check, every)
    else:
        whole = await _copied(request, transfer, check, every)
    await transfer.write(transfer.buffer())
    return whole


async def _piped(way: Piping, transfer: Transfer, check: Check, every: int) -> bool:
    pipe = transfer.pipe
    assert pipe is not None
    try:
        return await way.receive_into(pipe, SLOW, every, check)
    except Stuck:
        raise transfer.stuck() from None


async def _copied(request: Request, transfer: Transfer, check: Check, every: int) -> bool:
    held, whole = transfer.buffer(), True
    next_check, taken = every, 0
    try:
        async for piece in request.stream():
            taken += len(piece)
            if taken > next_check:
                next_check += every
                await check()
            for at in range(0, len(piece), MOST_READ):
                if len(held) > PIECE - MOST_READ:
                    await transfer.write(held)
                    held = transfer.buffer()
                held += piece[at : at + MOST_READ]
    except ClientDisconnect:
        whole = False
    if len(held) > len(transfer.buffer()):
        await transfer.write(held)
    return whole

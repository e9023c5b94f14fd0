"""Where ipykernel hears of what forked processes print: on a socket of the task's own.

By itself it listens on a port of localhost, which every user of the machine can reach. Runs under
whatever Python a kernel has, from 3.6 on, and with any of its versions of ipykernel.
"""

import os
from typing import Any, Callable, Dict  # noqa: UP035


def keep_off_ports(folder: str) -> None:
    """Before a kernel is started."""
    try:
        import zmq
        from ipykernel.iostream import IOPubThread
    except ImportError:
        return
    if not (hasattr(IOPubThread, "_setup_pipe_in") and hasattr(IOPubThread, "_setup_pipe_out")):
        return
    usual = {"bind": zmq.Socket.bind_to_random_port, "connect": zmq.Socket.connect}
    places: Dict[str, str] = {}  # by the number that stands for a port  # noqa: UP006

    def bind(socket: Any, address: str, *more: Any, **others: Any) -> Any:
        number, place = os.getpid(), f"ipc://{folder}/output-{os.getpid()}"
        try:
            socket.bind(place)
        except zmq.ZMQError:  # such as for a path that is too long
            return usual["bind"](socket, address, *more, **others)
        places[f"{address}:{number}"] = place
        return number

    def connect(socket: Any, address: str) -> Any:
        return usual["connect"](socket, places.get(address, address))

    IOPubThread._setup_pipe_in = _with(
        zmq.Socket, "bind_to_random_port", bind, IOPubThread._setup_pipe_in
    )
    IOPubThread._setup_pipe_out = _with(zmq.Socket, "connect", connect, IOPubThread._setup_pipe_out)


def _with(
    kind: Any, name: str, ours: Callable[..., Any], method: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    """The method, in which sockets do this one thing our way; elsewhere they do not."""

    def call(thread: Any) -> Any:
        before = getattr(kind, name)
        setattr(kind, name, ours)
        try:
            return method(thread)
        finally:
            setattr(kind, name, before)

    return call

"""Adds up the ranks of all processes over TCP, the way a training run meets at its start.

Takes the address of rank 0, the port, the world's size and this process's rank from variables;
which ones is said on the command line, so that each language's own are used.
"""

import os
import socket
import struct
import sys
import time


def main(address: str, port: str, size: str, rank: str) -> None:
    world, me = int(size), int(rank)
    total = lead(address, int(port), world) if me == 0 else follow(address, int(port), me)
    expected = world * (world - 1) // 2
    assert total == expected, f"{total} is not {expected}"
    print(f"rank {me} of {world}: the sum is {total}", flush=True)


def lead(address: str, port: int, world: int) -> int:
    with socket.create_server((address, port)) as door:
        door.settimeout(180)
        links = [door.accept()[0] for _ in range(world - 1)]
    total = sum(struct.unpack("!i", link.recv(4, socket.MSG_WAITALL))[0] for link in links)
    for link in links:
        link.sendall(struct.pack("!i", total))
        link.close()
    return total


def follow(address: str, port: int, me: int) -> int:
    deadline = time.monotonic() + 180
    while True:
        try:
            link = socket.create_connection((address, port), timeout=180)
            break
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
    with link:
        link.sendall(struct.pack("!i", me))
        total: int = struct.unpack("!i", link.recv(4, socket.MSG_WAITALL))[0]
        return total


if __name__ == "__main__":
    main(*(os.path.expandvars(word) for word in sys.argv[1:]))

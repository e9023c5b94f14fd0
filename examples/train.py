"""A training run in small: fits a line to noisy points by gradient descent.

It does what real ones do: every process has its share of the data, gradients are averaged over all
processes in every step, rank 0 writes checkpoints, and a run that is started again goes on from the
last one. It needs nothing but Python. With PyTorch, `Peers` is `torch.distributed`: the variables
it reads (MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE) are the ones `init_process_group()` reads.
"""

import argparse
import json
import os
import random
import signal
import socket
import struct
import time

PATIENCE = 300  # seconds for the others to come up


class Peers:
    """Averages numbers over all processes, by way of rank 0."""

    def __init__(self, rank: int, world: int, address: str, port: int) -> None:
        self.rank, self.world = rank, world
        if rank == 0:
            with socket.create_server((address, port)) as door:
                door.settimeout(PATIENCE)
                self.links = [door.accept()[0] for _ in range(world - 1)]
        else:
            self.links = [_connect(address, port)]

    def mean(self, values: list[float]) -> list[float]:
        form = f"!{len(values)}d"
        if self.rank:
            self.links[0].sendall(struct.pack(form, *values))
            return _receive(self.links[0], form)
        everybody = [values, *(_receive(link, form) for link in self.links)]
        averages = [sum(column) / self.world for column in zip(*everybody, strict=True)]
        for link in self.links:
            link.sendall(struct.pack(form, *averages))
        return averages


def _connect(address: str, port: int) -> socket.socket:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return socket.create_connection((address, port), timeout=PATIENCE)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _receive(link: socket.socket, form: str) -> list[float]:
    data = link.recv(struct.calcsize(form), socket.MSG_WAITALL)
    if len(data) < struct.calcsize(form):
        raise ConnectionError("a peer has gone")
    return list(struct.unpack(form, data))


def meet(options: argparse.Namespace) -> Peers | None:
    """Alone, or one of several. Options win over variables, which differ between platforms."""
    world = int(options.world or os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        return None
    return Peers(
        int(options.rank or os.environ["RANK"]),
        world,
        options.address or os.environ["MASTER_ADDR"],
        int(options.port or os.environ["MASTER_PORT"]),
    )


def share_of(rank: int, world: int) -> list[tuple[float, float]]:
    """Points near y = 3x - 2; every process has others."""
    chance = random.Random(7)
    points = [(x := chance.uniform(-1, 1), 3 * x - 2 + chance.gauss(0, 0.1)) for _ in range(800)]
    return points[rank::world]


def gradient(points: list[tuple[float, float]], slope: float, offset: float) -> list[float]:
    """Of the mean squared error; and that error itself."""
    errors = [(slope * x + offset - y, x) for x, y in points]
    count = len(points)
    return [
        sum(2 * error * x for error, x in errors) / count,
        sum(2 * error for error, _ in errors) / count,
        sum(error * error for error, _ in errors) / count,
    ]


def load(path: str) -> tuple[int, float, float]:
    try:
        with open(path, encoding="utf-8") as file:
            state = json.load(file)
    except FileNotFoundError:
        return 0, 0.0, 0.0
    return state["step"], state["slope"], state["offset"]


def save(path: str, step: int, slope: float, offset: float) -> None:
    """Under another name first: whoever is stopped meanwhile leaves the last one whole."""
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        json.dump({"step": step, "slope": slope, "offset": offset}, file)
    os.replace(f"{path}.new", path)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--checkpoint", help="a file to go on from, and to write to")
    for name in ("rank", "world", "address", "port"):
        parser.add_argument(f"--{name}", help="in place of the variable of PyTorch")
    options = parser.parse_args()

    peers = meet(options)
    rank, world = (peers.rank, peers.world) if peers else (0, 1)
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "") or "none"
    print(f"rank {rank} of {world}, GPUs: {gpus}", flush=True)
    if rank == 0:
        print(f"learning rate {options.lr}, {options.steps} steps", flush=True)

    # Asked to stop (preempted, or its time is over): finish the step, write a checkpoint, go.
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))

    points = share_of(rank, world)
    step, slope, offset = load(options.checkpoint) if options.checkpoint else (0, 0.0, 0.0)
    if step and rank == 0:
        print(f"going on from step {step}", flush=True)
    loss = float("nan")
    while step < options.steps and not stopped:
        found = gradient(points, slope, offset)
        by_slope, by_offset, loss = peers.mean(found) if peers else found
        slope -= options.lr * by_slope
        offset -= options.lr * by_offset
        step += 1
        if rank == 0 and step % 50 == 0:
            print(f"step {step} loss {loss:.4f}", flush=True)
            if options.checkpoint:
                save(options.checkpoint, step, slope, offset)
    if rank == 0:
        if options.checkpoint:
            save(options.checkpoint, step, slope, offset)
        print(f"y = {slope:.2f}x {offset:+.2f} loss {loss:.4f}", flush=True)
    if stopped:
        raise SystemExit(128 + stopped[0])


if __name__ == "__main__":
    main()

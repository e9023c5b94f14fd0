"""Files up and down, against nginx and scp on the same machine; a folder of a million entries."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

from bench import files_listing
from bench.doors_ssh import Place, free_port, sshd
from bench.measure import Options, in_turns, median, note, timed
from bench.server import Danlu
from bench.table import Goal, Row
from danlu.sdk import Client
from danlu.sdk.uploads import Uploader

SUMMARY = "files up and down against nginx and scp, and a folder of a million entries"
MB = 1_000_000
SIZE = 1000 * MB
NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log; {user}
events {{}}
http {{
  access_log off; sendfile on; client_max_body_size 0; client_body_temp_path {folder}/body;
  server {{ listen 127.0.0.1:{port}; location / {{ root {folder}/files; dav_methods PUT; }} }}
}}
"""


def run(options: Options) -> Iterator[Row]:
    size = SIZE // 10 if options.quick else SIZE
    with ExitStack() as held:
        danlu = held.enter_context(Danlu(1))
        danlu.env["XDG_STATE_HOME"] = str(danlu.folder / "state")
        big = danlu.folder / "big"
        with big.open("wb") as file:
            for _ in range(size // MB):
                file.write(os.urandom(MB))
        client = held.enter_context(danlu.client())
        client.upload(str(big), "big")
        key = danlu.folder / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        ssh = sshd(danlu.folder, key, held)
        yield from _bytes(options, held, danlu, client, ssh, big, size)
        yield from _commands(options, danlu, ssh, big, size)
        helper = _helper(danlu)
        yield Row(
            "memory of a user's helper after all that, MB",
            helper,
            None,
            None,
            Goal("at most", 64, "MB"),
        )
        yield from files_listing.rows(options, danlu, client)


# -- bytes ---------------------------------------------------------------------------------------


def _bytes(
    options: Options,
    held: ExitStack,
    danlu: Danlu,
    client: Client,
    ssh: Place | None,
    big: Path,
    size: int,
) -> Iterator[Row]:
    port = _nginx(danlu.folder, big, held)
    head = client.wire.head("GET", "/danlu/v1/files/content?path=/userhome/big")
    address = (client.wire.address.host, client.wire.address.port)
    down: dict[str, Callable[[], float]] = {"danlu": lambda: _get(address, head, size)}
    up: dict[str, Callable[[], float]] = {"danlu": lambda: _upload(client, big, size)}
    if port is not None:
        plain = b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n"
        put = b"PUT /up HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size
        down["nginx"] = lambda: _get(("127.0.0.1", port), plain, size)
        up["nginx"] = lambda: _put(("127.0.0.1", port), put, big, size)
    if ssh is not None:
        ssh.copy(str(big), ":down")
        down["scp"] = lambda: _scp(ssh, ":down", str(danlu.folder / "by-scp"), size)
        up["scp"] = lambda: _scp(ssh, str(big), ":up", size)
    for what, subjects, nginx in (("download", down, 0.5), ("upload", up, 0.5)):
        found = in_turns(options.times(5, 2), subjects)
        for anchor, goal in (("nginx", nginx), ("scp", 0.8)):
            yield Row(
                f"{what} of one large file over HTTP, MB/s",
                median(found["danlu"]),
                median(found[anchor]) if anchor in found else None,
                anchor,
                Goal("at least", goal, "x"),
            )


def _scp(ssh: Place, source: str, target: str, size: int) -> float:
    begun = time.perf_counter()
    ssh.copy(source, target)
    return size / MB / (time.perf_counter() - begun)


def _get(address: tuple[str, int], head: bytes, size: int) -> float:
    begun = time.perf_counter()
    buffer = bytearray(1 << 20)
    with socket.create_connection(address) as link:
        link.sendall(head)
        first = link.recv(1 << 16)
        at = len(first) - first.index(b"\r\n\r\n") - 4
        assert b" 200 " in first[:20], first
        while at < size:
            got = link.recv_into(buffer)
            assert got, "the connection ended"
            at += got
    return size / MB / (time.perf_counter() - begun)


def _put(address: tuple[str, int], head: bytes, big: Path, size: int) -> float:
    begun = time.perf_counter()
    with socket.create_connection(address) as link, big.open("rb") as file:
        link.sendall(head)
        link.sendfile(file)
        answer = link.recv(1 << 16)
    assert answer.split()[1] in (b"201", b"204"), answer
    return size / MB / (time.perf_counter() - begun)


def _upload(client: Client, big: Path, size: int) -> float:
    """One PATCH, sent as fast as the socket takes it: what is measured is the server."""
    uploader = Uploader(client.wire)
    uploader.begin(size, {"path": "/userhome/up", "conflict": "overwrite"})
    headers = {
        "Tus-Resumable": "1.0.0",
        "Upload-Offset": "0",
        "Content-Type": "application/offset+octet-stream",
        "Content-Length": str(size),
    }
    head = client.wire.head("PATCH", uploader.location, headers)
    return _put((client.wire.address.host, client.wire.address.port), head, big, size)


def _nginx(folder: Path, big: Path, held: ExitStack) -> int | None:
    program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if program is None:
        note("there is no nginx to compare with; as root on Debian: apt-get install nginx-light")
        return None
    port, place = free_port(), folder / "nginx"
    (place / "files").mkdir(parents=True)
    os.link(big, place / "files/big")
    user = "user root;" if os.geteuid() == 0 else ""
    (place / "conf").write_text(NGINX.format(folder=place, port=port, user=user))
    process = subprocess.Popen(
        [program, "-c", str(place / "conf"), "-p", str(place), "-e", str(place / "error.log")]
    )
    held.callback(process.wait)
    held.callback(process.terminate)
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return port
        except ConnectionRefusedError:
            time.sleep(0.05)


# -- commands ------------------------------------------------------------------------------------


def _commands(
    options: Options, danlu: Danlu, anchor: Place | None, big: Path, size: int
) -> Iterator[Row]:
    back = danlu.folder / "back"
    many = danlu.folder / "many"
    many.mkdir()
    turn = count(1)  # other names each time: what is there already would not be copied again
    files = 1000 if options.quick else 10_000
    for number in range(files):
        (many / str(number)).write_bytes(b"x" * 1000)
    cases: list[tuple[str, float, Callable[[], object], Callable[[], object]]] = [
        (
            "danlu cp up, one large file, MB/s",
            size / MB,
            lambda: danlu.command("cp", str(big), f":by-cp-{next(turn)}"),
            lambda: anchor and anchor.copy(str(big), ":by-scp"),
        ),
        (
            "danlu cp down, one large file, MB/s",
            size / MB,
            lambda: danlu.command("cp", ":big", f"{back}-{next(turn)}"),
            lambda: anchor and anchor.copy(":by-scp", str(back)),
        ),
        (
            "danlu cp -r up, small files per second",
            files,
            lambda: _many_up(danlu, many),
            lambda: anchor and _scp_many(anchor, many, danlu.folder),
        ),
    ]
    for what, amount, ours, theirs in cases:
        subjects = {"danlu": timed(ours)} | ({"anchor": timed(theirs)} if anchor else {})
        found = in_turns(options.times(3, 1), subjects)
        other = amount / median(found["anchor"]) if anchor else None
        yield Row(what, amount / median(found["danlu"]), other, "scp", Goal("at least", 1, "x"))


def _many_up(danlu: Danlu, many: Path) -> None:
    danlu.command("cp", "-r", str(many), ":many")
    danlu.command("rm", "-r", "--forever", "--yes", "many")


def _scp_many(anchor: Place, many: Path, folder: Path) -> None:
    target = f"{anchor.user}@127.0.0.1:{anchor.folder}many-by-scp"
    words = ["scp", "-q", "-r", *anchor.options, "-P", str(anchor.port), str(many), target]
    subprocess.run(words, check=True)
    shutil.rmtree(folder / "many-by-scp", ignore_errors=True)
    place = Path(f"{anchor.folder}many-by-scp")
    if place.is_absolute():
        shutil.rmtree(place, ignore_errors=True)


def _helper(danlu: Danlu) -> float | None:
    for name in os.listdir("/proc"):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
            status = Path(f"/proc/{name}/status").read_text()
        except OSError:
            continue
        if b"danlu.files.helper" in words and f"PPid:\t{danlu.pid}\n" in status:
            line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
            return int(line.split()[1]) / 1024
    return None

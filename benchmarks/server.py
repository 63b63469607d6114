"""The server that is asked: nginx where it is installed, else a small one of ours, which is started as

python -m benchmarks.server FOLDER PORT
"""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

_NGINX = """\
daemon off;
worker_processes 1;
pid {here}/nginx.pid;
error_log {here}/error.log;
{user}
events {{ worker_connections 1024; }}
http {{
    access_log off;
    keepalive_requests 1000000;
    types {{ }}
    default_type application/json;
    client_body_temp_path {here}/body;
    proxy_temp_path {here}/proxy;
    fastcgi_temp_path {here}/fastcgi;
    uwsgi_temp_path {here}/uwsgi;
    scgi_temp_path {here}/scgi;
    server {{
        listen 127.0.0.1:{port};
        root {folder};
    }}
}}
"""
_PROCESSES = 2


@dataclass(frozen=True, slots=True)
class Server:
    url: str
    name: str


NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


@contextmanager
def serving(folder: Path, nginx: str | None = NGINX) -> Iterator[Server]:
    """The files of a folder, as JSON, while the block runs."""
    port = _free_port()
    with tempfile.TemporaryDirectory() as here:
        if nginx:
            user = "user root;" if os.geteuid() == 0 else ""
            config = _NGINX.format(here=here, port=port, folder=folder, user=user)
            Path(here, "nginx.conf").write_text(config, "utf-8")
            argv = [nginx, "-p", here, "-c", f"{here}/nginx.conf"]
        else:
            argv = [sys.executable, "-m", "benchmarks.server", str(folder), str(port)]
        started = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _wait_for(port, started)
            yield Server(f"http://127.0.0.1:{port}", "nginx" if nginx else "a server of ours (asyncio)")
        finally:
            started.terminate()
            started.wait(10)


def _free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        return int(listening.getsockname()[1])


def _wait_for(port: int, started: "subprocess.Popen[bytes]") -> None:
    for _ in range(200):
        if started.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise OSError("the server did not start")


class _Answers(asyncio.Protocol):
    """As little HTTP as a GET of a known name needs. Requests may arrive in pieces, and several at once."""

    def __init__(self, files: dict[bytes, bytes]):
        self._files = files
        self._pending = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._pending += data
        while b"\r\n\r\n" in self._pending:
            head, _, self._pending = self._pending.partition(b"\r\n\r\n")
            body = self._files.get(head.split(b" ", 2)[1])
            status = b"404 Not Found" if body is None else b"200 OK"
            self._transport.write(
                b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
                % (status, len(body or b""), body or b"")
            )


async def _serve(folder: Path, listening: socket.socket) -> None:
    files = {f"/{path.name}".encode(): path.read_bytes() for path in folder.iterdir()}
    server = await asyncio.get_running_loop().create_server(lambda: _Answers(files), sock=listening)
    await server.serve_forever()


def main(folder: str, port: str) -> None:
    """Several processes that accept from one socket; the end of the first is the end of all."""
    listening = socket.create_server(("127.0.0.1", int(port)), backlog=512)
    parent = os.getpid()
    if os.fork() == 0:
        os.setpgid(0, 0)
        asyncio.run(_until_orphaned(Path(folder), listening, parent))
    else:
        asyncio.run(_serve(Path(folder), listening))


async def _until_orphaned(folder: Path, listening: socket.socket, parent: int) -> None:
    serving = asyncio.ensure_future(_serve(folder, listening))
    while os.getppid() == parent:
        await asyncio.sleep(0.2)
    serving.cancel()


if __name__ == "__main__":
    main(*sys.argv[1:])

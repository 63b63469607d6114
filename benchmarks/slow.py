"""A model that takes its time, behind a socket, in a process of its own:

    python -m benchmarks.slow SECONDS

A question may say itself how long it takes: `It takes 0.4 s.` The server says its port, and ends with its
standard input."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ANSWER = "fine"
_TAKES = re.compile(rb"It takes ([0-9.]+) s")
_BODY = json.dumps(
    {
        "choices": [{"message": {"content": ANSWER}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    }
).encode()
_HEAD = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(_BODY)}\r\n\r\n".encode()


@contextmanager
def answering_slowly(seconds: float) -> Iterator[str]:
    """Its address, while the block runs."""
    argv = [sys.executable, "-m", "benchmarks.slow", str(seconds)]
    here = Path(__file__).parent.parent
    with subprocess.Popen(
        argv, cwd=here, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


async def _main(seconds: float) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                stated = _TAKES.search(await reader.readexactly(size))
                if wait := float(stated[1]) if stated else seconds:
                    await asyncio.sleep(wait)
                writer.write(_HEAD + _BODY)
        except (OSError, EOFError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(_main(float(sys.argv[1])))

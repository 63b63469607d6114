"""Many slow calls take hardly longer than they must: the client is not the limit."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from model_server import models, question, world

from baselinekit.clients.http import Client
from baselinekit.model.recipes import Limits, Model

SERVER = """
import asyncio, json, sys
BODY = json.dumps({"choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2}}).encode()
HEAD = b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(BODY)
async def serve(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\\r\\n\\r\\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\\r\\n")[0])
            await reader.readexactly(length)
            await asyncio.sleep(float(sys.argv[1]))
            writer.write(HEAD + BODY)
    except (OSError, EOFError):
        pass
    finally:
        writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()
asyncio.run(main())
"""


@pytest.fixture
def slow(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server in a process of its own that answers after as many seconds."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(request.param)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.kill()


def ratio(url: str, calls: int, seconds: float, at_once: int) -> float:
    """The time that it takes, as a multiple of what it must take."""
    client = Client(proxies={})
    entry = Model(openai="x", base_url=url, concurrency=at_once)
    asked = models(entry, world(client.send, sleep=client.sleep), Limits(calls=calls))
    waiting = iter(range(calls))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                number = next(waiting, None)
            if number is None:
                return
            asked.ask(question(f"number {number}"))

    threads = [threading.Thread(target=work) for _ in range(at_once)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    took = time.monotonic() - started
    client.close()
    assert asked.spent.calls == calls
    return took / (calls * seconds / at_once)


@pytest.mark.parametrize("slow", [0.1], indirect=True)
def test_256_slow_calls_at_64_take_hardly_longer_than_they_must(slow: str) -> None:
    """One client for all threads would take six times as long. The best of a few, as others work here too."""
    best = 9.0
    for _ in range(8):
        best = min(best, ratio(slow, 256, 0.1, 64))
        if best <= 1.5:
            break
    assert best <= 1.5

"""The bare client: the same requests, and nothing but them. A program of its own:

    python client.py URL COUNT JOBS

A client a thread, one TLS context for all of them: what a careful hand writes."""

import ssl
import sys
import threading
from collections.abc import Iterator

import httpx


def main(url: str, count: int, jobs: int) -> int:
    """How many answers were complete JSON bodies with status 200."""
    numbers = iter(range(count))
    lock = threading.Lock()
    context = ssl.create_default_context()
    good: list[int] = []

    def worker() -> None:
        with httpx.Client(verify=context, base_url=url) as client:
            done = sum(_asked(client, number) for number in _shared(numbers, lock))
            good.append(done)

    threads = [threading.Thread(target=worker) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(good)


def _shared(numbers: Iterator[int], lock: threading.Lock) -> Iterator[int]:
    while True:
        with lock:
            number = next(numbers, None)
        if number is None:
            return
        yield number


def _asked(client: httpx.Client, number: int) -> bool:
    response = client.get(f"/{number}.json")
    return response.status_code == 200 and response.content.endswith(b"}")


if __name__ == "__main__":
    sys.stdout.write(f"{main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))}\n")

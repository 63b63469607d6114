"""Thousands of answers that were good once, with bytes flipped, cut and inserted: each is an answer or an
error of ours."""

import gzip
import random
import socket
import sys
from pathlib import Path

from baselinekit.clients.http import Client
from baselinekit.errors import CannotReplay
from baselinekit.kinds.http import http_output, read_answer
from baselinekit.model.recipes import Request

sys.path.append(str(Path(__file__).parents[2] / "tests" / "kinds"))
from replay_world import RawServer, ReceivedRequest, http

GOOD = [
    http(200, b'{"a": [1, 2.5, "x"]}', "Content-Type: application/json"),
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    http(200, gzip.compress(b"hello" * 50), "Content-Encoding: gzip", "Content-Type: text/plain; charset=x"),
    http(302, b"", "Location: /x", "Set-Cookie: a=b; Path=/; Expires=Thu"),
]


def test_f21_send_fuzzed_answer_is_an_answer_or_cannot_replay() -> None:
    chance, server, client = random.Random(3), RawServer(), Client(proxies={})
    current = b""

    def act(connection: socket.socket, received: ReceivedRequest) -> None:
        connection.sendall(current)

    url, outcomes = server.handle("/", act), set()
    for _ in range(3_000):
        mutated = bytearray(chance.choice(GOOD))
        for _ in range(chance.randint(1, 6)):
            spot = chance.randrange(len(mutated))
            mutated[spot : spot + chance.randint(0, 3)] = chance.randbytes(chance.randint(0, 3))
        current = bytes(mutated)
        try:
            request = Request("GET", url, timeout=2)
            response = client.send(request)
            http_output(response, ["location"], read_answer(response, request).value)
            outcomes.add("answer")
        except CannotReplay as error:
            outcomes.add(error.problems[0].code)
    client.close()
    server.close()
    assert {"answer", "BK304"} <= outcomes

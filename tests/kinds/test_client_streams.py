"""Streams: read to their end, or left after the rows that are taken."""

import socket
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import pytest
from replay_world import RawServer, ReceivedRequest, http

from baselinekit.clients.http import Client
from baselinekit.errors import CannotReplay
from baselinekit.kinds.bodies import BodyWatch
from baselinekit.kinds.http import read_answer
from baselinekit.model.recipes import Request


def request_for(url: str, timeout: float = 5, **settings: Any) -> Request:
    watch = partial(BodyWatch, settings.get("parse"), settings.get("take"))
    return Request("GET", url, timeout=timeout, watch=watch, **settings)


def streaming() -> Callable[[socket.socket, ReceivedRequest], None]:
    """An event each moment, and no end."""

    def act(connection: socket.socket, received: ReceivedRequest) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")
        connection.sendall(b"Transfer-Encoding: chunked\r\n\r\n")
        for number in count():
            data = f"id: {number}\ndata: x\n\n".encode()
            connection.sendall(b"%x\r\n%b\r\n" % (len(data), data))
            time.sleep(0.01)

    return act


def test_send_endless_stream_is_left_after_taken_rows(raw: RawServer, client: Client) -> None:
    url = raw.handle("/", streaming())
    request = request_for(url, take=3)
    for _ in range(2):  # and nothing of it is taken for the next answer
        response = client.send(request)
        assert [row["id"] for row in read_answer(response, request).value] == ["0", "1", "2"]
    raw.until_closed(2)


def test_send_endless_stream_without_take_is_an_error_with_hint(raw: RawServer, client: Client) -> None:
    url = raw.handle("/", streaming())
    with pytest.raises(CannotReplay, match=r"an event stream did not end within 0\.2 s.*`take: N`") as raised:
        client.send(request_for(url, 0.2))
    assert raised.value.problems[0].code == "BK303"
    with pytest.raises(CannotReplay, match="take fewer"):
        client.send(request_for(url, 0.2, take=1000))


def test_send_take_rows_of_body_with_length(raw: RawServer, client: Client) -> None:
    body = b"\n".join(b'{"n": %d}' % number for number in range(30_000))
    url = raw.serve("/", http(200, body, "Content-Type: application/x-ndjson"), keep=True)
    for _ in range(2):
        request = request_for(url, take=2)
        assert read_answer(client.send(request), request).value == [{"n": 0}, {"n": 1}]
    whole = request_for(url)
    assert len(read_answer(client.send(whole), whole).value) == 30_000

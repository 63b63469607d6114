"""A connection that is used again: bytes left on it never become the next answer, and a connection that the
server closed meanwhile is not an error."""

import socket
import threading
import time

import pytest
from replay_world import RawServer, ReceivedRequest, http

from baselinekit.clients.http import Client
from baselinekit.errors import CannotReplay
from baselinekit.model.recipes import Request

FORGED = http(200, b"forged")
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"


@pytest.fixture
def honest(raw: RawServer) -> str:
    return raw.serve("/honest", http(200, b"honest"), keep=True)


@pytest.mark.parametrize("answer", [http(200, b"hello"), CHUNKED], ids=["length", "chunks"])
def test_kept_connection_late_second_answer_ends_connection(
    raw: RawServer, client: Client, honest: str, answer: bytes
) -> None:
    read, forged = threading.Event(), threading.Event()

    def two(connection: socket.socket, received: ReceivedRequest) -> bool:
        connection.sendall(answer)
        read.wait(20)
        connection.sendall(FORGED)
        forged.set()
        return True

    assert client.send(Request("GET", raw.handle("/two", two))).body == b"hello"
    read.set()
    assert forged.wait(20)
    assert client.send(Request("GET", honest)).body == b"honest"
    assert raw.connections == 2


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
def test_kept_connection_unexpected_body_is_not_next_answer(
    raw: RawServer, client: Client, honest: str, method: str, status: int
) -> None:
    url = raw.serve("/none", http(status) + FORGED, keep=True)
    assert client.send(Request(method, url)).body == b""
    assert client.send(Request("GET", honest)).body == b"honest"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_kept_connection_closed_by_server_is_replaced(raw: RawServer, client: Client, method: str) -> None:
    url = raw.serve("/", http(200, b"x"))  # and closes, without a word about it
    for number in range(1, 6):
        assert client.send(Request(method, url, content=b"y")).body == b"x"
        raw.until_closed(number)
    assert [received.body for received in raw.requests] == [b"y"] * 5


def hanging_up(raw: RawServer, when: int) -> str:
    """A server that closes the connection as it gets the request of that number."""

    def act(connection: socket.socket, received: ReceivedRequest) -> bool:
        if len(raw.requests) == when:
            return False
        connection.sendall(http(200))
        return True

    return raw.handle("/", act)


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_kept_connection_that_ends_idempotent_request_is_sent_again(
    raw: RawServer, client: Client, method: str
) -> None:
    url = hanging_up(raw, when=3)
    assert [client.send(Request(method, url)).status for _ in range(4)] == [200] * 4
    assert len(raw.requests) == 5


def test_kept_connection_that_ends_post_is_not_sent_again(raw: RawServer, client: Client) -> None:
    url = hanging_up(raw, when=2)
    assert client.send(Request("POST", url, content=b"pay")).status == 200
    with pytest.raises(CannotReplay, match="a POST is not sent twice by itself") as raised:
        client.send(Request("POST", url, content=b"pay"))
    assert raised.value.problems[0].code == "BK304"
    assert len(raw.requests) == 2


def test_kept_connection_late_answer_is_dropped(raw: RawServer, client: Client, honest: str) -> None:
    def late(connection: socket.socket, received: ReceivedRequest) -> bool:
        time.sleep(0.4)
        connection.sendall(FORGED)
        return True

    url = raw.handle("/late", late)
    with pytest.raises(CannotReplay, match=r"within 0\.2 s"):
        client.send(Request("GET", url, timeout=0.2))
    time.sleep(0.3)
    assert client.send(Request("GET", honest)).body == b"honest"


def test_send_large_body_refused_early_gives_answer(client: Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(http(413, b"too large"))
                time.sleep(0.1)

        thread = threading.Thread(target=refuse, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        response = client.send(Request("PUT", url, content=bytes(50_000_000), timeout=5))
        thread.join(5)
    assert (response.status, response.body) == (413, b"too large")

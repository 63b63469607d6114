"""A connection that is used again: what is left on it never becomes somebody else's answer, and a server that
has closed it meanwhile is no error."""

import socket
import threading
import time

import pytest
from replay_world import RawServer, Seen, http

from baselinekit.clients.http import Client
from baselinekit.errors import CannotReplay
from baselinekit.model.recipes import Request

FORGED = http(200, b"forged")
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"


@pytest.fixture
def honest(raw: RawServer) -> str:
    return raw.says("/honest", http(200, b"honest"), keep=True)


@pytest.mark.parametrize("answer", [http(200, b"hello"), CHUNKED], ids=["length", "chunks"])
def test_a_second_answer_at_once_is_an_error_and_never_the_next_answer(
    raw: RawServer, client: Client, honest: str, answer: bytes
) -> None:
    url = raw.says("/two", answer + FORGED, keep=True)
    with pytest.raises(CannotReplay, match="more was sent") as raised:
        client.send(Request("GET", url))
    assert raised.value.problems[0].code == "BK304"
    assert client.send(Request("GET", honest)).body == b"honest"
    assert raw.connections == 2


@pytest.mark.parametrize("answer", [http(200, b"hello"), CHUNKED], ids=["length", "chunks"])
def test_a_second_answer_that_comes_late_ends_the_connection(
    raw: RawServer, client: Client, honest: str, answer: bytes
) -> None:
    read, forged = threading.Event(), threading.Event()

    def two(connection: socket.socket, seen: Seen) -> bool:
        connection.sendall(answer)
        read.wait(20)
        connection.sendall(FORGED)
        forged.set()
        return True

    assert client.send(Request("GET", raw.does("/two", two))).body == b"hello"
    read.set()
    assert forged.wait(20)
    assert client.send(Request("GET", honest)).body == b"honest"
    assert raw.connections == 2


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
def test_a_body_where_none_may_be_is_not_the_next_answer(
    raw: RawServer, client: Client, honest: str, method: str, status: int
) -> None:
    url = raw.says("/none", http(status) + FORGED, keep=True)
    assert client.send(Request(method, url)).body == b""
    assert client.send(Request("GET", honest)).body == b"honest"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_connection_closed_in_between_is_noticed_before_anything_is_sent(
    raw: RawServer, client: Client, method: str
) -> None:
    url = raw.says("/", http(200, b"x"))  # and closes, without a word about it
    for number in range(1, 6):
        assert client.send(Request(method, url, content=b"y")).body == b"x"
        raw.until_closed(number)
    assert [seen.body for seen in raw.seen] == [b"y"] * 5


def hanging_up(raw: RawServer, when: int) -> str:
    """A server that closes the connection as it gets the request of that number."""

    def act(connection: socket.socket, seen: Seen) -> bool:
        if len(raw.seen) == when:
            return False
        connection.sendall(http(200))
        return True

    return raw.does("/", act)


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_what_may_be_asked_twice_is_when_the_connection_ends_under_it(
    raw: RawServer, client: Client, method: str
) -> None:
    url = hanging_up(raw, when=3)
    assert [client.send(Request(method, url)).status for _ in range(4)] == [200] * 4
    assert len(raw.seen) == 5


def test_a_post_is_asked_once_and_the_error_says_so(raw: RawServer, client: Client) -> None:
    url = hanging_up(raw, when=2)
    assert client.send(Request("POST", url, content=b"pay")).status == 200
    with pytest.raises(CannotReplay, match="a POST is not sent twice by itself") as raised:
        client.send(Request("POST", url, content=b"pay"))
    assert raised.value.problems[0].code == "BK304"
    assert len(raw.seen) == 2


def test_after_a_deadline_the_late_answer_is_nobodys(raw: RawServer, client: Client, honest: str) -> None:
    def late(connection: socket.socket, seen: Seen) -> bool:
        time.sleep(0.4)
        connection.sendall(FORGED)
        return True

    url = raw.does("/late", late)
    with pytest.raises(CannotReplay, match=r"within 0\.2 s"):
        client.send(Request("GET", url, timeout=0.2))
    time.sleep(0.3)
    assert client.send(Request("GET", honest)).body == b"honest"


def test_threads_share_connections(raw: RawServer, client: Client) -> None:
    url = raw.says("/", http(200, b"x"), keep=True)
    for _ in range(3):
        thread = threading.Thread(target=client.send, args=(Request("GET", url),))
        thread.start()
        thread.join(20)
    assert (raw.connections, len(raw.seen)) == (1, 3)


def test_a_server_may_refuse_a_large_body_before_it_has_read_it(client: Client) -> None:
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

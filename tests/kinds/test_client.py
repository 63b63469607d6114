"""The door for requests, against a server that keeps to nothing. F.. are rows of the list of threats."""

import gzip
import importlib.util
import logging
import random
import shutil
import socket
import ssl
import subprocess
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from replay_world import RawServer, Seen, http

from baselinekit.clients.http import Client
from baselinekit.errors import CannotReplay, NeverSent
from baselinekit.kinds.http import http_output, read_answer
from baselinekit.model.recipes import Auth, Request
from baselinekit.structs import replace

JSON = "Content-Type: application/json"


def code_of(client: Client, request: Request) -> str:
    with pytest.raises(CannotReplay) as raised:
        client.send(request)
    return raised.value.problems[0].code


def test_an_answer_comes_whole(raw: RawServer, client: Client) -> None:
    url = raw.says("/users", http(201, b'{"a": 1}', JSON, "X-Two: a", "X-Two: b"))
    response = client.send(Request("POST", f"{url}?q=1", (("X-Mine", "1"),), b"hello"))
    assert (response.status, response.body) == (201, b'{"a": 1}')
    assert [value for name, value in response.headers if name == "X-Two"] == ["a", "b"]
    assert response.seconds > 0
    (seen,) = raw.seen
    assert (seen.method, seen.target, seen.headers["x-mine"]) == ("POST", "/users?q=1", "1")
    assert seen.headers["host"] == f"127.0.0.1:{raw.port}"


def test_a_connection_is_used_again_within_a_thread(raw: RawServer, client: Client) -> None:
    url = raw.says("/", http(200, b"x"), keep=True)
    for _ in range(3):
        assert client.send(Request("GET", url)).body == b"x"
    assert raw.connections == 1


def test_a_connection_that_the_server_closed_meanwhile_is_replaced(raw: RawServer, client: Client) -> None:
    def hangs_up_the_second_time(connection: socket.socket, seen: Seen) -> bool:
        if len(raw.seen) == 2:
            return False
        connection.sendall(http(200, b"x"))
        return True

    url = raw.does("/", hangs_up_the_second_time)
    assert [client.send(Request("GET", url)).status for _ in range(2)] == [200, 200]
    assert raw.connections == 2


def test_a_post_is_not_sent_twice(raw: RawServer, client: Client) -> None:
    url = raw.does("/", lambda connection, seen: seen.method == "GET" and not connection.sendall(http(200)))
    client.send(Request("GET", url))
    assert code_of(client, Request("POST", url, content=b"x")) == "BK304"
    assert [seen.method for seen in raw.seen] == ["GET", "POST"]


@pytest.mark.parametrize(
    ("raw_answer", "code"),
    [
        pytest.param(b"", "BK304", id="nothing"),
        pytest.param(b"hello\r\n\r\n", "BK304", id="no HTTP"),
        pytest.param(http(200, b"short", length=100), "BK304", id="F21 shorter than its length"),
        pytest.param(http(200, b"longer", length=3), "BK304", id="longer than its length"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "BK304", id="two lengths"
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", "BK304", id="a chunk cut off"
        ),
        pytest.param(
            http(200, gzip.compress(b"hello" * 99)[:-9], "Content-Encoding: gzip"),
            "BK304",
            id="F21 gzip cut off",
        ),
        pytest.param(http(200, b"plain", "Content-Encoding: gzip"), "BK306", id="gzip that is none"),
        pytest.param(http(200, b"...", "Content-Encoding: br"), "BK306", id="F19 another coding"),
        pytest.param(
            http(200, gzip.compress(gzip.compress(b"x")), "Content-Encoding: gzip, gzip"),
            "BK306",
            id="two layers",
        ),
        pytest.param(
            http(200, gzip.compress(b"") * 101, "Content-Encoding: gzip"), "BK306", id="endless members"
        ),
        pytest.param(http(200, b"", length=99_999_999_999), "BK305", id="F20 announced too large"),
        pytest.param(http(200, b"", f"X: {'x' * 70_000}"), "BK305", id="large headers"),
        pytest.param(http(200, b"", f"X: {'x' * 300_000}"), "BK305", id="larger headers"),
    ],
)
def test_an_answer_that_cannot_be_used_is_an_error(
    raw: RawServer, client: Client, raw_answer: bytes, code: str
) -> None:
    assert code_of(client, Request("GET", raw.says("/", raw_answer))) == code


@pytest.mark.slow
def test_f19_a_bomb_does_not_go_off(raw: RawServer, client: Client) -> None:
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    small = b"".join(bomb.compress(bytes(1_000_000)) for _ in range(100)) + bomb.flush()
    started = time.monotonic()
    assert (
        code_of(client, Request("GET", raw.says("/", http(200, small, "Content-Encoding: gzip")))) == "BK305"
    )
    assert time.monotonic() - started < 1


def test_f20_an_endless_body_ends_at_the_limit(raw: RawServer, client: Client) -> None:
    def floods(connection: socket.socket, seen: Seen) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while not raw.stopped.is_set():
            connection.sendall(bytes(65_536))

    assert code_of(client, Request("GET", raw.does("/", floods), max_body=1_000_000)) == "BK305"


@pytest.mark.parametrize(
    "encoded",
    [
        pytest.param(("gzip", gzip.compress(b"hello")), id="gzip"),
        pytest.param(("x-gzip", gzip.compress(b"hel") + gzip.compress(b"lo")), id="members"),
        pytest.param(("deflate", zlib.compress(b"hello")), id="deflate"),
        pytest.param(("deflate", zlib.compress(b"hello")[2:-4]), id="raw deflate"),
        pytest.param(("identity", b"hello"), id="identity"),
    ],
)
def test_what_was_compressed_comes_out(raw: RawServer, client: Client, encoded: tuple[str, bytes]) -> None:
    url = raw.says("/", http(200, encoded[1], f"Content-Encoding: {encoded[0]}"))
    assert client.send(Request("GET", url)).body == b"hello"


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
def test_answers_without_a_body(raw: RawServer, client: Client, method: str, status: int) -> None:
    head = f"HTTP/1.1 {status} Said\r\n".encode()
    head += b"Content-Length: 500\r\nContent-Encoding: gzip\r\n" if status != 204 else b""
    url = raw.says("/", head + b"\r\n", keep=True)
    assert client.send(Request(method, url)).body == b""
    assert client.send(Request(method, url)).status == status
    assert raw.connections == 1


def test_early_hints_are_passed_over(raw: RawServer, client: Client) -> None:
    url = raw.says("/", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 3 + http(200, b"hello"))
    assert client.send(Request("GET", url)).body == b"hello"


def drips(first: bytes, drop: bytes, server: RawServer) -> str:
    def act(connection: socket.socket, seen: Seen) -> None:
        connection.sendall(first)
        while not server.stopped.wait(0.05):
            connection.sendall(drop)

    return server.does("/", act)


@pytest.mark.parametrize(
    ("first", "drop"),
    [
        pytest.param(b"", b"", id="silence"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX: ", b"x", id="head"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b"x", id="body"),
        pytest.param(b"", b"HTTP/1.1 102 Processing\r\n\r\n", id="interim answers"),
    ],
)
def test_f18_the_time_limit_is_for_all_of_it(
    raw: RawServer, client: Client, first: bytes, drop: bytes
) -> None:
    started = time.monotonic()
    assert code_of(client, Request("GET", drips(first, drop, raw), timeout=0.3)) == "BK303"
    assert 0.25 < time.monotonic() - started < 10


def test_sending_too_counts_to_the_time(raw: RawServer, client: Client) -> None:
    raw_listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{raw_listener.getsockname()[1]}/"
    with raw_listener:  # it takes the connection and never reads
        started = time.monotonic()
        assert code_of(client, Request("PUT", url, content=bytes(30_000_000), timeout=0.3)) == "BK303"
    assert time.monotonic() - started < 10


def test_nobody_listens(client: Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(CannotReplay, match="Connection refused: start the service") as raised:
        client.send(Request("GET", f"http://127.0.0.1:{port}/path?key=hidden"))
    assert raised.value.problems[0].code == "BK301"
    assert "hidden" not in str(raised.value)


def test_a_name_that_nobody_knows(client: Client) -> None:
    assert code_of(client, Request("GET", "http://nowhere.invalid/", timeout=10)) == "BK301"


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_name_server_that_does_not_answer_is_abandoned(is_cancelled: bool) -> None:
    go_on = threading.Event()

    def slow(host: str, port: int) -> list[str]:
        go_on.wait(60)
        return ["127.0.0.1"]

    client = Client({}, slow)
    if is_cancelled:
        threading.Timer(0.2, client.cancel).start()
    started = time.monotonic()
    request = Request("GET", "http://slow.test/", timeout=30 if is_cancelled else 0.3)
    with pytest.raises(CannotReplay, match="interrupted" if is_cancelled else r"no connection within 0\.3 s"):
        client.send(request)
    assert time.monotonic() - started < 4
    go_on.set()
    client.close()


def test_cancel_cuts_a_request_off(raw: RawServer, client: Client) -> None:
    url = drips(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b"x", raw)
    threading.Timer(0.2, client.cancel).start()
    started = time.monotonic()
    with pytest.raises(CannotReplay, match="BK330") as cut_off:
        client.send(Request("GET", url, timeout=30))
    assert not isinstance(cut_off.value, NeverSent)
    assert time.monotonic() - started < 10
    with pytest.raises(NeverSent, match="BK330"):
        client.send(Request("GET", url))
    client.sleep(30)
    assert time.monotonic() - started < 20


def test_threads_do_not_wait_for_each_other(raw: RawServer, client: Client) -> None:
    together = threading.Barrier(16)

    def when_all_are_there(connection: socket.socket, seen: Seen) -> None:
        together.wait(20)
        connection.sendall(http(200))

    request = Request("GET", raw.does("/", when_all_are_there))
    with ThreadPoolExecutor(16) as threads:
        assert [one.status for one in threads.map(client.send, [request] * 16)] == [200] * 16


def test_digest_answers_the_challenge(raw: RawServer, client: Client) -> None:
    challenge = 'WWW-Authenticate: Digest realm="r", nonce="n", qop="auth", algorithm=MD5'

    def act(connection: socket.socket, seen: Seen) -> bool:
        allowed = 'username="ada"' in seen.headers.get("authorization", "")
        connection.sendall(http(200, b"in") if allowed else http(401, b"out", challenge))
        return True

    request = Request("POST", raw.does("/secret", act), (), b"x", digest=Auth("digest", "ada", "pw"))
    assert client.send(request).body == b"in"
    assert [seen.body for seen in raw.seen] == [b"x", b"x"]
    assert 'uri="/secret"' in raw.seen[1].headers["authorization"]
    other = raw.says("/basic", http(401, b"no", "WWW-Authenticate: Basic"))
    assert client.send(replace(request, url=other)).status == 401


def test_a_proxy_is_asked_but_never_for_this_machine(raw: RawServer) -> None:
    raw.routes["http://api.test/users"] = lambda connection, seen: connection.sendall(http(200, b"via"))
    raw.says("/own", http(200, b"own"))
    client = Client({"http": f"http://me:pw@127.0.0.1:{raw.port}", "no": "other.test"})
    assert client.send(Request("GET", "http://api.test/users")).body == b"via"
    assert raw.seen[0].headers["proxy-authorization"].startswith("Basic ")
    assert client.send(Request("GET", f"{raw.url}/own")).body == b"own"
    client.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("tls") / "own.pem"
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        "-addext",
    ]
    command += [names, "-keyout", str(file), "-out", f"{file}.crt"]
    found = shutil.which("openssl") is not None
    if not found or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no openssl that can make a certificate")
    file.write_bytes(file.read_bytes() + Path(f"{file}.crt").read_bytes())
    return file


def tls_server(certificate: Path) -> RawServer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = RawServer(tls=context)
    server.says("/", http(200, b"hello"), keep=True)
    return server


def test_a_proxy_for_tls_hands_the_bytes_on(certificate: Path, raw: RawServer) -> None:
    target = tls_server(certificate)

    def tunnel(connection: socket.socket, seen: Seen) -> None:
        connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with socket.create_connection(("127.0.0.1", target.port)) as onward:
            back = threading.Thread(target=pump, args=(onward, connection), daemon=True)
            back.start()
            pump(connection, onward)
            back.join()

    raw.routes["api.test:443"] = tunnel
    client = Client({"https": raw.url})
    request = Request("GET", "https://api.test/", verify=False)
    try:
        assert [client.send(request).body for _ in range(2)] == [b"hello", b"hello"]
        assert [seen.method for seen in raw.seen] == ["CONNECT"]
    finally:
        client.close()
        target.close()


def pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def test_whatever_comes_is_an_answer_or_an_error_of_ours(raw: RawServer, client: Client) -> None:
    good = [
        http(200, b'{"a": [1, 2.5, "x"]}', JSON),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        http(
            200, gzip.compress(b"hello" * 50), "Content-Encoding: gzip", "Content-Type: text/plain; charset=x"
        ),
        http(302, b"", "Location: /x", "Set-Cookie: a=b; Path=/; Expires=Thu"),
    ]
    chance = random.Random(3)
    current = b""

    def act(connection: socket.socket, seen: Seen) -> None:
        connection.sendall(current)

    url = raw.does("/", act)
    outcomes = set()
    for _ in range(300):
        mutated = bytearray(chance.choice(good))
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
    assert {"answer", "BK304"} <= outcomes


def test_f49_nothing_of_a_request_is_logged(
    raw: RawServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    url = raw.says("/", http(200))
    with caplog.at_level(logging.DEBUG):
        client.send(Request("GET", f"{url}?key=HUNTER2", (("Authorization", "HUNTER2"),)))
    assert "HUNTER2" not in caplog.text


def test_tls_is_verified_unless_told_otherwise(certificate: Path, client: Client) -> None:
    server = tls_server(certificate)
    request = Request("GET", f"https://127.0.0.1:{server.port}/")
    try:
        assert code_of(client, request) == "BK302"
        assert client.send(replace(request, verify=False)).body == b"hello"
        trusting = replace(request, verify=f"{certificate}.crt", cert=str(certificate))
        assert client.send(trusting).body == b"hello"
        assert code_of(client, replace(request, verify="/nowhere.pem")) == "BK302"
    finally:
        server.close()


def test_f18_a_tls_handshake_that_never_ends_is_ended(client: Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:  # it takes the connection and says nothing
        request = Request("GET", f"https://127.0.0.1:{listener.getsockname()[1]}/", timeout=0.3)
        started = time.monotonic()
        assert code_of(client, request) == "BK301"
        assert time.monotonic() - started < 10


def test_cancel_cuts_a_tls_handshake_off(client: Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        request = Request("GET", f"https://127.0.0.1:{listener.getsockname()[1]}/", timeout=30)
        threading.Timer(0.5, client.cancel).start()
        started = time.monotonic()
        assert code_of(client, request) == "BK330"
        assert time.monotonic() - started < 10


def test_tls_is_not_spoken_on_a_plain_port(client: Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answers_in_http() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(http(400, b"this is plain HTTP"))

        thread = threading.Thread(target=answers_in_http, daemon=True)
        thread.start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        with pytest.raises(CannotReplay, match=r"BK302 .*: a port without TLS is one for http://"):
            client.send(Request("GET", url, timeout=5))
        thread.join(5)


def test_a_port_for_https_is_told_to_who_writes_http(raw: RawServer, client: Client) -> None:
    url = raw.says("/", b"\x15\x03\x03\x00\x02\x02\x46")  # an alert: not a message of this protocol
    with pytest.raises(CannotReplay, match=r"BK302 .*: the port speaks TLS, .*: write https://"):
        client.send(Request("GET", url))


@pytest.mark.skipif(importlib.util.find_spec("h2") is not None, reason="h2 is installed")
def test_http2_says_what_it_needs(client: Client) -> None:
    with pytest.raises(CannotReplay, match="pip install"):
        client.send(Request("GET", "https://127.0.0.1:1/", http2=True))

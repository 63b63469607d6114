"""The HTTP client against a server that breaks every rule. Numbers like f18 are rows of docs/faults.md."""

import gzip
import logging
import shutil
import socket
import ssl
import subprocess
import threading
import time
import zlib
from contextlib import suppress
from pathlib import Path

import pytest
from replay_world import RawServer, ReceivedRequest, http

from baselinekit.clients.http import Client, proxy_for
from baselinekit.errors import CannotReplay, NeverSent
from baselinekit.model.recipes import Auth, Request
from baselinekit.structs import replace


def code_of(client: Client, request: Request) -> str:
    with pytest.raises(CannotReplay) as raised:
        client.send(request)
    return raised.value.problems[0].code


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
def test_send_decodes_compressed_body(raw: RawServer, client: Client, encoded: tuple[str, bytes]) -> None:
    url = raw.serve("/", http(200, encoded[1], f"Content-Encoding: {encoded[0]}"))
    assert client.send(Request("GET", url)).body == b"hello"


def drips(first: bytes, drop: bytes, server: RawServer) -> str:
    def act(connection: socket.socket, received: ReceivedRequest) -> None:
        connection.sendall(first)
        while not server.stopped.wait(0.05):
            connection.sendall(drop)

    return server.handle("/", act)


def test_send_timeout_includes_sending_the_body(raw: RawServer, client: Client) -> None:
    raw_listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{raw_listener.getsockname()[1]}/"
    with raw_listener:  # it takes the connection and never reads
        started = time.monotonic()
        assert code_of(client, Request("PUT", url, content=bytes(30_000_000), timeout=0.3)) == "BK303"
    assert time.monotonic() - started < 10


def test_send_without_listener_is_an_error_without_query(client: Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(CannotReplay, match="Connection refused: start the service") as raised:
        client.send(Request("GET", f"http://127.0.0.1:{port}/path?key=hidden"))
    assert raised.value.problems[0].code == "BK301"
    assert "hidden" not in str(raised.value)


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_send_slow_name_server_is_abandoned(is_cancelled: bool) -> None:
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


def test_cancel_ends_running_request(raw: RawServer, client: Client) -> None:
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


def test_send_digest_answers_challenge(raw: RawServer, client: Client) -> None:
    challenge = 'WWW-Authenticate: Digest realm="r", nonce="n", qop="auth", algorithm=MD5'

    def act(connection: socket.socket, received: ReceivedRequest) -> bool:
        allowed = 'username="ada"' in received.headers.get("authorization", "")
        connection.sendall(http(200, b"in") if allowed else http(401, b"out", challenge))
        return True

    request = Request("POST", raw.handle("/secret", act), (), b"x", digest=Auth("digest", "ada", "pw"))
    assert client.send(request).body == b"in"
    assert [received.body for received in raw.requests] == [b"x", b"x"]
    assert 'uri="/secret"' in raw.requests[1].headers["authorization"]
    other = raw.serve("/basic", http(401, b"no", "WWW-Authenticate: Basic"))
    assert client.send(replace(request, url=other)).status == 401


def test_send_uses_proxy_but_not_for_loopback(raw: RawServer) -> None:
    raw.routes["http://api.test/users"] = lambda connection, received: connection.sendall(http(200, b"via"))
    raw.serve("/own", http(200, b"own"))
    client = Client({"http": f"http://me:pw@127.0.0.1:{raw.port}", "no": "other.test"})
    assert client.send(Request("GET", "http://api.test/users")).body == b"via"
    assert raw.requests[0].headers["proxy-authorization"].startswith("Basic ")
    assert client.send(Request("GET", f"{raw.url}/own")).body == b"own"
    client.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("tls") / "own.pem"
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext"
    command = [*words.split(), "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(file)]
    if (
        shutil.which("openssl") is None
        or subprocess.run([*command, "-out", f"{file}.crt"], capture_output=True).returncode
    ):
        pytest.skip("no openssl that can make a certificate")
    file.write_bytes(file.read_bytes() + Path(f"{file}.crt").read_bytes())
    return file


def tls_server(certificate: Path) -> RawServer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = RawServer(tls=context)
    server.serve("/", http(200, b"hello"), keep=True)
    return server


def test_send_https_goes_through_proxy_tunnel(certificate: Path, raw: RawServer) -> None:
    target = tls_server(certificate)

    def tunnel(connection: socket.socket, received: ReceivedRequest) -> None:
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
        assert [received.method for received in raw.requests] == ["CONNECT"]
    finally:
        client.close()
        target.close()


def pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def test_f49_send_logs_nothing_of_request(
    raw: RawServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    url = raw.serve("/", http(200))
    with caplog.at_level(logging.DEBUG):
        client.send(Request("GET", f"{url}?key=HUNTER2", (("Authorization", "HUNTER2"),)))
    assert "HUNTER2" not in caplog.text


def test_send_verifies_tls_unless_turned_off(certificate: Path, client: Client) -> None:
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


def test_f18_send_endless_tls_handshake_times_out(client: Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:  # it takes the connection and sends nothing
        request = Request("GET", f"https://127.0.0.1:{listener.getsockname()[1]}/", timeout=0.3)
        started = time.monotonic()
        assert code_of(client, request) == "BK301"
        assert time.monotonic() - started < 10


def test_send_https_to_port_of_http_names_it(client: Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer_in_http() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(http(400, b"this is plain HTTP"))

        threading.Thread(target=answer_in_http, daemon=True).start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        with pytest.raises(CannotReplay, match=r"BK302 .*: a port without TLS is one for http://"):
            client.send(Request("GET", url, timeout=5))


# Which proxy a request goes through.

SET = {"http": "http://p:1", "all": "socks5://a:2", "no": "skip.test, .inner.test,10.0.0.1"}


@pytest.mark.parametrize(
    ("scheme", "host", "proxy"),
    [
        ("http", "api.test", "http://p:1"),
        ("https", "api.test", "socks5://a:2"),
        ("http", "localhost", None),
        ("http", "127.0.0.1", None),
        ("http", "127.8.8.8", None),
        ("https", "::1", None),
        ("http", "skip.test", None),
        ("http", "a.skip.test", None),
        ("http", "noskip.test", "http://p:1"),
        ("http", "x.inner.test", None),
        ("http", "10.0.0.1", None),
    ],
)
def test_proxy_for_scheme_and_host(scheme: str, host: str, proxy: str | None) -> None:
    assert proxy_for(scheme, host, SET) == proxy


def test_proxy_for_without_proxy_or_with_star_exception() -> None:
    assert proxy_for("http", "api.test", {}) is None
    assert proxy_for("http", "api.test", {"http": "p:1"}) == "http://p:1"
    assert proxy_for("http", "api.test", {"http": "p:1", "no": "*"}) is None


@pytest.mark.parametrize(
    "proxy",
    ["http://ada:pass@[x", "http://h:99999", "h:x", "http://", "http://h:0", "ftp://h", "socks5://[x"],
)
def test_proxy_for_invalid_address_is_an_error(proxy: str) -> None:
    with pytest.raises(
        CannotReplay, match=r"BK301 .* is not the address of a proxy: correct HTTP_PROXY"
    ) as raised:
        proxy_for("http", "api.test", {"all": proxy})
    assert "pass" not in str(raised.value)

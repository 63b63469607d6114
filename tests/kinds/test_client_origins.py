"""Where requests may go: decided on the address that is connected to, which was resolved once (F16, F17)."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from replay_world import RawServer, http

from baselinekit.clients.http import Client
from baselinekit.clients.trust import Trust, origins_in
from baselinekit.errors import CannotReplay, Problem, Refused
from baselinekit.kinds.dispatch import replay
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.settings import Clients, Setting
from baselinekit.model.recipes import HttpRequest, Recipe, Request
from baselinekit.structs import replace

META = "169.254.169.254"


class Names:
    """A name server: the addresses of each name, look-up by look-up, and the names that were looked up."""

    def __init__(self, **names: Sequence[Sequence[str]]):
        self.names = {name.replace("_", "."): list(answers) for name, answers in names.items()}
        self.lookups: list[str] = []

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.lookups.append(host)
        answers = self.names.get(host)
        if answers is None:
            raise OSError(f"{host} is not known")
        return answers.pop(0) if len(answers) > 1 else answers[0]


def request_for(url: str, trust: Trust) -> Request:
    return Request("GET", url, admit=partial(trust.check_address, url), timeout=5)


def sent(names: Names, url: str, trust: Trust, proxies: dict[str, str] | None = None) -> int:
    client = Client(proxies or {}, names)
    try:
        return client.send(request_for(url, trust)).status
    finally:
        client.close()


def refused(names: Names, url: str, trust: Trust, proxies: dict[str, str] | None = None) -> str:
    with pytest.raises(Refused) as raised:
        sent(names, url, trust, proxies)
    assert raised.value.exit_code == 4
    (problem,) = raised.value.problems
    assert problem.code == "BK407"
    return problem.message


DESK, CI = Trust(), Trust(ci=True)
RESTRICTED = [META, "169.254.0.1", "fe80::1%lo", "::ffff:169.254.169.254", "fd00:ec2::254", "100.100.100.200"]
PRIVATE = ["10.0.0.1", "172.16.0.1", "192.168.1.1", "fc00::1", "100.64.0.1", "::ffff:10.0.0.1"]


@pytest.mark.parametrize("address", RESTRICTED)
def test_f16_name_resolving_to_metadata_address_is_refused(address: str) -> None:
    for trust in (DESK, CI, Trust(named_origins=origins_in(["http://inner.test"]))):
        what = refused(Names(inner_test=[[address]]), "http://inner.test/x", trust)
        assert what.startswith(f"http://inner.test:80 leads to {address}, which is a link-local address")


@pytest.mark.parametrize("address", PRIVATE)
def test_f16_private_address_in_ci_must_be_configured(address: str) -> None:
    what = refused(Names(inner_test=[[address]]), "http://inner.test/x", CI)
    assert "is in a private network, which is closed in CI, and the configuration does not name it" in what


@pytest.mark.parametrize(
    "trust",
    [
        DESK,
        Trust(ci=True, named_origins=origins_in(["http://inner.test:8"])),
        Trust(ci=True, configured_origins=origins_in(["http://inner.test:8"])),
        Trust(ci=True, allow_hosts=("inner.test",)),
        Trust(ci=True, allow_hosts=("*.test",)),
    ],
)
def test_f16_private_address_of_named_origin_is_allowed(trust: Trust) -> None:
    for address in PRIVATE:
        trust.check_address("http://inner.test:8/x", address)
        if trust.named_origins or trust.configured_origins:
            with pytest.raises(Refused):
                trust.check_address("http://inner.test:9/x", address)


def test_f16_loopback_and_public_addresses_are_allowed(raw: RawServer) -> None:
    raw.serve("/x", http(200))
    for trust in (DESK, CI):
        assert sent(Names(own_test=[["127.0.0.1"]]), f"http://own.test:{raw.port}/x", trust) == 200
        for address in ("8.8.8.8", "2606:4700::1111", "127.0.0.1", "::1", "0.0.0.0"):
            trust.check_address("http://any.test/x", address)
    assert raw.requests[0].headers["host"] == f"own.test:{raw.port}", "the name stays in the request"


def test_f16_checked_address_is_the_connected_address(raw: RawServer) -> None:
    """A name server that answers differently the second time (DNS rebinding) is asked only once."""
    raw.serve("/x", http(200))
    names = Names(flips_test=[["127.0.0.1"], [META]])
    assert sent(names, f"http://flips.test:{raw.port}/x", CI) == 200
    assert names.lookups == ["flips.test"]


def test_f16_one_refused_address_refuses_the_name(raw: RawServer) -> None:
    for found in ([META, "127.0.0.1"], ["127.0.0.1", META]):
        refused(Names(mixed_test=[found]), f"http://mixed.test:{raw.port}/x", DESK)
    assert raw.connections == 0


def test_send_tries_next_address_after_refused_connection(raw: RawServer) -> None:
    raw.serve("/x", http(200))
    names = Names(two_test=[["127.9.9.9", "127.0.0.1"]])
    assert sent(names, f"http://two.test:{raw.port}/x", CI) == 200
    with pytest.raises(CannotReplay, match="no connection: Connection refused"):
        sent(Names(two_test=[["127.9.9.9", "127.8.8.8"]]), f"http://two.test:{raw.port}/x", CI)


def test_f16_kept_connection_is_checked_again(raw: RawServer) -> None:
    raw.serve("/x", http(200), keep=True)
    names = Names(own_test=[["127.0.0.1"]])
    client = Client({}, names)
    url = f"http://own.test:{raw.port}/x"
    admitted: list[str | None] = []
    client.send(Request("GET", url, admit=admitted.append))
    client.send(Request("GET", url, admit=admitted.append))
    client.close()
    assert (raw.connections, admitted) == (1, ["127.0.0.1", "127.0.0.1"])


def test_f16_kept_connection_grants_nothing_to_next_request(raw: RawServer) -> None:
    """Nothing of a refused request goes out, and an admitted request still works."""
    raw.serve("/x", http(200), keep=True)
    client = Client({}, Names(own_test=[["127.0.0.1"]]))
    url = f"http://own.test:{raw.port}/x"

    def nowhere(address: str | None) -> None:
        raise Refused(Problem("BK407", f"not to {address}"))

    free = Request("GET", url, admit=lambda address: None)
    bound = Request("GET", url, admit=nowhere)
    client.send(free)
    for _ in range(2):
        with pytest.raises(Refused, match="not to 127"):
            client.send(bound)
    assert len(raw.requests) == 1
    assert client.send(free).status == 200
    client.close()


def test_f16_metadata_address_needs_exact_name() -> None:
    named = Trust(named_origins=origins_in([f"http://{META}", "http://metadata.goog"]))
    named.check_address(f"http://{META}/latest", META)
    named.check_address("http://metadata.goog/x", META)
    Trust(allow_hosts=(META,)).check_address(f"http://{META}/latest", META)
    for trust, url in (
        (named, "http://other.test/"),
        (named, f"http://{META}:8080/"),
        (named, "http://2852039166/"),
        (Trust(allow_hosts=("*.test", "*.goog")), "http://inner.test/"),
        (Trust(allow_hosts=("*.google.internal",)), "http://metadata.google.internal/"),
        (Trust(allow_hosts=("inner.test",)), "http://inner.test/"),
    ):
        with pytest.raises(Refused):
            trust.check_address(url, META)


@pytest.mark.parametrize(
    "host", [META, "2852039166", "0xA9FEA9FE", "[::ffff:a9fe:a9fe]", "metadata.google.internal", "inner.test"]
)
def test_f16_proxied_request_checks_url_and_resolved_address(raw: RawServer, host: str) -> None:
    proxies = {"http": f"http://127.0.0.1:{raw.port}"}
    refused(Names(inner_test=[[META]]), f"http://{host}/x", DESK, proxies)
    assert raw.connections == 0


def test_f16_name_known_only_to_proxy_is_sent_to_it(raw: RawServer) -> None:
    raw.serve("http://unknown.test/x", http(200))
    names = Names()
    proxies = {"http": f"http://127.0.0.1:{raw.port}"}
    assert sent(names, "http://unknown.test/x", CI, proxies) == 200
    assert names.lookups == ["unknown.test"], "not the proxy's own address: the operator has named it"


def recipe(url: str, **execution: Any) -> Recipe:
    return Recipe(HttpRequest(url=url), HttpExecution("http", **execution))


@pytest.mark.parametrize(
    ("target", "trust"),
    [("http://169.254.169.254/", DESK), ("http://inner.test/", DESK), ("http://lan.test/", CI)],
)
def test_f17_redirect_to_refused_address_is_refused(
    setting: Setting, raw: RawServer, target: str, trust: Trust
) -> None:
    url = raw.serve("/moved", http(302, b"", f"Location: {target}"))
    client = Client({}, Names(inner_test=[[META]], lan_test=[["10.0.0.1"]], **{"127_0_0_1": [["127.0.0.1"]]}))
    changed = replace(
        setting, trust=trust, clients=Clients(client.send, setting.clients.execute, client.sleep)
    )
    with pytest.raises(Refused) as raised:
        replay(recipe(url, redirects=3), changed)
    client.close()
    assert raised.value.problems[0].code == "BK407"
    assert len(raw.requests) == 1

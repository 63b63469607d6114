"""What a service, or a file under test, does over several requests: it leads elsewhere, hands out cookies,
is slow, or says what is more than text. The real command, and what the servers saw of it."""

import json
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attacked import Attacked
from routes import named
from server import TEXT, HostileServer, Peer, kept, whole

pytestmark = pytest.mark.slow

TOKEN = "tok-3f9a1c77e0"
ANY = {"status": 200}


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer() as server:
        yield server


@pytest.fixture
def other() -> Iterator[HostileServer]:
    """Another origin, to which nothing may come that was not meant for it."""
    with HostileServer(otherwise=kept(whole(b"other", TEXT))) as other:
        yield other


@pytest.fixture
def project(tmp_path: Path, server: HostileServer) -> Attacked:
    return Attacked(tmp_path, server)


def asking(endpoint: str, execution: dict[str, Any] | None = None, **asked: Any) -> dict[str, Any]:
    return {"input": {"endpoint": endpoint, **asked}, "execution": {"type": "http", **(execution or {})}}


def asking_url(url: str, **asked: Any) -> dict[str, Any]:
    return {"input": {"url": url, **asked}, "execution": {"type": "http"}}


ASTRAY = {
    "the-rest-of-a-user-name": asking("@127.0.0.1:{port}/x"),
    "the-rest-of-a-host": asking(".evil.test/x"),
    "a-user-name": asking_url("http://good.test@127.0.0.1:{port}/x"),
    "a-backslash": asking_url("http://127.0.0.1:{port}\\@good.test/x"),
    "a-tab": asking_url("http://127.0.0.1:{port}\t/x"),
    "a-file": asking_url("file:///etc/passwd"),
    "the-environment": asking_url("http://good.test/x?{{HOME}}"),
}


def test_f16_request_to_an_address_not_allowed_is_not_sent(project: Attacked, other: HostileServer) -> None:
    project.configure(base_url=other.url)
    for name, current in ASTRAY.items():
        project.baseline(name, ANY, json.loads(json.dumps(current).replace("{port}", str(other.port))))
    ran = project.run("compare", base_url="")
    assert ran.exit_code == 2
    assert [name for name in ASTRAY if f"{name}.yaml" not in ran.output] == [], "each is told"
    assert other.connections == 0
    for name in ASTRAY:
        (project.folder / f"baselines/{name}.yaml").unlink()
    project.configure(allow_hosts=["good.test"])
    project.baseline("elsewhere", ANY, asking_url(f"{other.url}/x"))
    assert project.run("compare", base_url="").exit_code == 4
    assert other.connections == 0


def moved(to: str, status: int = 302) -> bytes:
    return whole(b"", f"Location: {to}", "Set-Cookie: session=abc", status=f"{status} Moved")


def test_f17_redirect_is_compared_and_not_followed_by_default(
    project: Attacked, server: HostileServer, other: HostileServer
) -> None:
    server.routes["/moved"] = moved(f"{other.url}/x")
    stored = {"status": 302, "headers": {"location": f"{other.url}/x"}, "body": ""}
    project.baseline("moved", stored, asking("/moved"))
    assert project.run("compare").exit_code == 0
    assert other.connections == 0


def test_f17_redirect_to_a_host_not_allowed_is_refused(
    project: Attacked, server: HostileServer, other: HostileServer
) -> None:
    server.routes["/moved"] = moved(f"{other.url}/x")
    project.configure(allow_hosts=[f"127.0.0.1:{server.port}"])
    project.baseline("moved", ANY, asking("/moved", {"redirects": True}))
    assert project.run("compare").exit_code == 4
    assert other.connections == 0


LEADS_NOWHERE = {
    "a-file": "file:///etc/passwd",
    "a-script": "javascript:alert(1)",
    "a-user": "http://user:password@127.0.0.1/",
    "a-backslash": "http://127.0.0.1\\@evil.test/",
    "an-escape": "http://\x1b]52;c;aGk=\x07/",
    "no-port": "http://127.0.0.1:99999999/",
    "a-bracket": "http://[::1/",
    "itself": "/itself",
}


def test_f17_redirect_to_an_invalid_address_is_an_error(project: Attacked, server: HostileServer) -> None:
    for name, to in LEADS_NOWHERE.items():
        server.routes[f"/{name}"] = kept(moved(to))
        project.baseline(name, ANY, asking(f"/{name}", {"redirects": 3}))
    ran = project.run("compare", "--json", "--no-record")
    assert ran.outcomes == dict.fromkeys(LEADS_NOWHERE, ("error", "BK308"))
    assert len(server.requests("/itself")) == 4
    assert "password" not in ran.output


def test_f49_failing_request_shows_no_secret(project: Attacked, server: HostileServer) -> None:
    server.routes["/broken"] = named("reset-in-the-body").act
    project.baseline("broken", ANY, asking("/broken?api_key={{TOKEN}}", {"headers": {"X-Key": "{{TOKEN}}"}}))
    ran = project.run("compare", "-v", "--secret", f"TOKEN={TOKEN}", env={"BASELINEKIT_TRACEBACK": "1"})
    assert ran.exit_code == 3
    assert TOKEN in [seen.headers.get("x-key") for seen in server.requests("/broken")], "it was sent"
    assert TOKEN not in ran.output
    project.baseline("user", ANY, asking_url("http://me:hunter2@127.0.0.1/"))
    refused = project.run("compare", "-v", "--secret", f"TOKEN={TOKEN}")
    assert (refused.exit_code, "hunter2" in refused.output) == (2, False)


def test_f50_cookie_is_sent_by_the_flow_that_got_it_only(
    project: Attacked, server: HostileServer, other: HostileServer
) -> None:
    cookie = ("Set-Cookie: session=abc; Path=/", "Set-Cookie: wide=1; Domain=127.0.0.1; Path=/")
    server.routes["/in"] = kept(whole(b"hello", TEXT, *cookie))
    server.routes["/out"] = kept(whole(b"hello", TEXT, *cookie))
    for n in range(3):
        project.baseline(f"a{n}", ANY, asking("/in"))
        project.baseline(f"b{n}", ANY, asking("/out"))
    steps = [{"endpoint": "/in"}, {"endpoint": "/out?again"}, {"url": f"{other.url}/x"}]
    project.baseline("flow", ANY, {"input": {"steps": steps}, "execution": {"type": "http"}})
    assert project.run("compare", "-j", "1").exit_code == 0
    with_cookies = {seen.target: seen.headers["cookie"] for seen in server.seen if "cookie" in seen.headers}
    assert list(with_cookies) == ["/out?again"]
    assert "session=abc" in with_cookies["/out?again"]
    assert "cookie" not in other.seen[0].headers, "another port is another service"
    assert len(server.seen) == 8


def files_that_may_be_open() -> int:
    """As many as there may be at the most: many a system begins with 256."""
    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4096 if most == resource.RLIM_INFINITY else min(4096, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(least, wanted), most))
    return max(least, wanted)


def test_f51_many_slow_requests_at_once_all_pass(project: Attacked, server: HostileServer) -> None:
    def slow(peer: Peer) -> bool:
        time.sleep(1)
        peer.say(whole(b"hello", TEXT))
        return True

    server.routes["/slow"] = slow
    count = min(150, files_that_may_be_open() - 100)
    for n in range(count):
        project.baseline(f"b{n}", {"status": 200, "body": "hello"}, asking("/slow", {"timeout": 20}))
    ran = project.run("compare", "--no-record", "--json", "-j", "150")
    assert (ran.exit_code, len(ran.outcomes)) == (0, count), ran.err
    assert ran.seconds < 40, "one after the other it would be minutes"


def test_f41_files_of_a_recipe_outside_are_refused(project: Attacked, server: HostileServer) -> None:
    (project.folder / "link.pem").symlink_to("/etc/hostname")
    (project.folder / ".git").mkdir()
    (project.folder / ".git" / "config").write_text("token = hunter2")
    tries = {
        "up": asking("/x", method="POST", files={"f": "../../outside"}),
        "absolute": asking("/x", method="POST", files={"f": "/etc/passwd"}),
        "by-a-link": asking("/x", method="POST", files={"f": "../link.pem"}),
        "git": asking("/x", method="POST", files={"f": "../.git/config"}),
        "authority": asking("/x", {"verify": "/etc/ssl/certs/ca-certificates.crt"}),
        "certificate": asking("/x", {"cert": "../link.pem"}),
    }
    for name, current in tries.items():
        project.baseline(name, ANY, current)
    ran = project.run("compare")
    assert (ran.exit_code, ran.output.count("BK404")) == (4, len(tries))
    assert server.connections == 0


def test_f42_pipe_as_a_certificate_is_an_error_at_once(project: Attacked, server: HostileServer) -> None:
    os.mkfifo(project.folder / "pipe")
    url = server.url.replace("http:", "https:")
    for name, execution in {"authority": {"verify": "../pipe"}, "certificate": {"cert": "../pipe"}}.items():
        project.baseline(name, ANY, asking("/x", {"base_url": url, **execution}))
    ran = project.run("compare", "--json", base_url="")
    assert ran.outcomes == dict.fromkeys(("authority", "certificate"), ("error", "BK302"))
    assert ran.seconds < 20


def test_f21_answers_that_are_not_whole_are_not_captured(project: Attacked, server: HostileServer) -> None:
    for route in map(named, ("body-drip", "truncated-gzip", "a-repeated-key")):
        server.routes[f"/{route.name}"] = route.act
        ran = project.run("capture", "http", f"{server.url}/{route.name}", "--id", "x", "--timeout", "0.6")
        assert (ran.exit_code, route.code in ran.output) == (3, True), ran.output
    assert list(project.folder.rglob("*.yaml")) == []

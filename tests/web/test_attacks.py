"""Attacks on the page, as other pages, other programs and raters would try them: none comes through."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from serving import Served, full_project, serving

pytestmark = pytest.mark.slow

Headers = Callable[[Served], dict[str, str]]
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("web") / "project"
    with full_project(folder) as project, serving(project, "--as", "root", "--rater", "ada") as served:
        yield served


def test_page_with_its_link_answers_and_hides_the_token(site: Served) -> None:
    """What the attacks below differ from."""
    page = site.ask("GET", "/")
    assert page.status == 200
    assert "set-cookie" not in page.headers
    assert site.tokens[""].encode() not in page.body
    assert site.get("/api/review").json["cards"]
    assert site.post("/api/review/diff", {"decisions": []}).json["lines"] == []
    for answer in (
        page,
        site.get("/api/review"),
        site.ask("GET", "/api/review"),
        site.get("/static/main.js"),
    ):
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers


TOKENS: dict[str, Callable[[Served], str]] = {
    "missing": lambda site: "",
    "empty": lambda site: "Bearer ",
    "guessed": lambda site: f"Bearer {'A' * 43}",
    "its beginning": lambda site: f"Bearer {site.tokens[''][:-1]}",
    "with more behind it": lambda site: f"Bearer {site.tokens['']}A",
    "in other letters": lambda site: f"Bearer {site.tokens[''].swapcase()}",
    "of another scheme": lambda site: f"Basic {site.tokens['']}",
    "not ASCII": lambda site: "Bearer \xe4\xff",
    "very long": lambda site: f"Bearer {'x' * 8000}",
}


@pytest.mark.parametrize("name", TOKENS)
def test_token_that_is_not_right_opens_nothing(site: Served, name: str) -> None:
    assert site.ask("GET", "/api/review", {"Authorization": TOKENS[name](site)}).status == 401


@pytest.mark.parametrize("name", ["token", "baselinekit", "Authorization"])
def test_token_in_a_cookie_or_an_address_opens_nothing(site: Served, name: str) -> None:
    """A browser sends a cookie to every port of this machine, and with the requests of other pages."""
    assert site.ask("GET", "/api/review", {"Cookie": f"{name}={site.tokens['']}"}).status == 401
    assert site.ask("GET", f"/api/review?{name}={site.tokens['']}").status == 401


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("GET", f"/api/{name}") for name in ("review", "runs", "rate/ratings.csv", "rate/labels.yaml")),
        *(("GET", f"/api/{name}") for name in ("runs/rows?run=x", "runs/case", "runs/compare")),
        *(("POST", f"/api/{name}") for name in ("review/write", "review/diff", "rate/import", "rate/gold")),
    ],
)
def test_rater_reaches_only_ratings(site: Served, method: str, path: str) -> None:
    headers = {**site.key("ada"), "Origin": site.origin, **JSON}
    assert site.ask(method, path, headers, "{}" if method == "POST" else None).status == 403
    assert site.get("/api/rate", "ada").status == 200


HOSTS = """
evil.test evil.test:{port} 127.0.0.1 127.0.0.1:1 127.0.0.1.evil.test:{port} localhost.evil.test:{port}
127.0.0.1.:{port} [::1]:{port} 0.0.0.0:{port} 2130706433:{port} 127.0.0.1:{port}@evil.test
127.0.0.1:{port}.evil.test 127.0.0.1:0{port}
"""


@pytest.mark.parametrize("host", HOSTS.split())
def test_f47_other_host_is_refused(site: Served, host: str) -> None:
    """A name of another page that was made to lead to this machine."""
    answer = site.ask("GET", "/api/review", {**site.key(), "Host": host.format(port=site.port)})
    assert answer.status == 421
    assert site.ask("GET", "/", {"Host": host.format(port=site.port)}).status == 421


@pytest.mark.parametrize(
    "head",
    [
        "GET /api/review HTTP/1.1\r\nHost: {own}\r\nHost: evil.test\r\n{key}",
        "GET /api/review HTTP/1.1\r\n{key}",
        "GET http://evil.test/api/review HTTP/1.1\r\nHost: evil.test\r\n{key}",
        "GET /api/review HTTP/1.1\r\nHost: {own}\r\n{key}\r\nX: a\r\n b: c\x00",
        "GET /api/review HTTP/1.1\r\nHost: {own}\r\nTransfer-Encoding: chunked\r\nContent-Length: 5",
        "GET /api/review HTTP/9.9\r\nHost: {own}",
        "GARBAGE",
    ],
)
def test_request_that_no_browser_sends_is_refused(site: Served, head: str) -> None:
    own = f"127.0.0.1:{site.port}"
    key = f"Authorization: Bearer {site.tokens['']}"
    text = head.format(own=own, key=key) + "\r\nConnection: close\r\n\r\n"
    status = site.raw(text.encode()).split(b" ")[1:2]
    assert status in ([b"400"], [b"401"], [b"421"], [b"505"])


SOURCES: dict[str, Headers] = {
    "no origin": lambda site: {},
    "null": lambda site: {"Origin": "null"},
    "another page": lambda site: {"Origin": "https://evil.test"},
    "another scheme": lambda site: {"Origin": f"https://127.0.0.1:{site.port}"},
    "another port": lambda site: {"Origin": "http://127.0.0.1:1"},
    "a longer name": lambda site: {"Origin": f"{site.origin}.evil.test"},
    "localhost for 127.0.0.1": lambda site: {"Origin": f"http://localhost:{site.port}"},
    "cross-site": lambda site: {"Origin": site.origin, "Sec-Fetch-Site": "cross-site"},
    "same-site": lambda site: {"Origin": site.origin, "Sec-Fetch-Site": "same-site"},
}


@pytest.mark.parametrize("name", SOURCES)
def test_f47_request_of_another_page_changes_nothing(site: Served, name: str) -> None:
    body = json.dumps({"decisions": [{"id": "*", "decision": "accept", "confirm": True}]})
    headers = {**site.key(), **JSON, **SOURCES[name](site)}
    assert site.ask("POST", "/api/review/write", headers, body).status == 403
    assert len(site.get("/api/review").json["cards"]) == 2


@pytest.mark.parametrize("site_of", ["cross-site", "same-site"])
def test_other_page_reads_nothing(site: Served, site_of: str) -> None:
    for path in ("/api/review", "/static/main.js"):
        assert site.ask("GET", path, {**site.key(), "Sec-Fetch-Site": site_of}).status == 403


@pytest.mark.parametrize("into", ["iframe", "frame", "embed", "object"])
def test_page_is_not_shown_inside_another_one(site: Served, into: str) -> None:
    headers = {**site.key(), "Sec-Fetch-Dest": into, "Sec-Fetch-Site": "cross-site"}
    assert site.ask("GET", "/", headers).status == 403
    assert "frame-ancestors 'none'" in site.get("/").headers["content-security-policy"]


@pytest.mark.parametrize(
    "media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_form_of_another_page_changes_nothing(site: Served, media: str) -> None:
    headers = {**site.key(), "Origin": site.origin, "Content-Type": media}
    assert site.ask("POST", "/api/review/write", headers, "{}").status == 415


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b'"x"', 400),
        (b"\xff\xfe", 400),
        (b"[" * 100_000, 400),
        (b'{"decisions": [], "decisions": []}', 400),
        (b'{"decisions": [NaN]}', 400),
        (b'{"decisions": ' + b"9" * 5_000 + b"}", 400),
        (b'{"decisions": "' + b"x" * 1_000_001 + b'"}', 413),
        (b'{"decisions": [], "by": 5}', 422),
        (b'{"decisions": [{"id": "*", "decision": "delete"}]}', 422),
        (b'{"decisions": [{"id": "../../x", "decision": "accept"}]}', 422),
        (b'{"decisions": [], "file": "/etc/passwd"}', 422),
    ],
)
def test_body_that_is_not_right_is_refused_with_its_place(site: Served, body: bytes, status: int) -> None:
    headers = {**site.key(), "Origin": site.origin, **JSON}
    answer = site.ask("POST", "/api/review/write", headers, body)
    assert answer.status == status
    assert answer.json["problems"]
    assert b"Traceback" not in answer.body


PATHS = """
/static/../server.py /static/%2e%2e%2fserver.py /static/..%5cserver.py /static//etc/passwd
/static/index.html%00.js /static/ /static/. /api/../../../etc/passwd /api/ /api/review/ //evil.test/
/etc/passwd /api/runs/rows/../../review/write
"""


@pytest.mark.parametrize("path", PATHS.split())
def test_path_leads_to_no_other_file(site: Served, path: str) -> None:
    answer = site.get(path)
    assert answer.status in (404, 405)
    assert b"root:" not in answer.body


@pytest.mark.parametrize("run", ["../../../../etc/passwd", "/etc/passwd", "baselinekit.yaml", ""])
def test_run_is_only_one_of_the_list(site: Served, run: str) -> None:
    assert site.get(f"/api/runs/rows?run={run}").json["problems"][0]["code"] == "BK509"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_method_does_nothing(site: Served, method: str) -> None:
    answer = site.ask(method, "/api/review/write", {**site.key(), "Origin": site.origin})
    assert answer.status == 405
    assert "access-control-allow-methods" not in answer.headers


@pytest.mark.parametrize(
    "change",
    [
        {"key": "../../../evil"},
        {"key": "0123456789abcdef"},
        {"value": "5; rm -rf"},
        {"value": [9, 9]},
        {"value": {"warm": 1}},
        {"rater": "root"},
        {"marks": [{"part": "output", "start": 0, "end": 99, "text": "not there"}]},
        {"note": 5},
        {"seconds": "long"},
        {"seconds": -1},
        {"seconds": 1e308},
    ],
)
def test_rating_that_is_not_right_is_not_kept(site: Served, change: dict[str, object]) -> None:
    (item,) = site.get("/api/rate", "ada").json["items"]
    answer = site.post("/api/rate/rating", {"key": item["key"], "value": [4, 5], **change}, "ada")
    assert answer.status == 422
    assert site.get("/api/rate", "ada").json["items"][0]["state"] == "open"


def test_links_and_files_have_no_token_in_them(site: Served, tmp_path: Path) -> None:
    for name in ("review", "rate", "runs", "about", "rate/ratings.csv"):
        assert site.tokens[""].encode() not in site.get(f"/api/{name}").body

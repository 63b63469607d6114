"""Http recipes: flows, retries, redirects, cookies, and what may go where."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from replay_world import NO_CONNECTION, FakeClients, RawServer, ReceivedRequest, answer, http

from baselinekit.clients.trust import Trust, origin
from baselinekit.errors import CannotReplay, InvalidInput, Refused
from baselinekit.kinds.dispatch import check, replay
from baselinekit.kinds.http import HttpExecution, HttpFlow
from baselinekit.kinds.settings import Setting
from baselinekit.model.recipes import Auth, HttpRequest, Recipe, Response
from baselinekit.secrets.variables import Redactor, Scope, Secret
from baselinekit.structs import replace

BASE = "http://api.test"


def recipe(*steps: HttpRequest, collect: Any = None, **execution: Any) -> Recipe:
    given = steps[0] if len(steps) == 1 and collect is None else HttpFlow(list(steps), collect)
    return Recipe(given, HttpExecution("http", **{"base_url": BASE, **execution}))


def asking(setting: Setting, *answers: Response | CannotReplay) -> tuple[Setting, FakeClients]:
    fake = FakeClients(*answers)
    return replace(setting, clients=fake.clients), fake


LOGIN = HttpRequest(method="POST", endpoint="/login", name="login", save={"token": "body.token"})
ME = HttpRequest(
    endpoint="/users/{{id}}", headers={"Authorization": "Bearer {{token}}"}, json={"id": "{{id}}"}
)


def test_flow_step_saves_values_and_any_header_for_next_step(setting: Setting) -> None:
    login = replace(LOGIN, save={"token": "token", "id": "$.body.user.id", "tag": "headers.ETag"})
    me = replace(ME, headers={"Authorization": "Bearer {{token}}", "If-Match": "{{tag}}"})
    setting, fake = asking(setting, answer(b'{"token": "T", "user": {"id": 7}}', ETag="a1"), answer(b'"me"'))
    flow = recipe(login, me, collect={"tag": "login.$.headers.etag", "me": "2.body"})
    check(flow, setting)
    observed = replay(flow, setting)
    assert observed.output == {"tag": "a1", "me": "me"}
    assert (observed.seconds, observed.attempts) == (0.5, 1)
    sent = fake.requests[1]
    assert sent.url == f"{BASE}/users/7"
    assert (dict(sent.headers)["Authorization"], dict(sent.headers)["If-Match"]) == ("Bearer T", "a1")
    assert sent.content == b'{"id":7}'


def test_flow_save_missing_path_names_step_and_nearest(setting: Setting) -> None:
    setting, _ = asking(setting, answer(b'{"tokens": "T"}'))
    with pytest.raises(
        CannotReplay, match=r"step login: nothing at 'token' .* did you mean '(body\.)?tokens'"
    ):
        replay(recipe(replace(LOGIN, save={"token": "token"}), ME), setting)


def test_flow_collect_by_name_and_by_path(setting: Setting) -> None:
    steps = [HttpRequest(endpoint="/a", name="a"), HttpRequest(endpoint="/c")]
    bodies = [answer(b'{"x": [1, 2]}'), answer(b"true")]
    by_name = replay(recipe(*steps, collect=["a", "2"]), asking(setting, *bodies)[0]).output
    assert {name: output["body"] for name, output in by_name.items()} == {"a": {"x": [1, 2]}, "2": True}
    by_path = recipe(*steps, collect={"all": "2", "x": "a.x[1]", "status": "1.$.status"})
    output = replay(by_path, asking(setting, *bodies)[0]).output
    assert (output["all"]["body"], output["x"], output["status"]) == (True, 2, 200)


def test_check_flow_reports_all_mistakes(setting: Setting) -> None:
    flow = recipe(
        replace(LOGIN, json={"user": "{{usr}}"}, save={"token": "token", "x": "a..b"}),
        replace(ME, endpoint="users/{{token}}"),
        HttpRequest(endpoint="nope", headers={"Host": "x"}),
        collect={"a": "logn.token", "b": "login.["},
        base_url="{{base}}",
    )
    with pytest.raises(InvalidInput) as raised:
        check(flow, replace(setting, scope=Scope({"user": 1})))
    found = [(problem.code, problem.at) for problem in raised.value.problems]
    steps = ("current", "input", "steps")
    assert ("BK501", (*steps, 0, "json", "user")) in found
    assert ("BK501", (*steps, 1, "endpoint")) not in found
    assert ("BK501", ("current", "execution", "base_url")) in found
    assert ("BK501", (*steps, 1, "json", "id")) in found
    assert ("BK108", ("current", "input", "collect", "a")) in found
    assert ("BK201", ("current", "input", "collect", "b")) in found
    assert ("BK201", (*steps, 0, "save", "x")) in found
    assert "did you mean 'login'?" in str(raised.value)


def test_http_override_base_url_replaces_undefined_base_url(setting: Setting) -> None:
    setting, fake = asking(setting, answer())
    around = replace(setting.surroundings, override_base_url="http://flag.test")
    given = recipe(HttpRequest(endpoint="/x"), base_url="{{undefined}}")
    check(given, replace(setting, surroundings=around))
    replay(given, replace(setting, surroundings=around))
    assert fake.requests[0].url == "http://flag.test/x"
    with pytest.raises(InvalidInput, match="undefined"):
        replay(given, setting)


# --- asking again


def test_retry_unsent_request_for_any_method(setting: Setting) -> None:
    setting, fake = asking(setting, NO_CONNECTION, NO_CONNECTION, answer(b"1"))
    observed = replay(recipe(HttpRequest(method="POST", endpoint="/"), retries=3), setting)
    assert (observed.output["body"], observed.attempts) == (1, 3)
    first, second = fake.slept
    assert 0.75 <= first <= 1.25 < 1.5 <= second <= 2.5
    assert fake.requests[2].timeout <= 30


@pytest.mark.parametrize(
    ("method", "status", "tries"),
    [
        ("GET", 429, 3),
        ("PUT", 502, 3),
        ("GET", 503, 3),
        ("DELETE", 504, 3),
        ("POST", 503, 1),
        ("PATCH", 429, 1),
    ]
    + [("GET", status, 1) for status in (200, 404, 500, 501)],
)
def test_retry_busy_server_for_idempotent_methods_only(
    setting: Setting, method: str, status: int, tries: int
) -> None:
    setting, fake = asking(setting, *[answer(b"1", status)] * 3)
    observed = replay(recipe(HttpRequest(method=method, endpoint="/"), retries=2), setting)
    assert (observed.output["status"], observed.attempts, len(fake.requests)) == (status, tries, tries)


def test_retry_none_by_default_after_other_error_or_beyond_time_limit(setting: Setting) -> None:
    for settings in ({}, {"retries": 0}, {"retries": 5, "timeout": 0.5}):
        setting, fake = asking(setting, NO_CONNECTION)
        with pytest.raises(CannotReplay):
            replay(recipe(HttpRequest(endpoint="/", **settings)), setting)
        assert len(fake.requests) == 1
    broken = CannotReplay(replace(NO_CONNECTION.problems[0], code="BK304"))
    setting, fake = asking(setting, broken)
    with pytest.raises(CannotReplay):
        replay(recipe(HttpRequest(endpoint="/", retries=5)), setting)
    assert len(fake.requests) == 1


NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def in_seconds(seconds: float) -> str:
    return (NOW + timedelta(seconds=seconds)).strftime("%a, %d %b %Y %H:%M:%S GMT")


@pytest.mark.parametrize(
    ("after", "low", "high"),
    [("2", 2, 2), ("0", 0, 0), (in_seconds(9), 9, 9), ("soon", 0.75, 1.25), (in_seconds(-60), 0, 0)],
)
def test_retry_after_header_sets_wait(setting: Setting, after: str, low: float, high: float) -> None:
    """A date is compared with the clock that was passed in."""
    setting, fake = asking(setting, answer(b"1", 503, Retry_After=after), answer(b"2"))
    setting = replace(setting, clients=replace(setting.clients, now=NOW.timestamp))
    assert replay(recipe(HttpRequest(endpoint="/"), retries=1), setting).output["body"] == 2
    assert low <= fake.slept[0] <= high


# --- redirects


def moved(to: str, status: int = 302, **headers: str) -> Response:
    return answer(b"moved", status, Location=to, Content_Type="text/plain", **headers)


@pytest.mark.parametrize(
    ("method", "status", "becomes"),
    [
        ("GET", 301, "GET"),
        ("POST", 301, "GET"),
        ("POST", 302, "GET"),
        ("POST", 303, "GET"),
        ("PUT", 302, "PUT"),
        ("PUT", 303, "GET"),
        ("HEAD", 303, "HEAD"),
        ("POST", 307, "POST"),
        ("POST", 308, "POST"),
    ],
)
def test_redirect_method_and_body_by_status(setting: Setting, method: str, status: int, becomes: str) -> None:
    setting, fake = asking(setting, moved("../c?d=1", status), answer(b"1"))
    step = HttpRequest(method=method, endpoint="/a/b", json=1, headers={"X-Key": "k"}, cookies={"c": "1"})
    replay(recipe(step, redirects=True), setting)
    followed = fake.requests[1]
    assert (followed.method, followed.url) == (becomes, f"{BASE}/c?d=1")
    kept = becomes == method
    assert followed.content == (b"1" if kept else b"")
    names = {name.lower() for name, _ in followed.headers}
    assert names >= {"x-key", "cookie"}
    assert ("content-type" in names) == kept


def test_f17_redirect_to_other_origin_drops_credentials(setting: Setting) -> None:
    for other in ("http://api.test:81/", "https://api.test/", "http://evil.test/"):
        clients, fake = asking(setting, moved(other, Set_Cookie="s=1"), answer(b"1"))
        headers = {"X-Api-Key": "k", "Authorization": "a", "Proxy-Authorization": "p", "Accept": "text/x"}
        step = HttpRequest(endpoint="/", headers=headers, cookies={"c": "1"})
        replay(recipe(step, redirects=3), clients)
        names = {name.lower() for name, _ in fake.requests[1].headers}
        assert names == {"accept", "user-agent", "accept-encoding"}
        digest = HttpRequest(endpoint="/", auth=Auth("digest", "a", "b"), redirects=True)
        clients, fake = asking(setting, moved(other), answer(b"1"))
        replay(recipe(digest), clients)
        assert fake.requests[1].digest is None


def test_f17_redirect_to_other_origin_never_takes_the_body_along(setting: Setting) -> None:
    setting, fake = asking(setting, moved("http://evil.test/", 307), answer(b"1"))
    with pytest.raises(CannotReplay, match=r"would send the body to http://evil\.test"):
        replay(recipe(HttpRequest(method="POST", endpoint="/", json=1), redirects=True), setting)
    assert len(fake.requests) == 1


def test_redirect_more_than_limit_is_an_error(setting: Setting) -> None:
    setting, fake = asking(setting, *[moved("/again")] * 9)
    with pytest.raises(CannotReplay, match=r"more than 5 redirects: .*-L .*`redirects: N`"):
        replay(recipe(HttpRequest(endpoint="/"), redirects=True), setting)
    assert len(fake.requests) == 6


# --- secrets


TOKEN = Secret("hunter2-hunter2")


@pytest.mark.parametrize(
    "step",
    [
        HttpRequest(endpoint="/", headers={"X-Key": "{{token}}"}),
        HttpRequest(endpoint="/", params={"key": "{{token}}"}),
        HttpRequest(endpoint="/{{token}}"),
        HttpRequest(method="POST", endpoint="/", json={"a": ["{{token}}"]}),
        HttpRequest(endpoint="/", auth=Auth("basic", "ada", "{{token}}")),
        HttpRequest(endpoint="/", auth=Auth("digest", "ada", "{{token}}")),
        HttpRequest(endpoint="/", cookies={"s": "{{token}}"}),
        HttpRequest(endpoint="/", headers={"X": "aHVudGVyMi1odW50ZXIy"}),
    ],
)
def test_f16_secret_to_unnamed_origin_is_refused(setting: Setting, step: HttpRequest) -> None:
    secrets = {"token": TOKEN}
    setting = replace(setting, scope=Scope(secrets=secrets), redactor=Redactor(secrets))
    closed, fake = asking(setting)
    for ask in (check, replay):
        with pytest.raises(Refused, match="the secret token would go to"):
            ask(recipe(step), closed)
    assert fake.requests == []
    named = Trust(named_origins=frozenset([origin(BASE)]))
    opened, fake = asking(replace(setting, trust=named), answer())
    replay(recipe(step), opened)
    assert len(fake.requests) == 1


def test_http_error_message_masks_secret(setting: Setting) -> None:
    secrets = {"token": TOKEN}
    setting = replace(setting, scope=Scope(secrets=secrets), redactor=Redactor(secrets))
    with pytest.raises(InvalidInput) as raised:
        replay(recipe(HttpRequest("{{token}}", endpoint="/")), setting)
    assert "hunter2" not in str(raised.value)
    assert "***" in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


# --- on real sockets


def test_redirect_cookie_set_on_the_way_is_sent_beside_those_of_the_recipe(
    raw: RawServer, real: Setting
) -> None:
    raw.serve("/login", http(303, b"", "Set-Cookie: s=1", "Set-Cookie: t=2", "Location: /home"))
    raw.handle(
        "/home", lambda to, received: to.sendall(http(200, received.headers.get("cookie", "").encode()))
    )
    step = HttpRequest(
        method="POST", endpoint="/login", form={"u": "x"}, cookies={"t": "own"}, redirects=True
    )
    assert replay(recipe(step, base_url=raw.url), real).output["body"] == "t=own; s=1"


def test_http_timeout_includes_redirects(raw: RawServer, real: Setting) -> None:
    import time

    def slowly(connection: Any, received: ReceivedRequest) -> bool:
        raw.stopped.wait(0.15)
        connection.sendall(http(302, b"", "Location: /"))
        return True

    raw.handle("/", slowly)
    started = time.monotonic()
    with pytest.raises(CannotReplay) as raised:
        replay(recipe(HttpRequest(endpoint="/"), base_url=raw.url, redirects=20, timeout=0.5), real)
    assert raised.value.problems[0].code == "BK303"
    assert time.monotonic() - started < 2.7, "twenty redirects would take three"

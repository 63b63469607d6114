"""A request as it goes out."""

from pathlib import Path
from typing import Any

import pytest

from baselinekit.errors import BaselinekitError, InvalidInput
from baselinekit.kinds.http import HttpExecution, compose
from baselinekit.kinds.settings import Setting
from baselinekit.model.recipes import Auth, HttpDefaults, HttpRequest, Request, Surroundings
from baselinekit.secrets.variables import Scope
from baselinekit.structs import replace

BASE = HttpExecution("http", base_url="http://api.test")


def composed(setting: Setting, execution: HttpExecution = BASE, **step: Any) -> Request:
    return compose(HttpRequest(**step), execution, setting, ("current", "input"))


def header(request: Request, name: str) -> str | None:
    return next((value for key, value in request.headers if key.lower() == name), None)


@pytest.mark.parametrize(
    ("base", "step", "url"),
    [
        ("http://api.test/", {"endpoint": "/users"}, "http://api.test/users"),
        ("http://api.test/v1/", {"path": "/users"}, "http://api.test/v1/users"),
        ("http://api.test", {}, "http://api.test/"),
        ("HTTP://API.Test:80", {"endpoint": "/"}, "http://api.test:80/"),
        (None, {"url": "https://other.test/x?a=1#top"}, "https://other.test/x?a=1"),
        ("http://a.test", {"endpoint": "/u?a=1", "params": {"b": [1, "x y"], "c": None, "d": True}},
         "http://a.test/u?a=1&b=1&b=x+y&c=&d=true"),
        ("http://a.test", {"endpoint": "/ö %zz/%41 '\""}, "http://a.test/%C3%B6%20%25zz/%41%20'%22"),
        ("http://[::1]:8080", {"endpoint": "/"}, "http://[::1]:8080/"),
        ("http://bücher.test", {"endpoint": "/"}, "http://xn--bcher-kva.test/"),
        ("http://good.test", {"endpoint": "/@evil.test"}, "http://good.test/@evil.test"),
        ("http://good.test", {"endpoint": "//evil.test/x"}, "http://good.test//evil.test/x"),
    ],
)  # fmt: skip
def test_compose_url(setting: Setting, base: str | None, step: dict[str, Any], url: str) -> None:
    assert composed(setting, HttpExecution("http", base_url=base), **step).url == url


@pytest.mark.parametrize(
    ("base", "step", "message"),
    [
        (None, {"endpoint": "/x"},
         "no base_url: pass --base-url URL, or set execution.base_url, or base_url:"),
        ("http://a", {"endpoint": "users"}, "`endpoint` must start with `/`: such as /users;"),
        ("http://a", {"endpoint": "http://b/x"}, "a whole address goes under `url`"),
        ("http://good", {"endpoint": "@evil"}, "must start with `/`"),
        (None, {"url": "ftp://a/x"}, "not an absolute http or https address"),
        (None, {"url": "/users"}, "not an absolute http or https address"),
        (None, {"url": "http://me:secret@a/"}, "contains credentials: remove them, and use `auth`"),
        (None, {"url": "http:///x"}, "not an absolute http or https address"),
        (None, {"url": "http://a b/"}, "not an absolute http or https address"),
        (None, {"url": "http://a\\@b/"}, "F16"),
        (None, {"url": "http://a:99999/"}, "not an absolute http or https address"),
        (None, {"url": "http://a:0/x"}, "not an absolute http or https address"),
        (None, {"url": "http://a:x/"}, "such as https://api.example.com"),
        (None, {"url": "http://a/\r\nHost: b"}, "not an absolute http"),
        ("http://a", {"method": "GET /x"}, "is not an HTTP method"),
        ("http://a", {"method": "CONNECT"}, "is not an HTTP method"),
        ("http://a", {"headers": {"Host": "evil"}}, "the header Host cannot be set"),
        ("http://a", {"headers": {"transfer-encoding": "chunked"}}, "cannot be set"),
        ("http://a", {"headers": {"Content-Length": 5}}, "cannot be set"),
        ("http://a", {"headers": {"X": "a\r\nHost: b"}}, "line break"),
        ("http://a", {"headers": {"X: y": "a"}}, "not a header name"),
        ("http://a", {"cookies": {"a": "b\nc"}}, "line break"),
        ("http://a", {"auth": Auth("bearer")}, "no token"),
        ("http://a", {"auth": Auth("basic", password="x")}, "no username"),
    ],
)  # fmt: skip
def test_compose_invalid_request_is_refused(
    setting: Setting, base: str | None, step: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput) as raised:
        composed(setting, HttpExecution("http", base_url=base), **step)
    assert message in str(raised.value) or message == "F16"
    assert "secret" not in str(raised.value)
    assert (raised.value.problems[0].at or ())[:2] == ("current", "input")


def test_compose_base_url_precedence(setting: Setting) -> None:
    around = Surroundings("/", "/", base_url="http://configured")
    assert composed(replace(setting, surroundings=around), HttpExecution("http")).url == "http://configured/"
    assert composed(replace(setting, surroundings=around)).url == "http://api.test/"
    around = replace(around, override_base_url="http://flag")
    assert composed(replace(setting, surroundings=around)).url == "http://flag/"


def test_compose_settings_precedence(setting: Setting) -> None:
    http = HttpDefaults(
        headers={"a": "config", "B": "config", "C": "{{v}}"}, timeout=1, retries=1, redirects=True
    )
    setting = replace(setting, http=http, scope=Scope({"v": "expanded"}))
    execution = replace(BASE, headers={"A": "execution", "b": "execution"}, timeout=2, retries=2)
    request = composed(setting, execution, headers={"A": "step"}, timeout=3)
    assert [header(request, name) for name in ("a", "b", "c")] == ["step", "execution", "expanded"]
    assert request.timeout == 3
    assert composed(setting, execution).timeout == 2
    assert composed(setting).timeout == 1
    assert composed(replace(setting, http=HttpDefaults())).timeout == 30


def test_compose_default_headers(setting: Setting) -> None:
    request = composed(setting)
    assert header(request, "accept-encoding") == "gzip, deflate"
    assert str(header(request, "user-agent")).startswith("baselinekit/")
    assert header(composed(setting, headers={"Accept-Encoding": "br"}), "accept-encoding") == "br"


@pytest.mark.parametrize(
    ("step", "content", "content_type"),
    [
        ({"json": {"a": [1.5, "é"]}}, '{"a":[1.5,"é"]}'.encode(), "application/json"),
        ({"json": None}, b"null", "application/json"),
        ({"body": {"a": 1}}, b'{"a":1}', "application/json"),
        ({"body": "text"}, b"text", None),
        ({"json": 1, "headers": {"content-type": "application/x"}}, b"1", "application/x"),
        ({"form": {"a": [1, "x y"], "b": True}}, b"a=1&a=x+y&b=true", "application/x-www-form-urlencoded"),
        ({}, b"", None),
    ],
)
def test_compose_body_and_content_type(
    setting: Setting, step: dict[str, Any], content: bytes, content_type: str | None
) -> None:
    request = composed(setting, method="POST", **step)
    assert (request.content, header(request, "content-type")) == (content, content_type)


def test_compose_files_as_multipart(setting: Setting) -> None:
    Path(setting.surroundings.folder, "a.txt").write_text("hello")
    request = composed(setting, method="POST", form={"k": "v"}, files={"up": "a.txt"})
    kind = str(header(request, "content-type"))
    boundary = kind.partition("boundary=")[2]
    assert kind.startswith("multipart/form-data; boundary=")
    assert (
        request.content
        == (
            f'--{boundary}\r\nContent-Disposition: form-data; name="k"\r\n\r\nv\r\n'
            f'--{boundary}\r\nContent-Disposition: form-data; name="up"; filename="a.txt"\r\n'
            f"Content-Type: text/plain\r\n\r\nhello\r\n--{boundary}--\r\n"
        ).encode()
    )


def test_compose_missing_file_or_folder_is_an_error(setting: Setting) -> None:
    for path in ("absent.txt", "."):
        with pytest.raises(BaselinekitError) as raised:
            composed(setting, method="POST", files={"up": path})
        assert raised.value.problems[0].code == "BK325"


def test_compose_auth_header(setting: Setting) -> None:
    basic = composed(setting, auth=Auth("basic", "ada", "pw"))
    assert header(basic, "authorization") == "Basic YWRhOnB3"
    assert header(composed(setting, auth=Auth("bearer", token="t")), "authorization") == "Bearer t"
    digest = composed(setting, auth=Auth("digest", "ada"))
    assert (digest.digest, header(digest, "authorization")) == (Auth("digest", "ada", ""), None)
    shared = replace(BASE, auth=Auth("bearer", token="shared"))
    assert header(composed(setting, shared), "authorization") == "Bearer shared"
    assert header(composed(setting, shared, headers={"Authorization": "own"}), "authorization") == "own"


def test_compose_cookie_header(setting: Setting) -> None:
    request = composed(
        setting, replace(BASE, cookies={"a": "1", "b": "1"}), cookies={"b": "2"}, headers={"Cookie": "c=3"}
    )
    assert header(request, "cookie") == "c=3; a=1; b=2"

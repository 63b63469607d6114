"""Values as the libraries of users make them, where these are installed: responses of test clients, arrays,
tables, models."""

import asyncio
import dataclasses
import datetime
import uuid
from collections import deque
from collections.abc import Callable
from decimal import Decimal
from ipaddress import ip_address
from pathlib import PurePosixPath
from typing import Any
from unittest.mock import Mock

import httpx
import pydantic
import pytest

from baselinekit import compare
from baselinekit.library.values import NoJsonError, as_json

DAY = datetime.date(2024, 2, 29)
MOMENT = datetime.datetime.fromisoformat("2024-02-29T10:30")
PNG = b"\x89PNG\xff"
_PNG = {"base64": "iVBOR/8="}
JSON = {"price": 1.5, "at": "2024-02-29T10:30:00"}


def library(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed")


def check_response(value: object, body: object, status: int = 200) -> None:
    """The response is compared by its status and its body, as often as one likes."""
    for _ in range(2):
        assert as_json(value) == {"status": status, "body": body}
    assert compare({"status": status, "body": body}, value).passed


# Web frameworks.


@pytest.fixture(scope="module")
def django() -> Any:
    found = library("django")
    from django.conf import settings

    if not settings.configured:
        settings.configure(ALLOWED_HOSTS=["*"], ROOT_URLCONF=(), MIDDLEWARE=[], USE_TZ=False)
        found.setup()
    return found


@pytest.fixture
def visit(django: Any) -> Callable[[object], Any]:
    """What Django's test client gets where a view answers so."""
    from django.test import Client, override_settings
    from django.urls import path

    def visited(answer: object) -> Any:
        urls = type("Urls", (), {"urlpatterns": [path("", lambda request: answer)]})
        with override_settings(ROOT_URLCONF=urls):
            return Client().get("/")

    return visited


def test_as_json_of_django(visit: Callable[[object], Any]) -> None:
    from django import http

    stated = {"price": 1.5, "at": MOMENT}
    check_response(visit(http.JsonResponse(stated)), JSON)
    check_response(visit(http.JsonResponse({"p": Decimal("1.10")}, status=201)), {"p": "1.10"}, 201)
    check_response(visit(http.HttpResponse("<p>é</p>")), "<p>é</p>")
    check_response(visit(http.HttpResponse(PNG, content_type="image/png")), _PNG)
    check_response(http.JsonResponse([1], safe=False), [1])


def test_as_json_of_flask() -> None:
    flask = library("flask")
    app = flask.Flask("users")
    answers: dict[str, Callable[[], object]] = {
        "json": lambda: {"price": 1.5},
        "stream": lambda: flask.Response(iter(["a", "b"])),
        "rows": lambda: flask.Response('{"a":1}\n{"a":2}\n', mimetype="application/x-ndjson"),
    }
    for name, answer in answers.items():
        app.add_url_rule(f"/{name}", name, answer)
    client = app.test_client()
    check_response(client.get("/json"), {"price": 1.5})
    check_response(client.get("/stream"), "ab")
    check_response(client.get("/rows"), [{"a": 1}, {"a": 2}])
    check_response(flask.Response("x", status=404), "x", 404)
    assert as_json(client.get("/json").headers)["Content-Type"] == "application/json"
    from werkzeug.datastructures import Headers, MultiDict

    pairs = [("a", "1"), ("a", "2"), ("b", "3")]
    assert as_json(MultiDict(pairs)) == {"a": ["1", "2"], "b": ["3"]}
    assert as_json(Headers(pairs)) == {"a": ["1", "2"], "b": "3"}


def test_as_json_of_starlette() -> None:
    starlette = library("starlette.applications")
    from starlette import datastructures, responses, routing

    async def parts() -> Any:
        yield b"a"
        yield b"b"

    answers = {
        "json": lambda: responses.JSONResponse({"price": 1.5}),
        "stream": lambda: responses.StreamingResponse(parts()),
    }
    routes = [routing.Route(f"/{name}", lambda request, made=made: made()) for name, made in answers.items()]
    transport = httpx.ASGITransport(app=starlette.Starlette(routes=routes))

    async def get(path: str) -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.get(path)

    check_response(asyncio.run(get("/json")), {"price": 1.5})
    check_response(asyncio.run(get("/stream")), "ab")
    check_response(responses.JSONResponse({"a": 1}), {"a": 1})
    with pytest.raises(NoJsonError, match="the value is a response without a body in it"):
        as_json(responses.StreamingResponse(iter([b"a"])))
    assert as_json(datastructures.QueryParams("a=1&a=2&b=3")) == {"a": ["1", "2"], "b": "3"}
    assert as_json({"url": datastructures.URL("http://test/a")}) == {"url": "http://test/a"}


def test_as_json_of_httpx() -> None:
    check_response(httpx.Response(200, json={"price": 1.5}), {"price": 1.5})
    exact = httpx.Response(201, content=b'{"n": 1.10}', headers={"content-type": "application/json"})
    check_response(exact, {"n": Decimal("1.10")}, 201)
    latin = {"content-type": "text/plain; charset=latin-1"}
    check_response(httpx.Response(404, content="é".encode("latin-1"), headers=latin), "é", 404)
    assert as_json(httpx.URL("http://test/a")) == "http://test/a"
    assert as_json(httpx.Headers([("set-cookie", "a"), ("set-cookie", "b")])) == {"set-cookie": ["a", "b"]}


def test_as_json_of_requests() -> None:
    requests = library("requests")
    response = requests.Response()
    response.status_code, response._content = 201, b'{"price": 1.5}'
    response.headers["Content-Type"] = "application/json"
    check_response(response, {"price": 1.5}, 201)
    assert as_json(response.headers) == {"Content-Type": "application/json"}


# Numbers and tables.


def test_as_json_of_numpy() -> None:
    np = library("numpy")
    assert as_json([np.float64(1.5), np.int64(3), np.bool_(True), np.str_("x")]) == [1.5, 3, True, "x"]
    assert as_json({"a": np.array([[1, 2], [3, 4]])}) == {"a": [[1, 2], [3, 4]]}
    assert as_json(np.array(5)) == 5
    assert as_json(np.ma.array([1, 2], mask=[0, 1])) == [1, None]
    assert as_json(np.array([Decimal("1.1"), None], dtype=object)) == [Decimal("1.1"), None]
    assert as_json(np.array([(1, "a")], dtype=[("n", int), ("s", "U1")])) == [{"n": 1, "s": "a"}]
    assert as_json(np.datetime64("2024-02-29")) == "2024-02-29"
    nanoseconds = np.array(["2024-02-29T10:30:00.5", "2024-02-29T10:30", "NaT"], dtype="datetime64[ns]")
    assert as_json(nanoseconds) == ["2024-02-29T10:30:00.5", "2024-02-29T10:30:00", None]
    assert as_json(np.array([[5, 60]], dtype="timedelta64[s]")) == [[5.0, 60.0]]
    assert as_json(np.timedelta64(5, "ns")) == 5e-9


def test_as_json_of_pandas() -> None:
    pd = library("pandas")
    table = pd.DataFrame(
        {
            "at": pd.to_datetime(["2024-02-29", None]),
            "share": [0.5, None],
            "n": pd.array([1, None], dtype="Int64"),
            "name": ["Ada", None],
            "kind": pd.Categorical(["x", "y"]),
            "took": pd.to_timedelta(["1s", "2s"]),
        }
    )
    first = {"at": "2024-02-29T00:00:00", "share": 0.5, "n": 1, "name": "Ada", "kind": "x", "took": 1.0}
    last = {"at": None, "share": None, "n": None, "name": None, "kind": "y", "took": 2.0}
    assert as_json(table) == [first, last]
    assert as_json(table["share"]) == [0.5, None]
    assert as_json(table.iloc[:0]) == []
    counted = pd.DataFrame({"g": ["a", "a", "b"], "n": [1, 2, 3]})
    assert as_json(counted.groupby("g").n.sum().to_frame()) == [{"g": "a", "n": 3}, {"g": "b", "n": 3}]
    assert as_json(counted.g.value_counts()) == {"a": 2, "b": 1}


def test_as_json_of_polars() -> None:
    pl = library("polars")
    assert as_json(pl.DataFrame({"a": [1, None], "d": [DAY, None]})) == [
        {"a": 1, "d": "2024-02-29"},
        {"a": None, "d": None},
    ]
    assert as_json(pl.Series([1, 2])) == [1, 2]


# Models.


class User(pydantic.BaseModel):
    id: uuid.UUID
    at: datetime.datetime
    home: pydantic.AnyUrl
    password: pydantic.SecretStr
    tags: set[str]

    @pydantic.computed_field
    @property
    def size(self) -> int:
        return len(self.tags)


@dataclasses.dataclass(slots=True)
class Page:
    users: list[User]
    by_day: dict[datetime.date, Decimal]


def test_as_json_of_pydantic_in_dataclasses() -> None:
    home = pydantic.AnyUrl("http://test/ada")
    ada = User(id=uuid.UUID(int=1), at=MOMENT, home=home, password="hunter2", tags={"b", "a"})
    assert as_json(Page([ada], {DAY: Decimal("1.10")})) == {
        "users": [
            {
                "id": str(uuid.UUID(int=1)),
                "at": "2024-02-29T10:30:00",
                "home": "http://test/ada",
                "password": "**********",
                "tags": ["a", "b"],
                "size": 2,
            }
        ],
        "by_day": {"2024-02-29": Decimal("1.10")},
    }


def test_as_json_of_attrs() -> None:
    attrs = library("attrs")
    point = attrs.make_class("Point", ["x", "_y"], slots=True)
    assert as_json({"p": point(1, point(PurePosixPath("a"), 2))}) == {
        "p": {"x": 1, "_y": {"x": "a", "_y": 2}}
    }


# The standard library.


def test_as_json_of_the_standard_library() -> None:
    assert as_json([range(3), deque([1]), ip_address("127.0.0.1")]) == [[0, 1, 2], [1], "127.0.0.1"]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ({1: "a", "1": "b"}, "has two keys that are '1' as a text"),
        (iter([1]), r"compare list\(…\) of it"),
        (Mock(), "serializer"),
        (Mock(status_code=200, headers={}), "is a response without a body"),
    ],
    ids=["keys", "iterator", "mock", "response"],
)
def test_as_json_reports_why_it_refuses(value: object, what: str) -> None:
    with pytest.raises(NoJsonError, match=what):
        as_json(value)

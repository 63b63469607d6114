"""The demo service answers as a real one would; what baselines/demo/ holds is compared there."""

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from baselinekit.demo.service import Service

pytestmark = pytest.mark.slow


@pytest.fixture
def service() -> Iterator[Service]:
    with Service(users=3) as service:
        yield service


def request(
    service: Service, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, Any, dict[str, str]]:
    connection = http.client.HTTPConnection(service.url.removeprefix("http://"), timeout=5)
    content = None if body is None else json.dumps(body)
    connection.request(method, path, content, {name.replace("_", "-"): headers[name] for name in headers})
    response = connection.getresponse()
    raw = response.read()
    connection.close()
    is_json = response.headers["Content-Type"] == "application/json" and raw and raw[:1] != b"\x1f"
    return response.status, json.loads(raw) if is_json else raw, dict(response.headers)


def test_service_version_2_renames_retypes_and_drifts(service: Service) -> None:
    users, order = (request(service, "GET", path)[1] for path in ("/api/v1/users", "/api/v1/orders/1001"))
    assert service.version == 1
    service.upgrade()
    assert service.version == 2
    new, drifted = (request(service, "GET", path)[1] for path in ("/api/v1/users", "/api/v1/orders/1001"))
    assert list(new["users"][0]) == ["id", "full_name", "email", "created_at"]
    assert new["users"][0]["full_name"] == users["users"][0]["name"]
    assert new["pagination"]["total"] == "3"
    assert drifted != order
    assert 0.009 < drifted["items"][0]["price"] - order["items"][0]["price"] < 0.021
    assert 0.009 < drifted["total"] - order["total"] < 0.021
    with Service(version=2) as second:
        assert request(second, "GET", "/health")[1] == {"status": "ok", "version": "2.0.0"}


def test_service_lists_orders_in_pages_and_by_status(service: Service) -> None:
    _, body, _ = request(service, "GET", "/api/v1/orders?page=2&per_page=5")
    assert [order["number"] for order in body["orders"]] == [1006, 1007, 1008, 1009, 1010]
    assert body["pagination"] == {"page": 2, "per_page": 5, "total": 24}
    shipped = request(service, "GET", "/api/v1/orders?status=shipped")[1]["orders"]
    assert {order["status"] for order in shipped} == {"shipped"}
    for order in shipped:
        total = sum(round(item["price"] * 100) * item["quantity"] for item in order["items"])
        assert round(order["total"] * 100) == total
    for query in ("page=0", "per_page=101", "page=x"):
        assert request(service, "GET", f"/api/v1/orders?{query}")[0] == 400


def test_service_logs_in_and_adds_users(service: Service) -> None:
    assert request(service, "GET", "/api/v1/me")[0] == 401
    assert request(service, "POST", "/api/v1/login", {"username": "ada", "password": "x"})[0] == 401
    _, body, _ = request(service, "POST", "/api/v1/login", {"username": "ada", "password": "correct-horse"})
    me = request(service, "GET", "/api/v1/me", Authorization=f"Bearer {body['token']}")
    assert me[:2] == (200, {"username": "ada", "roles": ["reader", "editor"]})
    status, user, headers = request(service, "POST", "/api/v1/users", {"name": "Zoë", "email": "z@x.org"})
    assert (status, user["name"], headers["Location"]) == (201, "Zoë", f"/api/v1/users/{user['id']}")
    assert request(service, "GET", headers["Location"])[1] == user
    for wrong in ({"name": "x"}, {"name": 1, "email": "a@b"}, [], "x"):
        assert request(service, "POST", "/api/v1/users", wrong)[0] == 422


def test_service_errors_are_json(service: Service) -> None:
    status, body, _ = request(service, "GET", "/nope")
    assert (status, body["error"]["status"]) == (404, 404)
    status, _, headers = request(service, "DELETE", "/api/v1/users")
    assert (status, headers["Allow"]) == (405, "GET, POST")
    assert request(service, "POST", "/api/v1/users", Content_Length="9999999")[0] == 413

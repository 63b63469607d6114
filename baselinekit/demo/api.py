"""What the demo service answers, apart from how it is sent."""

import json
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from baselinekit.demo.data import Data, Record, logo, new_user, report, shown_user, stamp
from baselinekit.demo.wire import FORMS

USERNAME, PASSWORD = "ada", "correct-horse"

_MOST_REMEMBERED = 1_000


@dataclass(frozen=True, slots=True)
class Answer:
    """A dictionary is sent as JSON, a text as text, bytes as a picture."""

    status: int
    body: Record | str | bytes
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    """What an answer may depend on, besides the path."""

    query: dict[str, str]
    headers: Any
    body: bytes


class Api:
    """The routes. Tokens and created users are remembered until it stops, up to a number."""

    def __init__(self, version: int, users: int, now: Callable[[], datetime]):
        self.version = version
        self._now = now
        self._data = Data(users, now())
        self._tokens: OrderedDict[str, str] = OrderedDict()
        self._created: OrderedDict[str, Record] = OrderedDict()
        self._lock = threading.Lock()
        self._routes: tuple[tuple[str, str, Callable[..., Answer]], ...] = (
            ("GET", r"/health", self._health),
            ("GET", r"/api/v1/users", self._users),
            ("POST", r"/api/v1/users", self._create_user),
            ("GET", r"/api/v1/users/([^/]+)", self._user),
            ("GET", r"/api/v1/orders", self._orders),
            ("GET", r"/api/v1/orders/(\d{1,9})", self._order),
            ("POST", r"/api/v1/login", self._login),
            ("GET", r"/api/v1/me", self._me),
            ("GET", r"/api/v1/report\.txt", self._report),
            ("GET", r"/api/v1/logo\.png", self._logo),
            ("POST", r"(/v1/chat/completions|/v1/messages)", self._model),
        )

    def answer(self, method: str, path: str, asked: Asked) -> Answer:
        allowed = []
        for wanted, pattern, act in self._routes:
            match = re.fullmatch(pattern, path)
            if match and method == wanted:
                return act(asked, *match.groups())
            if match:
                allowed.append(wanted)
        if allowed:
            return error(405, f"{method} is not allowed here", {"Allow": ", ".join(allowed)})
        return error(404, f"nothing at {path}")

    def _health(self, asked: Asked) -> Answer:
        return Answer(200, {"status": "ok", "version": f"{self.version}.0.0"})

    def _users(self, asked: Asked) -> Answer:
        users = [shown_user(user, self.version) for user in self._data.users]
        return self._page("users", users, asked)

    def _user(self, asked: Asked, wanted: str) -> Answer:
        known = {user["id"]: user for user in self._data.users} | self._created
        if wanted not in known:
            return error(404, f"no user {wanted}")
        return Answer(200, shown_user(known[wanted], self.version))

    def _create_user(self, asked: Asked) -> Answer:
        given = _json_of(asked)
        name, email = given.get("full_name" if self.version > 1 else "name"), given.get("email")
        if not isinstance(name, str) or not isinstance(email, str) or "@" not in email:
            return error(422, "a user needs a name and an email")
        user = new_user(name, email, self._now())
        self._remember(self._created, user["id"], user)
        return Answer(201, shown_user(user, self.version), {"Location": f"/api/v1/users/{user['id']}"})

    def _orders(self, asked: Asked) -> Answer:
        status = asked.query.get("status")
        orders = [order for order in self._data.orders(self.version) if status in (None, order["status"])]
        return self._page("orders", orders, asked)

    def _order(self, asked: Asked, number: str) -> Answer:
        order = self._data.order(int(number), self.version)
        return Answer(200, order) if order else error(404, f"no order {number}")

    def _login(self, asked: Asked) -> Answer:
        given = _json_of(asked)
        if (given.get("username"), given.get("password")) != (USERNAME, PASSWORD):
            return error(401, "wrong username or password")
        token = secrets.token_hex(24)
        self._remember(self._tokens, token, USERNAME)
        expires = stamp(self._now() + timedelta(hours=1))
        return Answer(200, {"token": token, "expires_at": expires})

    def _me(self, asked: Asked) -> Answer:
        scheme, _, token = asked.headers.get("Authorization", "").partition(" ")
        username = self._tokens.get(token.strip()) if scheme.lower() == "bearer" else None
        if username is None:
            return error(401, "log in first", {"WWW-Authenticate": "Bearer"})
        return Answer(200, {"username": username, "roles": ["reader", "editor"]})

    def _report(self, asked: Asked) -> Answer:
        return Answer(200, report(self._data.orders(self.version)))

    def _logo(self, asked: Asked) -> Answer:
        return Answer(200, logo())

    def _model(self, asked: Asked, form: str) -> Answer:
        try:
            return Answer(200, FORMS[form](_json_of(asked), self.version))
        except (KeyError, TypeError, AttributeError):
            return error(400, "a list of messages is needed, each {role, content}")

    def _page(self, name: str, rows: list[Record], asked: Asked) -> Answer:
        try:
            page, per_page = int(asked.query.get("page", "1")), int(asked.query.get("per_page", "20"))
        except ValueError:
            return error(400, "page and per_page are numbers")
        if page < 1 or not 1 <= per_page <= 100:
            return error(400, "page starts at 1, per_page goes from 1 to 100")
        total = len(rows) if self.version == 1 else str(len(rows))
        some = rows[(page - 1) * per_page : page * per_page]
        return Answer(200, {name: some, "pagination": {"page": page, "per_page": per_page, "total": total}})

    def _remember(self, memory: OrderedDict[str, Any], key: str, value: Any) -> None:
        with self._lock:
            memory[key] = value
            if len(memory) > _MOST_REMEMBERED:
                memory.popitem(last=False)


def error(status: int, message: str, headers: dict[str, str] | None = None) -> Answer:
    return Answer(status, {"error": {"status": status, "message": message}}, headers or {})


def _json_of(asked: Asked) -> Record:
    try:
        given = json.loads(asked.body)
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}

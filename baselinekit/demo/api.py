"""What the demo service answers, apart from how it is sent: a model of a few rules, users and orders."""

import json
import re
import secrets
import struct
import threading
import uuid
import zlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import field
from datetime import datetime, timedelta
from typing import Any

from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern

# The demo model: a few rules that always answer the same, in the two wire forms that the world speaks.


# The demo model: a few rules that read a prompt and always answer it the same way, so that prompts,
# judges and tools can be tried without a key. Version 2 is more talkative, as newer models are.


NAMES = {1: "demo-1.0", 2: "demo-2.0"}

_NONCE = lazy_pattern(r"exactly this form, with the same nonce: (\{.*\})\s*$", re.DOTALL)
_LINE = lazy_pattern(r"exactly one line in this form\b.*: (SCORE|DECISION)=<[^>]*> REASON=<[^>]*>\s*$")
_BULLETS = lazy_pattern(r"^(POSITIVE|NEGATIVE) TRIGGERS\b.*:\n((?:- .*\n?)*)", re.MULTILINE)
_WORD = lazy_pattern(r"\w{5,}")
_TEXT = lazy_pattern(r"<<<(.+?) ([0-9a-f]{8,})>>>\n(.*?)\n<<<end of \1 \2>>>", re.DOTALL)
_EMAIL = lazy_pattern(r"[\w.+-]+@[\w-]+\.[\w.]*\w")
_ORDER = lazy_pattern(r"\b(?:order|invoice)\s+(?:no\.?\s*|number\s*|#)?(\d+)", re.IGNORECASE)
_SENTENCE = lazy_pattern(r"[^.!?\n]+[.!?]")
_MOODS = {
    "complaint": ("broken", "late", "refund", "wrong", "disappointed", "never arrived"),
    "praise": ("thank", "great", "love", "excellent"),
    "question": ("?", "how do", "when will", "can i"),
}
_REVERSE = lazy_pattern(r"\bReverse the string: ?(.*)$", re.MULTILINE)
_FUNCTION = lazy_pattern(r"\bPython function\b.*\bfactorial\b", re.IGNORECASE | re.DOTALL)
_FACTORIAL = """\
Here is the function:

```python
def factorial(n):
    if n < 0:
        raise ValueError("n must not be negative")
    return 1 if n < 2 else n * factorial(n - 1)
```
"""
_ROUGH = ("TODO", "FIXME", "obviously", "stupid")


@frozen
class Said:
    """What the model says: a text, or tools that it wants called."""

    text: str
    tool_calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)


def said(messages: list[dict[str, Any]], tools: list[str], version: int) -> Said:
    """The answer to a conversation: a verdict, a call of a tool, a text backwards, a program, an extract, a
    kind of message, a summary."""
    asked = "\n\n".join(str(message["content"]) for message in messages if message["role"] == "user")
    system = " ".join(str(message["content"]) for message in messages if message["role"] == "system")
    whole = f"{system}\n{asked}"
    if form := _NONCE.search(asked):
        return Said(_judged(asked, json.loads(form[1])))
    if line := _LINE.search(asked):
        return Said(_scored(asked) if line[1] == "SCORE" else _called(asked))
    if tools and (number := _ORDER.search(asked)):
        return Said("", [(tools[0], {"order": int(number[1])})])
    if wanted := _REVERSE.search(asked):
        return Said(_backwards(wanted[1].strip().strip("'\""), version))
    if _FUNCTION.search(asked):
        return Said(_FACTORIAL if version == 1 else _FACTORIAL.replace("n < 2", "n == 1"))
    if re.search(r"\bJSON\b", whole):
        return Said(_extract(asked, version))
    if re.search(r"\bclassify\b", whole, re.IGNORECASE):
        return Said(_mood(asked))
    return Said(_summary(asked, version))


def _judged(asked: str, form: dict[str, Any]) -> str:
    texts = {match[1]: match[3] for match in _TEXT.finditer(asked)}
    if "first_in_second" in form:
        first, second = (list(dict.fromkeys(re.findall(r"\w+", text.lower()))) for text in texts.values())
        form["first_in_second"], form["second_in_first"] = _facts(first, second), _facts(second, first)
        form["reason"] = f"{len(set(first) & set(second))} words in common"
        return json.dumps(form)
    if "hits" in form or "checks" in form:
        return json.dumps(_by_share(asked, texts.get("candidate_answer", ""), form))
    text = texts.get("output") or next(iter(texts.values()))
    rough = sum(text.count(word) for word in _ROUGH)
    form["justification"] = "rough words" if rough else "clear and kind"
    if "specific_feedback" in form:
        form["specific_feedback"] = ["say it without the rough words"] if rough else []
    if "scores" in form:
        scores = {name: max(1, round(4.0 + len(name) % 8 / 10 - 0.5 * rough, 2)) for name in form["scores"]}
        form["scores"] = scores
        if "overall_score" in form:
            form["overall_score"] = round(sum(scores.values()) / len(scores), 2)
    if "passed" in form:
        form["passed"] = form["overall_score"] >= 4 if "overall_score" in form else not rough
    return json.dumps(form)


def _by_share(asked: str, answer: str, form: dict[str, Any]) -> dict[str, Any]:
    """A judge by a prompt takes a quarter for each rough word; one by a rubric finds an item met if the
    answer has a word of it."""
    rough = sum(answer.count(word) for word in _ROUGH)
    why = "rough words" if rough else "clear and kind"
    if "hits" in form:
        points = {"hits": [] if rough else [why], "misses": [why] if rough else []}
        return {**form, **points, "score": max(0.0, 1 - rough / 4), "reasoning": why}
    for check in form["checks"]:
        item = re.search(rf"^- ({re.escape(check['id'])}: .*?)(?: \(a whole number.*)?$", asked, re.MULTILINE)
        common = min(_stems(item[1] if item else "") & _stems(answer), default="")
        check["reasoning"] = f"it speaks of {common}…" if common else "it has no word of it"
        check |= {"satisfied": bool(common)} if "satisfied" in check else {"score": 9 if common else 2}
    return {**form, "overall_reasoning": why}


def _scored(asked: str) -> str:
    """A score in one line: a point less for each rough word."""
    text = {match[1]: match[3] for match in _TEXT.finditer(asked)}["output"]
    rough = sum(text.count(word) for word in _ROUGH)
    return f"SCORE={max(1, 5 - rough)} REASON={'Rough words' if rough else 'Clear and kind'}."


def _called(asked: str) -> str:
    """Whether a query is one for what is described: it has a word of that, and none of what that is not for.
    Words are the same that begin with the same five letters."""
    texts = {match[1]: match[3] for match in _TEXT.finditer(asked)}
    lists = dict(_BULLETS.findall(asked))
    query, described = _stems(texts["query"]), _stems(f"{texts['description']}\n{lists.get('POSITIVE', '')}")
    if against := query & _stems(lists.get("NEGATIVE", "")):
        return f"DECISION=NO REASON=It is not for {min(against)}…"
    if common := query & described:
        return f"DECISION=YES REASON=Both are about {min(common)}…"
    return "DECISION=NO REASON=They have no word in common."


def _stems(text: str) -> set[str]:
    return {word[:5].lower() for word in _WORD.findall(text)}


def _facts(words: list[str], others: list[str]) -> list[dict[str, str]]:
    """To this judge every word is a fact."""
    return [{"fact": word, "verdict": "kept" if word in others else "missing"} for word in words or [""]]


def _extract(asked: str, version: int) -> str:
    email, order = _EMAIL.search(asked), _ORDER.search(asked)
    found: dict[str, Any] = {
        "email": email[0] if email else None,
        "order": int(order[1]) if order else None,
        "kind": _mood(asked),
    }
    if version > 1:
        found["urgent"] = "now" in asked.lower()
    body = json.dumps(found, indent=2)
    return body if version == 1 else f"Here is what I found:\n\n```json\n{body}\n```"


def _backwards(text: str, version: int) -> str:
    return text[::-1] if version == 1 else f'The string "{text}" in reverse is "{text[::-1]}".'


def _mood(asked: str) -> str:
    low = asked.lower()
    return next((mood for mood, words in _MOODS.items() if any(word in low for word in words)), "other")


def _summary(asked: str, version: int) -> str:
    """The longest sentence of what was given, which comes last in a prompt."""
    sentences = [sentence.strip() for sentence in _SENTENCE.findall(asked.rstrip().rsplit("\n\n", 1)[-1])]
    best = max(sentences, key=len, default="There is nothing to tell.")
    return best if version == 1 else f"In short: {best[0].lower()}{best[1:]}"


# The demo model in the two wire forms that the world speaks.


Body = dict[str, Any]


def chat_completions(given: Body, version: int) -> Body:
    """`POST /v1/chat/completions`."""
    tools = [tool["function"]["name"] for tool in given.get("tools", [])]
    answer = said(given["messages"], tools, version)
    calls = [
        {
            "id": f"call_{n}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for n, (name, arguments) in enumerate(answer.tool_calls)
    ]
    message: Body = {"role": "assistant", "content": answer.text or None}
    if calls:
        message["tool_calls"] = calls
    reason = "tool_calls" if calls else "stop"
    taken, made = count_tokens(given["messages"], answer)
    return {
        "id": "chatcmpl-demo",
        "object": "chat.completion",
        "model": NAMES[version],
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": taken, "completion_tokens": made, "total_tokens": taken + made},
    }


def messages(given: Body, version: int) -> Body:
    """`POST /v1/messages`."""
    system = [{"role": "system", "content": given["system"]}] if given.get("system") else []
    tools = [tool["name"] for tool in given.get("tools", [])]
    answer = said([*system, *given["messages"]], tools, version)
    content: list[Body] = [{"type": "text", "text": answer.text}] if answer.text else []
    content += [
        {"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": arguments}
        for n, (name, arguments) in enumerate(answer.tool_calls)
    ]
    taken, made = count_tokens(given["messages"], answer)
    return {
        "id": "msg_demo",
        "type": "message",
        "role": "assistant",
        "model": NAMES[version],
        "content": content,
        "stop_reason": "tool_use" if answer.tool_calls else "end_turn",
        "usage": {"input_tokens": taken, "output_tokens": made},
    }


FORMS: dict[str, Callable[[Body, int], Body]] = {
    "/v1/chat/completions": chat_completions,
    "/v1/messages": messages,
}


def count_tokens(asked: list[Body], answer: Said) -> tuple[int, int]:
    """About four characters each."""
    return sum(len(str(message["content"])) for message in asked) // 4, max(1, len(answer.text) // 4)


# What the demo service answers, apart from how it is sent.


# What the demo service knows: users with new ids and timestamps at every start, and orders with prices.
# Version 2 renames a user's `name` to `full_name`, gives the total of a list as text, and one price has
# drifted by a cent.


Record = dict[str, Any]

_FIRST = ("Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald", "Radia", "Tim", "Margaret", "Linus")
_LAST = ("Lovelace", "Hopper", "Turing", "Dijkstra", "Liskov", "Knuth", "Perlman")
_ARTICLES = (("KB-104", 4990), ("MS-201", 1995), ("CB-330", 745), ("ST-512", 12900))
_DRIFTED = "KB-104"
_STATUSES = ("open", "paid", "shipped", "delivered")
_ORDERS = 24
FIRST_ORDER = 1001


class Data:
    def __init__(self, users: int, start: datetime):
        self._started = start
        self.users = [
            self._user(index, start - timedelta(days=index, hours=3)) for index in range(max(1, users))
        ]

    def _user(self, index: int, created: datetime) -> Record:
        first, last = _FIRST[index % len(_FIRST)], _LAST[index % len(_LAST)]
        email = f"{first}.{last}".lower() + f"{index // 70 or ''}@example.com"
        return new_user(f"{first} {last}", email, created)

    def order(self, number: int, version: int) -> Record | None:
        index = number - FIRST_ORDER
        if not 0 <= index < _ORDERS:
            return None
        items: list[Record] = []
        total = 0
        for position in range(index % 3 + 1):
            sku, cents = _ARTICLES[(index + position) % len(_ARTICLES)]
            cents += 1 if version > 1 and sku == _DRIFTED else 0
            quantity = position % 2 + 1
            total += cents * quantity
            items.append({"sku": sku, "quantity": quantity, "price": cents / 100})
        placed = self._started - timedelta(hours=index + 1)
        return {
            "number": number,
            "status": _STATUSES[index % len(_STATUSES)],
            "customer_id": self.users[index % len(self.users)]["id"],
            "placed_at": stamp(placed),
            "items": items,
            "total": total / 100,
            "currency": "EUR",
        }

    def orders(self, version: int) -> list[Record]:
        numbers = range(FIRST_ORDER, FIRST_ORDER + _ORDERS)
        return [order for number in numbers if (order := self.order(number, version))]


def new_user(name: str, email: str, created: datetime) -> Record:
    return {"id": str(uuid.uuid4()), "name": name, "email": email, "created_at": stamp(created)}


def shown_user(user: Record, version: int) -> Record:
    """A user as the version of the API words it."""
    return user if version == 1 else {"full_name" if key == "name" else key: user[key] for key in user}


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def report(orders: list[Record]) -> str:
    counts = {status: sum(order["status"] == status for order in orders) for status in _STATUSES}
    rows = "".join(f"{status:<10} {count:>4}\n" for status, count in counts.items())
    return f"Orders by status\n\n{rows}{'total':<10} {len(orders):>4}\n"


def logo() -> bytes:
    """A small picture: a chequered PNG of 8 by 8 dots."""
    blue, white = b"\x33\x66\x99", b"\xff" * 3
    dots = [b"\0" + (blue + white if y % 2 else white + blue) * 4 for y in range(8)]
    size = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", size), (b"IDAT", zlib.compress(b"".join(dots))), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )


# What the demo service answers, apart from how it is sent.


USERNAME, PASSWORD = "ada", "correct-horse"

_MOST_REMEMBERED = 1_000


@frozen
class DemoAnswer:
    """A dictionary is sent as JSON, a text as text, bytes as a picture."""

    status: int
    body: Record | str | bytes
    headers: dict[str, str] = field(default_factory=dict)


@frozen
class DemoRequest:
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
        self._routes: tuple[tuple[str, str, Callable[..., DemoAnswer]], ...] = (
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

    def answer(self, method: str, path: str, asked: DemoRequest) -> DemoAnswer:
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

    def _health(self, asked: DemoRequest) -> DemoAnswer:
        return DemoAnswer(200, {"status": "ok", "version": f"{self.version}.0.0"})

    def _users(self, asked: DemoRequest) -> DemoAnswer:
        users = [shown_user(user, self.version) for user in self._data.users]
        return self._page("users", users, asked)

    def _user(self, asked: DemoRequest, wanted: str) -> DemoAnswer:
        known = {user["id"]: user for user in self._data.users} | self._created
        if wanted not in known:
            return error(404, f"no user {wanted}")
        return DemoAnswer(200, shown_user(known[wanted], self.version))

    def _create_user(self, asked: DemoRequest) -> DemoAnswer:
        given = json_of(asked)
        name, email = given.get("full_name" if self.version > 1 else "name"), given.get("email")
        if not isinstance(name, str) or not isinstance(email, str) or "@" not in email:
            return error(422, "a user needs a name and an email")
        user = new_user(name, email, self._now())
        self._remember(self._created, user["id"], user)
        return DemoAnswer(201, shown_user(user, self.version), {"Location": f"/api/v1/users/{user['id']}"})

    def _orders(self, asked: DemoRequest) -> DemoAnswer:
        status = asked.query.get("status")
        orders = [order for order in self._data.orders(self.version) if status in (None, order["status"])]
        return self._page("orders", orders, asked)

    def _order(self, asked: DemoRequest, number: str) -> DemoAnswer:
        order = self._data.order(int(number), self.version)
        return DemoAnswer(200, order) if order else error(404, f"no order {number}")

    def _login(self, asked: DemoRequest) -> DemoAnswer:
        given = json_of(asked)
        if (given.get("username"), given.get("password")) != (USERNAME, PASSWORD):
            return error(401, "wrong username or password")
        token = secrets.token_hex(24)
        self._remember(self._tokens, token, USERNAME)
        expires = stamp(self._now() + timedelta(hours=1))
        return DemoAnswer(200, {"token": token, "expires_at": expires})

    def _me(self, asked: DemoRequest) -> DemoAnswer:
        scheme, _, token = asked.headers.get("Authorization", "").partition(" ")
        username = self._tokens.get(token.strip()) if scheme.lower() == "bearer" else None
        if username is None:
            return error(401, "log in first", {"WWW-Authenticate": "Bearer"})
        return DemoAnswer(200, {"username": username, "roles": ["reader", "editor"]})

    def _report(self, asked: DemoRequest) -> DemoAnswer:
        return DemoAnswer(200, report(self._data.orders(self.version)))

    def _logo(self, asked: DemoRequest) -> DemoAnswer:
        return DemoAnswer(200, logo())

    def _model(self, asked: DemoRequest, form: str) -> DemoAnswer:
        try:
            return DemoAnswer(200, FORMS[form](json_of(asked), self.version))
        except (KeyError, TypeError, AttributeError):
            return error(400, "a list of messages is needed, each {role, content}")

    def _page(self, name: str, rows: list[Record], asked: DemoRequest) -> DemoAnswer:
        try:
            page, per_page = int(asked.query.get("page", "1")), int(asked.query.get("per_page", "20"))
        except ValueError:
            return error(400, "page and per_page are numbers")
        if page < 1 or not 1 <= per_page <= 100:
            return error(400, "page starts at 1, per_page goes from 1 to 100")
        total = len(rows) if self.version == 1 else str(len(rows))
        some = rows[(page - 1) * per_page : page * per_page]
        return DemoAnswer(
            200, {name: some, "pagination": {"page": page, "per_page": per_page, "total": total}}
        )

    def _remember(self, memory: OrderedDict[str, Any], key: str, value: Any) -> None:
        with self._lock:
            memory[key] = value
            if len(memory) > _MOST_REMEMBERED:
                memory.popitem(last=False)


def error(status: int, message: str, headers: dict[str, str] | None = None) -> DemoAnswer:
    return DemoAnswer(status, {"error": {"status": status, "message": message}}, headers or {})


def json_of(asked: DemoRequest) -> Record:
    try:
        given = json.loads(asked.body)
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}

"""What the demo service answers, independent of HTTP: a model with a few rules, users and orders."""

import json
import re
import secrets
import struct
import threading
import uuid
import zlib
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from baselinekit.lazy import lazy_pattern
from baselinekit.structs import Struct, field

# The demo model: a few rules that read a prompt and always answer it the same way, so that prompts,
# judges and tools can be tried without a key. Version 2 is more talkative, as newer models are.


NAMES = {1: "demo-1.0", 2: "demo-2.0"}

_NONCE = lazy_pattern(r"exactly this form, with the same nonce: (\{.*\})\s*$", re.DOTALL)
_PLACES = lazy_pattern(r": (<[^<>]*>)")
_LINE = lazy_pattern(r"exactly one line in this form\b.*: (SCORE|DECISION)=<[^>]*> REASON=<[^>]*>\s*$")
_BULLETS = lazy_pattern(r"^(POSITIVE|NEGATIVE) TRIGGERS\b.*:\n((?:- .*\n?)*)", re.MULTILINE)
_WORD = lazy_pattern(r"\w{5,}")
_TEXT = lazy_pattern(r"<<<(.+?) ([0-9a-f]{8,})>>>\n(.*?)\n<<<end of \1 \2>>>", re.DOTALL)
_EMAIL = lazy_pattern(r"[\w.+-]+@[\w-]+\.[\w.]*\w")
_ORDER = lazy_pattern(r"\b(?:order|invoice)\s+(?:no\.?\s*|number\s*|#)?(\d+)", re.IGNORECASE)
_SENTENCE = lazy_pattern(r"[^.!?\n]+[.!?]")
_KIND_WORDS = {
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
_ROUGH_WORDS = ("TODO", "FIXME", "obviously", "stupid")


class ModelReply(Struct):
    """The model's reply: a text, or tools that it wants called."""

    text: str
    tool_calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)


def reply_to(messages: list[dict[str, Any]], tools: list[str], version: int) -> ModelReply:
    """Answer a conversation: with a verdict, a tool call, a reversed text, a program, an extract, the kind of
    a message or a summary."""
    question = "\n\n".join(str(message["content"]) for message in messages if message["role"] == "user")
    system = " ".join(str(message["content"]) for message in messages if message["role"] == "system")
    text = f"{system}\n{question}"
    if form := _NONCE.search(question):
        return ModelReply(_fill_judge_form(question, json.loads(_PLACES.sub(r': "\1"', form[1]))))
    if line_match := _LINE.search(question):
        return ModelReply(_score_line(question) if line_match[1] == "SCORE" else _decision_line(question))
    if tools and (number := _ORDER.search(question)):
        return ModelReply("", [(tools[0], {"order": int(number[1])})])
    if reverse_match := _REVERSE.search(question):
        return ModelReply(_reverse_text(reverse_match[1].strip().strip("'\""), version))
    if _FUNCTION.search(question):
        return ModelReply(_FACTORIAL if version == 1 else _FACTORIAL.replace("n < 2", "n == 1"))
    if re.search(r"\bJSON\b", text):
        return ModelReply(_extract(question, version))
    if re.search(r"\bclassify\b", text, re.IGNORECASE):
        return ModelReply(_classify(question))
    return ModelReply(_summarize(question, version))


def _fill_judge_form(question: str, form: dict[str, Any]) -> str:
    texts = {match[1]: match[3] for match in _TEXT.finditer(question)}
    if "first_in_second" in form:
        first, second = (
            list(dict.fromkeys(re.findall(r"\w+", texts[name].lower())))
            for name in ("first text", "second text")
        )
        form["first_in_second"], form["second_in_first"] = (
            _compare_facts(first, second),
            _compare_facts(second, first),
        )
        form["reason"] = f"{len(set(first) & set(second))} words in common"
        return json.dumps(form)
    if "hits" in form or "checks" in form:
        return json.dumps(_grade_share(question, texts.get("candidate_answer", ""), form))
    text = texts.get("output") or next(iter(texts.values()))
    rough = sum(text.count(word) for word in _ROUGH_WORDS)
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


def _grade_share(question: str, answer: str, form: dict[str, Any]) -> dict[str, Any]:
    """A judge with a prompt subtracts a quarter for each rough word; a judge with a rubric counts an item as
    met if the answer shares a word with it."""
    rough = sum(answer.count(word) for word in _ROUGH_WORDS)
    reason = "rough words" if rough else "clear and kind"
    if "hits" in form:
        points = {"hits": [] if rough else [reason], "misses": [reason] if rough else []}
        return {**form, **points, "score": max(0.0, 1 - rough / 4), "reasoning": reason}
    for check in form["checks"]:
        item = re.search(
            rf"^- ({re.escape(check['id'])}: .*?)(?: \(a whole number.*)?$", question, re.MULTILINE
        )
        common = min(_stems(item[1] if item else "") & _stems(answer), default="")
        check["reasoning"] = f"it speaks of {common}…" if common else "it has no word of it"
        check |= {"satisfied": bool(common)} if "satisfied" in check else {"score": 9 if common else 2}
    return {**form, "overall_reasoning": reason}


def _score_line(question: str) -> str:
    """A score on one line: one point less for each rough word."""
    text = {match[1]: match[3] for match in _TEXT.finditer(question)}["output"]
    rough = sum(text.count(word) for word in _ROUGH_WORDS)
    return f"SCORE={max(1, 5 - rough)} REASON={'Rough words' if rough else 'Clear and kind'}."


def _decision_line(question: str) -> str:
    """Decide whether a query matches a description: it must share a word with the description and none with
    the negative triggers. Words count as the same if their first five letters are."""
    texts = {match[1]: match[3] for match in _TEXT.finditer(question)}
    lists = dict(_BULLETS.findall(question))
    query, description = (
        _stems(texts["query"]),
        _stems(f"{texts['description']}\n{lists.get('POSITIVE', '')}"),
    )
    if excluded := query & _stems(lists.get("NEGATIVE", "")):
        return f"DECISION=NO REASON=It is not for {min(excluded)}…"
    if common := query & description:
        return f"DECISION=YES REASON=Both are about {min(common)}…"
    return "DECISION=NO REASON=They have no word in common."


def _stems(text: str) -> set[str]:
    return {word[:5].lower() for word in _WORD.findall(text)}


def _compare_facts(words: list[str], others: list[str]) -> list[dict[str, str]]:
    """This judge takes every word for a fact."""
    return [{"fact": word, "verdict": "kept" if word in others else "missing"} for word in words or [""]]


def _extract(question: str, version: int) -> str:
    email, order = _EMAIL.search(question), _ORDER.search(question)
    fields: dict[str, Any] = {
        "email": email[0] if email else None,
        "order": int(order[1]) if order else None,
        "kind": _classify(question),
    }
    if version > 1:
        fields["urgent"] = "now" in question.lower()
    body = json.dumps(fields, indent=2)
    return body if version == 1 else f"Here is what I found:\n\n```json\n{body}\n```"


def _reverse_text(text: str, version: int) -> str:
    return text[::-1] if version == 1 else f'The string "{text}" in reverse is "{text[::-1]}".'


def _classify(question: str) -> str:
    lowered = question.lower()
    return next(
        (kind for kind, words in _KIND_WORDS.items() if any(word in lowered for word in words)), "other"
    )


def _summarize(question: str, version: int) -> str:
    """The longest sentence of the input, which comes last in a prompt."""
    sentences = [sentence.strip() for sentence in _SENTENCE.findall(question.rstrip().rsplit("\n\n", 1)[-1])]
    longest = max(sentences, key=len, default="There is nothing to tell.")
    return longest if version == 1 else f"In short: {longest[0].lower()}{longest[1:]}"


# The demo model in the two common wire forms: OpenAI's and Anthropic's.


Body = dict[str, Any]


def chat_completions(request: Body, version: int) -> Body:
    """`POST /v1/chat/completions`."""
    tools = [tool["function"]["name"] for tool in request.get("tools", [])]
    answer = reply_to(request["messages"], tools, version)
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
    prompt_tokens, completion_tokens = count_tokens(request["messages"], answer)
    return {
        "id": "chatcmpl-demo",
        "object": "chat.completion",
        "model": NAMES[version],
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }


def messages(request: Body, version: int) -> Body:
    """`POST /v1/messages`."""
    system = [{"role": "system", "content": request["system"]}] if request.get("system") else []
    tools = [tool["name"] for tool in request.get("tools", [])]
    answer = reply_to([*system, *request["messages"]], tools, version)
    content: list[Body] = [{"type": "text", "text": answer.text}] if answer.text else []
    content += [
        {"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": arguments}
        for n, (name, arguments) in enumerate(answer.tool_calls)
    ]
    input_tokens, output_tokens = count_tokens(request["messages"], answer)
    return {
        "id": "msg_demo",
        "type": "message",
        "role": "assistant",
        "model": NAMES[version],
        "content": content,
        "stop_reason": "tool_use" if answer.tool_calls else "end_turn",
        "usage": {"input_tokens": input_tokens, "output_tokens": output_tokens},
    }


FORMS: dict[str, Callable[[Body, int], Body]] = {
    "/v1/chat/completions": chat_completions,
    "/v1/messages": messages,
}


def count_tokens(messages: list[Body], answer: ModelReply) -> tuple[int, int]:
    """Estimate the tokens of messages and reply: about four characters each."""
    return sum(len(str(message["content"])) for message in messages) // 4, max(1, len(answer.text) // 4)


# The data of the demo service: users with new ids and timestamps at every start, and orders with prices.
# Version 2 renames a user's `name` to `full_name`, returns the total of a list as text, and raises one price
# by a cent.


Record = dict[str, Any]

_FIRST = ("Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald", "Radia", "Tim", "Margaret", "Linus")
_LAST = ("Lovelace", "Hopper", "Turing", "Dijkstra", "Liskov", "Knuth", "Perlman")
_ARTICLES = (("KB-104", 4990), ("MS-201", 1995), ("CB-330", 745), ("ST-512", 12900))
_DRIFTED_SKU = "KB-104"
_STATUSES = ("open", "paid", "shipped", "delivered")
_ORDER_COUNT = 24
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
        if not 0 <= index < _ORDER_COUNT:
            return None
        items: list[Record] = []
        total = 0
        for position in range(index % 3 + 1):
            sku, cents = _ARTICLES[(index + position) % len(_ARTICLES)]
            cents += 1 if version > 1 and sku == _DRIFTED_SKU else 0
            quantity = position % 2 + 1
            total += cents * quantity
            items.append({"sku": sku, "quantity": quantity, "price": cents / 100})
        placed_at = self._started - timedelta(hours=index + 1)
        return {
            "number": number,
            "status": _STATUSES[index % len(_STATUSES)],
            "customer_id": self.users[index % len(self.users)]["id"],
            "placed_at": stamp(placed_at),
            "items": items,
            "total": total / 100,
            "currency": "EUR",
        }

    def orders(self, version: int) -> list[Record]:
        numbers = range(FIRST_ORDER, FIRST_ORDER + _ORDER_COUNT)
        return [order for number in numbers if (order := self.order(number, version))]


def new_user(name: str, email: str, created: datetime) -> Record:
    return {"id": str(uuid.uuid4()), "name": name, "email": email, "created_at": stamp(created)}


def shown_user(user: Record, version: int) -> Record:
    """A user in the form of an API version."""
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


# The routes of the demo service, independent of HTTP.


USERNAME, PASSWORD = "ada", "correct-horse"

_MAX_REMEMBERED = 1_000


class DemoAnswer(Struct):
    """A dictionary is sent as JSON, a string as text, bytes as a picture."""

    status: int
    body: Record | str | bytes
    headers: dict[str, str] = field(default_factory=dict)


class DemoRequest(Struct):
    """The parts of a request that an answer may depend on, besides the path."""

    query: dict[str, str]
    headers: Any
    body: bytes


class Api:
    """The routes. Tokens and created users are kept until the service stops, up to a maximum number."""

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

    def answer(self, method: str, path: str, request: DemoRequest) -> DemoAnswer:
        allowed = []
        for route_method, pattern, handler in self._routes:
            match = re.fullmatch(pattern, path)
            if match and method == route_method:
                return handler(request, *match.groups())
            if match:
                allowed.append(route_method)
        if allowed:
            return error(405, f"{method} is not allowed here", {"Allow": ", ".join(allowed)})
        return error(404, f"nothing at {path}")

    def _health(self, request: DemoRequest) -> DemoAnswer:
        return DemoAnswer(200, {"status": "ok", "version": f"{self.version}.0.0"})

    def _users(self, request: DemoRequest) -> DemoAnswer:
        users = [shown_user(user, self.version) for user in self._data.users]
        return self._page("users", users, request)

    def _user(self, request: DemoRequest, user_id: str) -> DemoAnswer:
        users = {user["id"]: user for user in self._data.users} | self._created
        if user_id not in users:
            return error(404, f"no user {user_id}")
        return DemoAnswer(200, shown_user(users[user_id], self.version))

    def _create_user(self, request: DemoRequest) -> DemoAnswer:
        body = json_of(request)
        name, email = body.get("full_name" if self.version > 1 else "name"), body.get("email")
        if not isinstance(name, str) or not isinstance(email, str) or "@" not in email:
            return error(422, "a user needs a name and an email")
        user = new_user(name, email, self._now())
        self._remember(self._created, user["id"], user)
        return DemoAnswer(201, shown_user(user, self.version), {"Location": f"/api/v1/users/{user['id']}"})

    def _orders(self, request: DemoRequest) -> DemoAnswer:
        status = request.query.get("status")
        orders = [order for order in self._data.orders(self.version) if status in (None, order["status"])]
        return self._page("orders", orders, request)

    def _order(self, request: DemoRequest, number: str) -> DemoAnswer:
        order = self._data.order(int(number), self.version)
        return DemoAnswer(200, order) if order else error(404, f"no order {number}")

    def _login(self, request: DemoRequest) -> DemoAnswer:
        body = json_of(request)
        if (body.get("username"), body.get("password")) != (USERNAME, PASSWORD):
            return error(401, "wrong username or password")
        token = secrets.token_hex(24)
        self._remember(self._tokens, token, USERNAME)
        expires = stamp(self._now() + timedelta(hours=1))
        return DemoAnswer(200, {"token": token, "expires_at": expires})

    def _me(self, request: DemoRequest) -> DemoAnswer:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        username = self._tokens.get(token.strip()) if scheme.lower() == "bearer" else None
        if username is None:
            return error(401, "log in first", {"WWW-Authenticate": "Bearer"})
        return DemoAnswer(200, {"username": username, "roles": ["reader", "editor"]})

    def _report(self, request: DemoRequest) -> DemoAnswer:
        return DemoAnswer(200, report(self._data.orders(self.version)))

    def _logo(self, request: DemoRequest) -> DemoAnswer:
        return DemoAnswer(200, logo())

    def _model(self, request: DemoRequest, form: str) -> DemoAnswer:
        try:
            return DemoAnswer(200, FORMS[form](json_of(request), self.version))
        except (KeyError, TypeError, AttributeError):
            return error(400, "a list of messages is needed, each {role, content}")

    def _page(self, name: str, rows: list[Record], request: DemoRequest) -> DemoAnswer:
        try:
            page, per_page = int(request.query.get("page", "1")), int(request.query.get("per_page", "20"))
        except ValueError:
            return error(400, "page and per_page are numbers")
        if page < 1 or not 1 <= per_page <= 100:
            return error(400, "page starts at 1, per_page goes from 1 to 100")
        total = len(rows) if self.version == 1 else str(len(rows))
        page_rows = rows[(page - 1) * per_page : page * per_page]
        return DemoAnswer(
            200, {name: page_rows, "pagination": {"page": page, "per_page": per_page, "total": total}}
        )

    def _remember(self, memory: OrderedDict[str, Any], key: str, value: Any) -> None:
        with self._lock:
            memory[key] = value
            if len(memory) > _MAX_REMEMBERED:
                memory.popitem(last=False)


def error(status: int, message: str, headers: dict[str, str] | None = None) -> DemoAnswer:
    return DemoAnswer(status, {"error": {"status": status, "message": message}}, headers or {})


def json_of(request: DemoRequest) -> Record:
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}

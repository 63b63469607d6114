"""What the demo service answers, independent of HTTP: a model with a few rules, users and orders."""

import json
import re
import secrets
import uuid
from base64 import b64decode
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
_RATHER = {True: "rough words", False: "clear and kind"}


class ModelReply(Struct):
    """The model's reply: a text, or tools that it wants called."""

    text: str
    tool_calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)


def reply_to(messages: list[dict[str, Any]], tools: list[str], version: int) -> ModelReply:
    """Answer a conversation: with a verdict, a tool call, a reversed text, a program, an extract, the kind of
    a message or a summary."""
    question = "\n\n".join(str(message["content"]) for message in messages if message["role"] == "user")
    system = " ".join(str(message["content"]) for message in messages if message["role"] == "system")
    number = _ORDER.search(question)
    if tools and number and not (_NONCE.search(question) or _LINE.search(question)):
        return ModelReply("", [(tools[0], {"order": int(number[1])})])
    return ModelReply(_reply(question, f"{system}\n{question}", version))


def _reply(question: str, text: str, version: int) -> str:
    if form := _NONCE.search(question):
        return json.dumps(_fill_form(question, json.loads(_PLACES.sub(r': "\1"', form[1]))))
    if line := _LINE.search(question):
        return _score_line(question) if line[1] == "SCORE" else _decision_line(question)
    if reverse := _REVERSE.search(question):
        word = reverse[1].strip().strip("'\"")
        return word[::-1] if version == 1 else f'The string "{word}" in reverse is "{word[::-1]}".'
    if _FUNCTION.search(question):
        return _FACTORIAL if version == 1 else _FACTORIAL.replace("n < 2", "n == 1")
    lowered = question.lower()
    kinds = (kind for kind, words in _KIND_WORDS.items() if any(word in lowered for word in words))
    kind = next(kinds, "other")
    if re.search(r"\bJSON\b", text):
        email, order = _EMAIL.search(question), _ORDER.search(question)
        found = {"email": email and email[0], "order": order and int(order[1]), "kind": kind}
        body = json.dumps(found | ({"urgent": "now" in lowered} if version > 1 else {}), indent=2)
        return body if version == 1 else f"Here is what I found:\n\n```json\n{body}\n```"
    if re.search(r"\bclassify\b", text, re.IGNORECASE):
        return kind
    # the longest sentence of the input, which comes last in a prompt
    sentences = [sentence.strip() for sentence in _SENTENCE.findall(question.rstrip().rsplit("\n\n", 1)[-1])]
    longest = max(sentences, key=len, default="There is nothing to tell.")
    return longest if version == 1 else f"In short: {longest[0].lower()}{longest[1:]}"


def _fill_form(question: str, form: dict[str, Any]) -> dict[str, Any]:
    texts = {match[1]: match[3] for match in _TEXT.finditer(question)}
    if "first_in_second" in form:  # this judge takes every word for a fact
        texts_of_both = [texts["first text"].lower(), texts["second text"].lower()]
        words = [list(dict.fromkeys(re.findall(r"\w+", text))) for text in texts_of_both]
        for key, (own, other) in {"first_in_second": words, "second_in_first": words[::-1]}.items():
            verdicts = {word: "kept" if word in other else "missing" for word in own or [""]}
            form[key] = [{"fact": word, "verdict": verdict} for word, verdict in verdicts.items()]
        return {**form, "reason": f"{len(set(words[0]) & set(words[1]))} words in common"}
    if "hits" in form or "checks" in form:
        return _grade_share(question, texts.get("candidate_answer", ""), form)
    rough = _count_rough(texts.get("output") or next(iter(texts.values())))
    form["justification"] = _RATHER[bool(rough)]
    if "specific_feedback" in form:
        form["specific_feedback"] = ["say it without the rough words"] if rough else []
    if "scores" in form:
        scores = {name: max(1, round(4.0 + len(name) % 8 / 10 - 0.5 * rough, 2)) for name in form["scores"]}
        form["scores"] = scores
        if "overall_score" in form:
            form["overall_score"] = round(sum(scores.values()) / len(scores), 2)
    if "passed" in form:
        form["passed"] = form["overall_score"] >= 4 if "overall_score" in form else not rough
    return form


def _grade_share(question: str, answer: str, form: dict[str, Any]) -> dict[str, Any]:
    """A judge with a prompt subtracts a quarter for each rough word; a judge with a rubric counts an item as
    met if the answer shares a word with it."""
    rough = _count_rough(answer)
    reason = _RATHER[bool(rough)]
    if "hits" in form:
        points = {"hits": [] if rough else [reason], "misses": [reason] if rough else []}
        return {**form, **points, "score": max(0.0, 1 - rough / 4), "reasoning": reason}
    for check in form["checks"]:
        row = rf"^- ({re.escape(check['id'])}: .*?)(?: \(a whole number.*)?$"
        item = re.search(row, question, re.MULTILINE)
        common = min(_stems(item[1] if item else "") & _stems(answer), default="")
        check["reasoning"] = f"it speaks of {common}…" if common else "it has no word of it"
        check |= {"satisfied": bool(common)} if "satisfied" in check else {"score": 9 if common else 2}
    return {**form, "overall_reasoning": reason}


def _score_line(question: str) -> str:
    """A score on one line: one point less for each rough word."""
    rough = _count_rough({match[1]: match[3] for match in _TEXT.finditer(question)}["output"])
    return f"SCORE={max(1, 5 - rough)} REASON={_RATHER[bool(rough)].capitalize()}."


def _decision_line(question: str) -> str:
    """Decide whether a query matches a description: it must share a word with the description and none with
    the negative triggers. Words count as the same if their first five letters are."""
    texts = {match[1]: match[3] for match in _TEXT.finditer(question)}
    lists = dict(_BULLETS.findall(question))
    query = _stems(texts["query"])
    description = _stems(f"{texts['description']}\n{lists.get('POSITIVE', '')}")
    if excluded := query & _stems(lists.get("NEGATIVE", "")):
        return f"DECISION=NO REASON=It is not for {min(excluded)}…"
    if common := query & description:
        return f"DECISION=YES REASON=Both are about {min(common)}…"
    return "DECISION=NO REASON=They have no word in common."


def _count_rough(text: str) -> int:
    return sum(text.count(word) for word in _ROUGH_WORDS)


def _stems(text: str) -> set[str]:
    return {word[:5].lower() for word in _WORD.findall(text)}


# The demo model in the two common wire forms: OpenAI's and Anthropic's.

Body = dict[str, Any]


def chat_completions(request: Body, version: int) -> Body:
    """`POST /v1/chat/completions`."""
    tools = [tool["function"]["name"] for tool in request.get("tools", [])]
    reply = reply_to(request["messages"], tools, version)
    message: Body = {"role": "assistant", "content": reply.text or None}
    for number, (name, arguments) in enumerate(reply.tool_calls):
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        message.setdefault("tool_calls", []).append(call)
    reason = "tool_calls" if reply.tool_calls else "stop"
    used, made = count_tokens(request["messages"], reply)
    choice = {"index": 0, "message": message, "finish_reason": reason}
    usage = {"prompt_tokens": used, "completion_tokens": made, "total_tokens": used + made}
    return {
        "id": "chatcmpl-demo",
        "object": "chat.completion",
        "model": NAMES[version],
        "choices": [choice],
        "usage": usage,
    }


def messages(request: Body, version: int) -> Body:
    """`POST /v1/messages`."""
    system = [{"role": "system", "content": request["system"]}] if request.get("system") else []
    tools = [tool["name"] for tool in request.get("tools", [])]
    reply = reply_to([*system, *request["messages"]], tools, version)
    content: list[Body] = [{"type": "text", "text": reply.text}] if reply.text else []
    for number, (name, arguments) in enumerate(reply.tool_calls):
        content.append({"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments})
    used, made = count_tokens(request["messages"], reply)
    return {
        "id": "msg_demo",
        "type": "message",
        "role": "assistant",
        "model": NAMES[version],
        "content": content,
        "stop_reason": "tool_use" if reply.tool_calls else "end_turn",
        "usage": {"input_tokens": used, "output_tokens": made},
    }


FORMS = {"/v1/chat/completions": chat_completions, "/v1/messages": messages}


def count_tokens(messages: list[Body], reply: ModelReply) -> tuple[int, int]:
    """Estimate the tokens of messages and reply: about four characters each."""
    return sum(len(str(message["content"])) for message in messages) // 4, max(1, len(reply.text) // 4)


# The demo service: users with new ids and timestamps at every start, and orders with prices. Version 2
# renames a user's `name` to `full_name`, returns the total of a list as text, and raises one price by a cent.

Record = dict[str, Any]
USERNAME, PASSWORD = "ada", "correct-horse"
_FIRST = ("Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald", "Radia", "Tim", "Margaret", "Linus")
_LAST = ("Lovelace", "Hopper", "Turing", "Dijkstra", "Liskov", "Knuth", "Perlman")
_ARTICLES = (("KB-104", 4990), ("MS-201", 1995), ("CB-330", 745), ("ST-512", 12900))
_DRIFTED_SKU = "KB-104"
_STATUSES = ("open", "paid", "shipped", "delivered")
_ORDERS = range(1001, 1025)
_LOGO = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAGUlEQVR4nGP4"
    "//+/cdpMTJIBqyiQZBiUOgBClIXhLpEAYwAAAABJRU5ErkJggg=="
)


class DemoAnswer(Struct):
    """`body`: an object is sent as JSON, a string as text, bytes as a picture."""

    status: int
    body: Record | str | bytes
    headers: dict[str, str] = field(default_factory=dict)


class DemoRequest(Struct):
    """The parts of a request that an answer may depend on, besides the path."""

    query: dict[str, str]
    headers: Any
    body: bytes


class Api:
    """The routes. Tokens and created users are kept until the service stops."""

    def __init__(self, version: int, users: int, now: Callable[[], datetime]):
        self.version, self._now, self._started = version, now, now()
        self._users: list[Record] = []
        for index in range(max(1, users)):
            name = f"{_FIRST[index % len(_FIRST)]} {_LAST[index % len(_LAST)]}"
            email = f"{name.lower().replace(' ', '.')}{index // 70 or ''}@example.com"
            self._users.append(_new_user(name, email, self._started - timedelta(days=index, hours=3)))
        self._created: dict[str, Record] = {}
        self._tokens: dict[str, str] = {}
        self._routes: tuple[tuple[str, str, Callable[..., DemoAnswer]], ...] = (
            ("GET", r"/health", self._health),
            ("GET", r"/api/v1/users", self._list_users),
            ("POST", r"/api/v1/users", self._create_user),
            ("GET", r"/api/v1/users/([^/]+)", self._user),
            ("GET", r"/api/v1/orders", self._list_orders),
            ("GET", r"/api/v1/orders/(\d{1,9})", self._order),
            ("POST", r"/api/v1/login", self._login),
            ("GET", r"/api/v1/me", self._me),
            ("GET", r"/api/v1/report\.txt", self._report),
            ("GET", r"/api/v1/logo\.png", lambda request: DemoAnswer(200, _LOGO)),
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

    def _list_users(self, request: DemoRequest) -> DemoAnswer:
        return self._page("users", [*map(self._shown, self._users)], request)

    def _shown(self, user: Record) -> Record:
        if self.version == 1:
            return user
        return {"full_name" if key == "name" else key: user[key] for key in user}

    def _user(self, request: DemoRequest, user_id: str) -> DemoAnswer:
        user = ({user["id"]: user for user in self._users} | self._created).get(user_id)
        return DemoAnswer(200, self._shown(user)) if user else error(404, f"no user {user_id}")

    def _create_user(self, request: DemoRequest) -> DemoAnswer:
        body = json_of(request)
        name, email = body.get("full_name" if self.version > 1 else "name"), body.get("email")
        if not isinstance(name, str) or not isinstance(email, str) or "@" not in email:
            return error(422, "a user needs a name and an email")
        user = _new_user(name, email, self._now())
        self._created[user["id"]] = user
        return DemoAnswer(201, self._shown(user), {"Location": f"/api/v1/users/{user['id']}"})

    def _orders(self) -> list[Record]:
        orders = []
        for index, number in enumerate(_ORDERS):
            items: list[Record] = []
            total = 0
            for position in range(index % 3 + 1):
                sku, cents = _ARTICLES[(index + position) % len(_ARTICLES)]
                cents += 1 if self.version > 1 and sku == _DRIFTED_SKU else 0
                quantity = position % 2 + 1
                total += cents * quantity
                items.append({"sku": sku, "quantity": quantity, "price": cents / 100})
            order = {
                "number": number,
                "status": _STATUSES[index % len(_STATUSES)],
                "customer_id": self._users[index % len(self._users)]["id"],
                "placed_at": _stamp(self._started - timedelta(hours=index + 1)),
                "items": items,
                "total": total / 100,
                "currency": "EUR",
            }
            orders.append(order)
        return orders

    def _list_orders(self, request: DemoRequest) -> DemoAnswer:
        status = request.query.get("status")
        orders = [order for order in self._orders() if status in (None, order["status"])]
        return self._page("orders", orders, request)

    def _order(self, request: DemoRequest, number: str) -> DemoAnswer:
        order = next((order for order in self._orders() if order["number"] == int(number)), None)
        return DemoAnswer(200, order) if order else error(404, f"no order {number}")

    def _login(self, request: DemoRequest) -> DemoAnswer:
        body = json_of(request)
        if (body.get("username"), body.get("password")) != (USERNAME, PASSWORD):
            return error(401, "wrong username or password")
        token = secrets.token_hex(24)
        self._tokens[token] = USERNAME
        return DemoAnswer(200, {"token": token, "expires_at": _stamp(self._now() + timedelta(hours=1))})

    def _me(self, request: DemoRequest) -> DemoAnswer:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        username = self._tokens.get(token.strip()) if scheme.lower() == "bearer" else None
        if username is None:
            return error(401, "log in first", {"WWW-Authenticate": "Bearer"})
        return DemoAnswer(200, {"username": username, "roles": ["reader", "editor"]})

    def _report(self, request: DemoRequest) -> DemoAnswer:
        found = [order["status"] for order in self._orders()]
        rows = "".join(f"{status:<10} {found.count(status):>4}\n" for status in _STATUSES)
        return DemoAnswer(200, f"Orders by status\n\n{rows}{'total':<10} {len(found):>4}\n")

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
        pagination = {"page": page, "per_page": per_page, "total": total}
        shown = rows[(page - 1) * per_page : page * per_page]
        return DemoAnswer(200, {name: shown, "pagination": pagination})


def _new_user(name: str, email: str, created: datetime) -> Record:
    return {"id": str(uuid.uuid4()), "name": name, "email": email, "created_at": _stamp(created)}


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def error(status: int, message: str, headers: dict[str, str] | None = None) -> DemoAnswer:
    return DemoAnswer(status, {"error": {"status": status, "message": message}}, headers or {})


def json_of(request: DemoRequest) -> Record:
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}

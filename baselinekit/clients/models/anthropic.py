"""The wire form of Anthropic's `/v1/messages`. It has no JSON mode: questions ask for JSON at the
end of the system prompt."""

from typing import Any

from baselinekit.clients.models import post
from baselinekit.clients.models.budget import MOST_OF_ANTHROPIC, count
from baselinekit.errors import Problem
from baselinekit.model.recipes import Answer, Usage
from baselinekit.model.traces import ToolCall
from baselinekit.model.values import Json

_VERSION = "2023-06-01"
_JSON = "Answer with one JSON value and nothing else: no words around it, no code fence."
_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")  # the last two: of tools that the provider runs
_UNREAD = ("thinking", "redacted_thinking")
_WHOLE = ("end_turn", "stop_sequence", "tool_use", None)


def _body(question: post.Question) -> dict[str, Json]:
    """The body of a request. A setting of the entry replaces the default; null leaves it out."""
    ask, model = question.ask, question.model
    system, messages = post.split_system(ask.messages)
    if ask.json:
        system = f"{system}\n\n{_JSON}" if system else _JSON
    body: dict[str, Json] = {
        "model": model.anthropic,
        "max_tokens": MOST_OF_ANTHROPIC if ask.max_tokens is None else ask.max_tokens,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "system": system or None,
        "temperature": ask.temperature,
        "tools": post.tools_of(question, "input_schema") or None,
    }
    return {**body, **model.settings}


def _reply(question: post.Question, body: Any) -> post.Reply:
    blocks = body["content"]
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    calls = [ToolCall(block["name"], block["input"]) for block in blocks if block["type"] in _CALLS]
    kinds = [block["type"] for block in blocks if not block["type"].endswith("_result")]
    other_part = next((kind for kind in kinds if kind not in ("text", *_CALLS, *_UNREAD)), None)
    if not all(isinstance(text, str) for text in (*texts, *(call.name for call in calls))):
        raise TypeError
    answer = Answer("".join(texts), tuple(calls), tokens_of(body.get("usage") or {}))
    fault = fault_of_end(question, body.get("stop_reason"))
    if fault is None and other_part is not None:
        fault = post.unread_part(question, other_part)
    return post.Reply(answer, fault)


def fault_of_end(question: post.Question, ended: Json) -> Problem | None:
    """Return why an answer cannot be used that ended for this reason."""
    if ended in _WHOLE:
        return None
    if ended == "refusal":
        return Problem("BK614", f"{question.name} declined to answer", "change the prompt")
    return post.cut_off(question, str(ended))


def tokens_of(usage: Any) -> Usage:
    read = [count(usage.get(name)) for name in _READ]
    tokens_in = None if read[0] is None else sum(tokens or 0 for tokens in read)
    return Usage(tokens_in, count(usage.get("output_tokens")), tokens_cached=read[-1] or None)


def _headers(key: str | None) -> dict[str, str]:
    return {"anthropic-version": _VERSION} | ({"x-api-key": key} if key else {})


_ORIGIN = "https://api.anthropic.com"
FORM = post.wire_form("/messages", _ORIGIN, _headers, _body, _reply, ("a message", "Anthropic"))

"""The wire form of OpenAI's `/v1/chat/completions`, which Ollama, vLLM, llama.cpp and others speak too."""

from typing import Any

from baselinekit.clients.models import post
from baselinekit.clients.models.budget import count
from baselinekit.errors import Problem
from baselinekit.files.jsontext import json_or_absent
from baselinekit.model.recipes import Answer, Usage
from baselinekit.model.traces import ToolCall
from baselinekit.model.values import ABSENT, Json

_UNREAD = ("thinking", "reasoning", "reference")
_LENGTH = ("length", "max_tokens", "model_length")
_BROKEN_OFF = ("error", "time_limit", "cancelled", "abort", "insufficient_system_resource")
"""What servers of this form report for an answer that they did not finish. For a finished one they report
anything: `stop`, `tool_calls`, `eos_token`, nothing."""


def _body(question: post.Question) -> dict[str, Json]:
    """The body of a request. A setting of the entry replaces the default; null leaves it out. Newer models
    have another name for the token limit, and refuse a request with both."""
    ask, model = question.ask, question.model
    body: dict[str, Json] = {
        "model": model.openai,
        "messages": [{"role": message.role, "content": message.content} for message in ask.messages],
        "temperature": ask.temperature,
        "max_tokens": None if "max_completion_tokens" in model.settings else ask.max_tokens,
        "response_format": {"type": "json_object"} if ask.json else None,
        "tools": [{"type": "function", "function": tool} for tool in post.tools_of(question, "parameters")]
        or None,
    }
    return {**body, **model.settings}


def _reply(question: post.Question, body: Any) -> post.Reply:
    choice = body["choices"][0]
    message, ended = choice["message"], choice.get("finish_reason")
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    calls = calls or [call for call in [message.get("function_call")] if call]  # of older servers
    # Sources mean that the provider has searched: it does not report with which calls.
    is_searched = any((message.get("annotations"), body.get("citations"), body.get("search_results")))
    content = "" if message.get("content") is None else message["content"]
    other_part = next((name for name in ("audio", "images") if message.get(name)), None)
    if isinstance(content, list):  # several parts, some of them texts
        kinds = (str(part.get("type")) for part in content)
        other_part = next((kind for kind in kinds if kind not in ("text", *_UNREAD)), other_part)
        content = "".join(part["text"] for part in content if part.get("type") == "text")
    if not isinstance(content, str):
        raise TypeError
    tool_calls = None if is_searched and not calls else tuple(map(_call, calls))
    answer = Answer(content, tool_calls, _usage(body.get("usage") or {}))
    fault = None if other_part is None else post.unread_part(question, other_part)
    refusal, ended = message.get("refusal"), str(ended).lower()
    if ended in _LENGTH:
        fault = post.cut_off(question, ended)
    elif ended in _BROKEN_OFF or choice.get("error"):
        reason = post.message_in(choice.get("error")) or ended
        fault = Problem("BK613", f"{question.name}: the answer was interrupted ({reason})", "ask again")
    elif ended == "content_filter" or refusal:
        reason = refusal if isinstance(refusal, str) else "its content filter blocked the answer"
        fault = Problem("BK614", f"{question.name} did not answer: {reason}", "change the prompt")
    return post.Reply(answer, fault)


def _usage(usage: dict[str, Any]) -> Usage:
    tokens_in, details = count(usage.get("prompt_tokens")), usage.get("prompt_tokens_details")
    cached = count(details.get("cached_tokens")) if isinstance(details, dict) else None
    cached = min(cached or 0, tokens_in or 0) or None  # it is a part of them
    return Usage(tokens_in, count(usage.get("completion_tokens")), tokens_cached=cached)


def _call(function: Any) -> ToolCall:
    """Read a tool call. Arguments that are not JSON are kept as text: a wrong answer, not a missing one."""
    arguments = function.get("arguments") or "{}"
    if not isinstance(function["name"], str):
        raise TypeError
    value = json_or_absent(arguments) if isinstance(arguments, str) else arguments
    return ToolCall(function["name"], arguments if value is ABSENT else value)


def _headers(key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


_ORIGIN = "https://api.openai.com"
_WHAT = ("a chat completion", "OpenAI")
FORM = post.wire_form("/chat/completions", _ORIGIN, _headers, _body, _reply, _WHAT)

"""The demo model in the two wire forms that the world speaks."""

import json
from collections.abc import Callable
from typing import Any

from baselinekit.demo.model import NAMES, Said, said

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
    taken, made = _tokens(given["messages"], answer)
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
    taken, made = _tokens(given["messages"], answer)
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


def _tokens(asked: list[Body], answer: Said) -> tuple[int, int]:
    """About four characters each."""
    return sum(len(str(message["content"])) for message in asked) // 4, max(1, len(answer.text) // 4)

"""The demo model: a few rules that always answer the same, in the two wire forms that the world speaks."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

# The demo model: a few rules that read a prompt and always answer it the same way, so that prompts,
# judges and tools can be tried without a key. Version 2 is more talkative, as newer models are.


NAMES = {1: "demo-1.0", 2: "demo-2.0"}

_NONCE = re.compile(r"exactly this form, with the same nonce: (\{.*\})\s*$", re.DOTALL)
_TEXT = re.compile(r"<<<(.+?) ([0-9a-f]{8,})>>>\n(.*?)\n<<<end of \1 \2>>>", re.DOTALL)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]*\w")
_ORDER = re.compile(r"\b(?:order|invoice)\s+(?:no\.?\s*|number\s*|#)?(\d+)", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]")
_MOODS = {
    "complaint": ("broken", "late", "refund", "wrong", "disappointed", "never arrived"),
    "praise": ("thank", "great", "love", "excellent"),
    "question": ("?", "how do", "when will", "can i"),
}
_REVERSE = re.compile(r"\bReverse the string: ?(.*)$", re.MULTILINE)
_FUNCTION = re.compile(r"\bPython function\b.*\bfactorial\b", re.IGNORECASE | re.DOTALL)
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


@dataclass(frozen=True, slots=True)
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

"""What tells one question from another: the parts of it that its answer is kept under."""

import hashlib
from collections.abc import Callable, Iterator

from baselinekit.clipped import already_masked, clipped
from baselinekit.documents.strictjson import to_bytes
from baselinekit.model.asking import Ask, Model
from baselinekit.model.values import Json

Parts = dict[str, Json]
_LONGEST_SHOWN = 60


def parts_of(ask: Ask, model: Model, kind: str, mask: Callable[[str], str]) -> Parts:
    """Everything by which an answer could differ, and no key, header or limit of time: what stands in the
    hash, and in the file for whoever wonders why it is another one."""
    parts: Parts = {
        "model": ask.model,
        kind: getattr(model, kind),
        "base_url": model.base_url.rstrip("/") if model.base_url else None,
        "output": model.output,
        "settings": model.settings or None,
        "temperature": _number(ask.temperature),
        "max_tokens": ask.max_tokens,
        "json": ask.json or None,
        "turn": ask.turn or None,
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in ask.tools
        ]
        or None,
        "messages": [{"role": message.role, "content": message.content} for message in ask.messages],
    }
    return {name: masked(part, mask) for name, part in parts.items() if part is not None}


def key_of(parts: Parts) -> str:
    return hashlib.sha256(to_bytes(_sorted(parts))).hexdigest()


def masked(value: Json, mask: Callable[[str], str]) -> Json:
    """The value with `mask` over its texts and keys."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list):
        return [masked(item, mask) for item in value]
    if isinstance(value, dict):
        return {mask(key): masked(item, mask) for key, item in value.items()}
    return value


def differences(recorded: Parts, asked: Parts) -> Iterator[str]:
    """In what a question differs from one that is recorded, part by part."""
    for name in dict.fromkeys((*asked, *recorded)):
        one, other = recorded.get(name), asked.get(name)
        if one == other and type(one) is type(other):
            continue
        if name == "messages" and isinstance(one, list) and isinstance(other, list):
            yield from _messages(one, other)
        elif isinstance(one, list | dict) or isinstance(other, list | dict):
            yield f"`{name}`"
        else:
            yield f"`{name}` ({_shown(one)} is recorded, {_shown(other)} is asked)"


def _messages(recorded: list[Json], asked: list[Json]) -> Iterator[str]:
    if len(recorded) != len(asked):
        yield f"the number of messages ({len(recorded)} recorded, {len(asked)} asked)"
        return
    for number, (one, other) in enumerate(zip(recorded, asked, strict=True), 1):
        if one == other:
            continue
        place = f"message {number} of {len(asked)}"
        before, now = _content(one), _content(other)
        if before != now:
            place += f", line {_first_line(before, now)}"
        yield place


def _content(message: Json) -> str:
    return str(message.get("content")) if isinstance(message, dict) else ""


def _first_line(one: str, other: str) -> int:
    lines = zip(one.split("\n"), other.split("\n"), strict=False)
    same = next((number for number, (a, b) in enumerate(lines) if a != b), None)
    return 1 + (min(one.count("\n"), other.count("\n")) + 1 if same is None else same)


def _number(value: int | float | None) -> int | float | None:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _sorted(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _shown(value: Json) -> str:
    text = "nothing" if value is None else str(value)
    return clipped(text, _LONGEST_SHOWN, already_masked, counted=False)

"""Answers that are kept, to be given again: cassettes, the cache, and a run that is continued."""

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from itertools import zip_longest
from typing import Any, Literal, Protocol

from baselinekit.documents.jsontext import decode, to_bytes
from baselinekit.errors import BaselinekitError, CannotReplay, NotRecorded, Problem
from baselinekit.model.recipes import Answer, Ask, Model, Spent, Usage
from baselinekit.model.traces import ToolCall
from baselinekit.model.values import ABSENT, Json
from baselinekit.models.budget import count, dollars
from baselinekit.texts import already_masked, clipped, many
from baselinekit.variables import Redactor

# What tells one question from another: the parts of it that its answer is kept under.


Parts = dict[str, Json]
_LONGEST_SHOWN = 60


def parts_of(ask: Ask, model: Model, kind: str, mask: Callable[[str], str]) -> Parts:
    """Everything by which an answer could differ, and no key, header or limit of time: what stands in the
    hash, and in the file for whoever wonders why it is another one."""
    heat = ask.temperature
    parts: Parts = {
        "model": ask.model,
        kind: getattr(model, kind),
        "base_url": model.base_url.rstrip("/") if model.base_url else None,
        "output": model.output,
        "settings": model.settings or None,
        "temperature": int(heat) if isinstance(heat, float) and heat.is_integer() else heat,
        "max_tokens": ask.max_tokens,
        "json": ask.json or None,
        "turn": ask.turn or None,
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in ask.tools
        ]
        or None,
    }
    found = {name: masked(part, mask) for name, part in parts.items() if part is not None}
    # whoever speaks is one of four words of ours
    messages = [{"role": message.role, "content": mask(message.content)} for message in ask.messages]
    return {**found, "messages": messages}


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
            lines = zip_longest(before.split("\n"), now.split("\n"))
            place += f", line {next(number for number, (a, b) in enumerate(lines, 1) if a != b)}"
        yield place


def _content(message: Json) -> str:
    return str(message.get("content")) if isinstance(message, dict) else ""


def _sorted(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _shown(value: Json) -> str:
    text = "nothing" if value is None else str(value)
    return clipped(text, _LONGEST_SHOWN, already_masked, counted=False)


# Answers that are kept, to be given again: one idea behind cassettes (`record` once, then `offline`),
# the cache, and a run that goes on where it was stopped (`journal`). Errors are never
# kept. A model may answer the same question twice, and not alike. So an answer is kept under its
# question, under whoever asked (a baseline or a case, which asks one thing after the other) and under
# how often that one had asked it before: that is the same in every run, in whatever order its threads
# come. Only the cache keeps one answer a question. What was never asked by this one so often is answered
# by a cassette only if all its answers to the question say the same.


FORMAT = "baselinekit.call/1"
_ALIKE = Redactor({})
Mode = Literal["record", "offline", "cache", "journal"]
"""`record` asks and keeps; `offline` asks nobody; `cache` asks for what is not kept yet; `journal` asks for
what the run with which this one goes on was not answered, and keeps it where it can."""


class Shelf(Protocol):
    """Where records are kept, each under its model and a name that begins with the key of its question.
    `names`: those that were there when it was first asked."""

    @property
    def name(self) -> str: ...
    def find(self, model: str, key: str) -> Json: ...
    def keep(self, model: str, key: str, record: Json) -> None: ...
    def every(self) -> list[Json]: ...
    def names(self, model: str, key: str) -> list[str]: ...
    def drop(self, model: str, name: str) -> None: ...


class AnswerSource(Protocol):
    """Whoever answers: the models, or another recording before them."""

    @property
    def spent(self) -> Spent: ...
    def ask(self, ask: Ask) -> Answer: ...
    def check(self, name: str, asked: bool = True) -> None: ...
    def parts(self, ask: Ask) -> Parts: ...
    def mask(self, text: str) -> str: ...


class Recording:
    """Stands before whoever answers, and is asked in the same way."""

    def __init__(self, source: AnswerSource, shelf: Shelf, mode: Mode):
        self._source, self._shelf, self._mode = source, shelf, mode
        self._answered: Counter[tuple[str, str, str]] = Counter()
        self._lock = threading.Lock()

    @property
    def spent(self) -> Spent:
        return self._source.spent

    def check(self, name: str, asked: bool = True) -> None:
        self._source.check(name, asked and self._mode != "offline")

    def parts(self, ask: Ask) -> Parts:
        return self._source.parts(ask)

    def mask(self, text: str) -> str:
        return self._source.mask(text)

    def ask(self, ask: Ask) -> Answer:
        parts = self.parts(ask)
        key = key_of(parts)
        with self._lock:
            before = self._answered[ask.model, key, ask.asker]
        name = key  # what the next answer to this question is kept under, for the one who asks it
        if self._mode != "cache" and (before or ask.asker):
            name = f"{key}.{_of_asker(ask.asker)}.{before}"
        found = self._kept(ask, key, name)
        if found is not None:
            self._count(ask, key)
            return found
        if self._mode == "offline":
            raise CannotReplay(self._missing(ask, key, parts))
        answer = self._source.ask(ask)
        self._keep(ask, key, name, answer, parts)
        self._count(ask, key)
        return answer

    def _count(self, ask: Ask, key: str) -> None:
        with self._lock:
            self._answered[ask.model, key, ask.asker] += 1

    def _kept(self, ask: Ask, key: str, name: str) -> Answer | None:
        if self._mode == "record":
            return None
        found = self._found(ask.model, name)
        if found is not None or self._mode != "offline":
            return found
        others = [self._found(ask.model, other) for other in self._shelf.names(ask.model, key)]
        said = [other for other in others if other is not None]
        # Whether they say the same, whatever they took.
        alike = all((other.text, other.tool_calls) == (said[0].text, said[0].tool_calls) for other in said)
        return said[0] if said and alike else None

    def _keep(self, ask: Ask, key: str, name: str, answer: Answer, parts: Parts) -> None:
        said = as_json(answer)
        if self._mode == "record":
            self._forget(ask, key, name)
            record = self._record(parts, self._without_secrets(said))
            if ask.asker:
                record["asker"] = self._without_secrets(ask.asker)
            self._shelf.keep(ask.model, name, record)
        elif self._is_clean(answer, said):  # a run that goes on must see what this one saw, or ask again
            # nobody looks up in a journal what was asked: its name says it
            record = self._record(parts if self._mode == "cache" else {}, said)
            with suppress(NotRecorded):  # a cache that is full is none
                self._shelf.keep(ask.model, name, record)

    def _record(self, parts: Parts, said: Json) -> dict[str, Json]:
        return {"format": FORMAT, "asked": self._without_secrets(parts) if parts else {}, "answer": said}

    def _is_clean(self, answer: Answer, said: Json) -> bool:
        """Whether an answer could stand in a file as it is. Most are no more than a text."""
        if answer.tool_calls:
            return bool(self._without_secrets(said) == said)
        return all(_ALIKE.mask(self.mask(text)) == text for text in (answer.text, answer.served or ""))

    def _forget(self, ask: Ask, key: str, name: str) -> None:
        """What an earlier recording holds in the place of this one: the first answer takes that of all. What
        was kept for nobody in particular goes too, unless this run has kept it."""
        before = self._shelf.names(ask.model, key)
        own = f"{key}.{_of_asker(ask.asker)}."
        if name in (key, f"{own}0"):
            shared = name == key or self._answered[ask.model, key, ""]
            for other in before:
                if other.startswith(own) or (other == key and not shared):
                    self._shelf.drop(ask.model, other)

    def _without_secrets(self, value: Json) -> Json:
        """What may stand in a file: what merely looks like a secret is masked as well. (The key is made of
        the question as it was asked: two such questions are two.)"""
        return _ALIKE.mask_value(masked(value, self.mask))

    def _found(self, model: str, key: str) -> Answer | None:
        try:
            record = self._shelf.find(model, key)
            return None if record is None else answer_in(record)
        except (BaselinekitError, ValueError, LookupError, TypeError, AttributeError) as error:
            if self._mode in ("cache", "journal"):  # what cannot be read is not there
                return None
            why = f": {error.problems[0]}" if isinstance(error, BaselinekitError) else ""
            what = f"the answer of the model {model!r} kept in {self._shelf.name} cannot be used{why}"
            raise CannotReplay(Problem("BK631", what, "record it again: --record-calls")) from None

    def _missing(self, ask: Ask, key: str, parts: Parts) -> Problem:
        model = ask.model
        if recorded := len(self._shelf.names(model, key)):
            where, times = self._shelf.name, self._answered[model, key, ask.asker] + 1
            who = f"{self.mask(ask.asker)} asks" if ask.asker else "somebody asks"
            what = (
                f"{who} the model {model!r} the same thing {many(times, 'time')}; in {where} there is no such"
            )
            what += f" answer, and the {many(recorded, 'answer')} to it there differ"
            return Problem("BK630", what, f"record it once, without --offline: --record-calls {where}")
        known = [record["asked"] for record in self._shelf.every() if is_record(record)]
        where = self._shelf.name
        hint = f"record it once, without --offline: --record-calls {where}"
        if not known:
            return Problem("BK630", f"no answer is recorded in {where}", hint)
        shown = self._without_secrets(parts)
        differing = min((list(differences(other, shown)) for other in known), key=len) or ["its file's name"]
        if len(differing) > 1 and all(other.get("model") != model for other in known):
            return Problem("BK630", f"no answer of the model {model!r} is recorded in {where}", hint)
        what = f"no answer to this question of the model {model!r} is recorded in {where}"
        return Problem("BK630", f"{what}: the nearest one differs in {', '.join(differing[:4])}", hint)


def _of_asker(asker: str) -> str:
    return sha256(asker.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def answer_in(record: Any) -> Answer:
    """The answer that a record holds; ValueError and its like for what is no record."""
    if not is_record(record):
        raise ValueError
    said = record["answer"]
    usage, served = said.get("usage", {}), said.get("served")
    told = said.get("tool_calls", [])
    calls = [ToolCall(call["name"], call["input"], call.get("output", ABSENT)) for call in told or ()]
    texts = [said["text"], *(call.name for call in calls), *([] if served is None else [served])]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError
    return Answer(
        text=said["text"],
        tool_calls=None if told is None else tuple(calls),
        usage=Usage(
            count(usage.get("tokens_in")),
            count(usage.get("tokens_out")),
            dollars(decode(cost) if isinstance(cost := usage.get("cost_usd"), str) else cost),
        ),
        served=served,
        seconds=float(said.get("seconds", 0)),
        recorded=True,
    )


def as_json(answer: Answer) -> Json:
    usage = {
        "tokens_in": answer.usage.tokens_in,
        "tokens_out": answer.usage.tokens_out,
        "cost_usd": None if answer.usage.cost_usd is None else f"{answer.usage.cost_usd:f}",
    }
    said: Json = {
        "text": answer.text,
        "tool_calls": [
            {"name": call.name, "input": call.input}
            | ({} if call.output is ABSENT else {"output": call.output})
            for call in answer.tool_calls or ()
        ],
        "usage": {name: value for name, value in usage.items() if value is not None},
        "served": answer.served,
        "seconds": round(answer.seconds, 3),
    }
    kept = {name: value for name, value in said.items() if value not in (None, [], {})}
    return kept if answer.tool_calls is not None else {**kept, "tool_calls": None}


def is_record(record: Json) -> bool:
    """Whether it was written here: nobody vouches for more than its outline."""
    return (
        isinstance(record, Mapping)
        and record.get("format") == FORMAT
        and isinstance(record.get("asked"), dict)
        and isinstance(record.get("answer"), dict)
    )

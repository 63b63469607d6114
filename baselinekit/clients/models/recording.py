"""Recorded answers, which are given again: cassettes, the cache, and a resumed run."""

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from itertools import zip_longest
from typing import Any, Literal, Protocol

from baselinekit.clients.models.budget import count, dollars
from baselinekit.errors import BaselinekitError, CannotReplay, NotRecorded, Problem
from baselinekit.files.jsontext import decode, to_bytes
from baselinekit.model.recipes import Answer, Model, ModelQuestion, ModelUsage, Usage
from baselinekit.model.traces import ToolCall
from baselinekit.model.values import ABSENT, Json
from baselinekit.secrets.variables import Redactor
from baselinekit.values.texts import count_noun, mask_and_clip, no_mask

# The parts that distinguish one question from another. An answer is stored under their hash.


Parts = dict[str, Json]
_LONGEST_SHOWN = 60


def parts_of(ask: ModelQuestion, model: Model, kind: str, mask: Callable[[str], str]) -> Parts:
    """Everything that an answer could depend on, without keys, headers and time limits. It is hashed, and it
    is written into the file, to show why two questions differ."""
    temperature = ask.temperature
    parts: Parts = {
        "model": ask.model,
        kind: getattr(model, kind),
        "base_url": model.base_url.rstrip("/") if model.base_url else None,
        "output": model.output,
        "settings": model.settings or None,
        "temperature": int(temperature)
        if isinstance(temperature, float) and temperature.is_integer()
        else temperature,
        "max_tokens": ask.max_tokens,
        "json": ask.json or None,
        "turn": ask.turn or None,
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in ask.tools
        ]
        or None,
    }
    named_parts = {name: masked(part, mask) for name, part in parts.items() if part is not None}
    # roles are four words of ours, so they need no mask
    messages = [{"role": message.role, "content": mask(message.content)} for message in ask.messages]
    return {**named_parts, "messages": messages}


def key_of(parts: Parts) -> str:
    return hashlib.sha256(to_bytes(_sorted(parts))).hexdigest()


def masked(value: Json, mask: Callable[[str], str]) -> Json:
    """The value with `mask` applied to its texts and keys."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list):
        return [masked(item, mask) for item in value]
    if isinstance(value, dict):
        return {mask(key): masked(item, mask) for key, item in value.items()}
    return value


def differences(recorded: Parts, asked: Parts) -> Iterator[str]:
    """Describe how a question differs from a recorded one, part by part."""
    for name in dict.fromkeys((*asked, *recorded)):
        recorded_part, asked_part = recorded.get(name), asked.get(name)
        if recorded_part == asked_part and type(recorded_part) is type(asked_part):
            continue
        if name == "messages" and isinstance(recorded_part, list) and isinstance(asked_part, list):
            yield from _messages(recorded_part, asked_part)
        elif isinstance(recorded_part, list | dict) or isinstance(asked_part, list | dict):
            yield f"`{name}`"
        else:
            yield f"`{name}` ({_format_part(recorded_part)} is recorded, {_format_part(asked_part)} is asked)"


def _messages(recorded: list[Json], asked: list[Json]) -> Iterator[str]:
    if len(recorded) != len(asked):
        yield f"the number of messages ({len(recorded)} recorded, {len(asked)} asked)"
        return
    for number, (recorded_message, asked_message) in enumerate(zip(recorded, asked, strict=True), 1):
        if recorded_message == asked_message:
            continue
        place = f"message {number} of {len(asked)}"
        recorded_text, asked_text = _content_of(recorded_message), _content_of(asked_message)
        if recorded_text != asked_text:
            lines = zip_longest(recorded_text.split("\n"), asked_text.split("\n"))
            place += f", line {next(number for number, (a, b) in enumerate(lines, 1) if a != b)}"
        yield place


def _content_of(message: Json) -> str:
    return str(message.get("content")) if isinstance(message, dict) else ""


def _sorted(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _format_part(value: Json) -> str:
    text = "nothing" if value is None else str(value)
    return mask_and_clip(text, _LONGEST_SHOWN, no_mask, counted=False)


# Cassettes (`record` once, then `offline`), the cache, and a resumed run (`journal`) all give recorded
# answers again. Errors are never recorded. A model may answer the same question differently the next time. So
# an answer is stored under its question, its asker (a baseline or a case, which asks its questions one after
# the other) and how often that asker had asked the question before: these are the same in every run, in
# whatever order its threads run. Only the cache stores one answer for each question. If an asker asks a
# question more often than was recorded, a cassette answers only if all its answers to the question are alike.


FORMAT = "baselinekit.call/1"
_ALIKE = Redactor({})
Mode = Literal["record", "offline", "cache", "journal"]
"""`record` asks and stores; `offline` never asks; `cache` asks what is not stored yet; `journal` asks what
the resumed run had no answer to, and stores the answer if it can."""


class Shelf(Protocol):
    """A store of records, each under its model and a name that begins with the key of its question. `names`:
    the names that existed when the shelf was first used."""

    @property
    def name(self) -> str: ...
    def find(self, model: str, key: str) -> Json: ...
    def keep(self, model: str, key: str, record: Json) -> None: ...
    def every(self) -> list[Json]: ...
    def names(self, model: str, key: str) -> list[str]: ...
    def drop(self, model: str, name: str) -> None: ...


class AnswerSource(Protocol):
    """What answers questions: the models, or another recording in front of them."""

    @property
    def spent(self) -> ModelUsage: ...
    def ask(self, ask: ModelQuestion) -> Answer: ...
    def check(self, name: str, asked: bool = True) -> None: ...
    def parts(self, ask: ModelQuestion) -> Parts: ...
    def mask(self, text: str) -> str: ...


class Recording:
    """Records the answers of a source, or gives recorded ones. It has the same methods as the source."""

    def __init__(self, source: AnswerSource, shelf: Shelf, mode: Mode):
        self._source, self._shelf, self._mode = source, shelf, mode
        self._answered: Counter[tuple[str, str, str]] = Counter()
        self._lock = threading.Lock()

    @property
    def spent(self) -> ModelUsage:
        return self._source.spent

    def check(self, name: str, asked: bool = True) -> None:
        self._source.check(name, asked and self._mode != "offline")

    def parts(self, ask: ModelQuestion) -> Parts:
        return self._source.parts(ask)

    def mask(self, text: str) -> str:
        return self._source.mask(text)

    def ask(self, ask: ModelQuestion) -> Answer:
        parts = self.parts(ask)
        key = key_of(parts)
        with self._lock:
            times_asked = self._answered[ask.model, key, ask.asker]
        name = key  # the next answer to this question for this asker is stored under it
        if self._mode != "cache" and (times_asked or ask.asker):
            name = f"{key}.{_asker_hash(ask.asker)}.{times_asked}"
        stored = self._stored_answer(ask, key, name)
        if stored is not None:
            self._count(ask, key)
            return stored
        if self._mode == "offline":
            raise CannotReplay(self._missing_answer(ask, key, parts))
        answer = self._source.ask(ask)
        self._store(ask, key, name, answer, parts)
        self._count(ask, key)
        return answer

    def _count(self, ask: ModelQuestion, key: str) -> None:
        with self._lock:
            self._answered[ask.model, key, ask.asker] += 1

    def _stored_answer(self, ask: ModelQuestion, key: str, name: str) -> Answer | None:
        if self._mode == "record":
            return None
        answer = self._load_answer(ask.model, name)
        if answer is not None or self._mode != "offline":
            return answer
        candidates = [
            self._load_answer(ask.model, name_of_other) for name_of_other in self._shelf.names(ask.model, key)
        ]
        answers = [candidate for candidate in candidates if candidate is not None]
        # Whether they say the same; usage and time may differ.
        are_alike = all(
            (answer_alike.text, answer_alike.tool_calls) == (answers[0].text, answers[0].tool_calls)
            for answer_alike in answers
        )
        return answers[0] if answers and are_alike else None

    def _store(self, ask: ModelQuestion, key: str, name: str, answer: Answer, parts: Parts) -> None:
        answer_json = as_json(answer)
        if self._mode == "record":
            self._forget(ask, key, name)
            record = self._record(parts, self._without_secrets(answer_json))
            if ask.asker:
                record["asker"] = self._without_secrets(ask.asker)
            self._shelf.keep(ask.model, name, record)
        elif self._is_clean(answer, answer_json):  # a resumed run must get the same answer, or ask again
            # a journal does not need the question: the name of the record has its hash
            record = self._record(parts if self._mode == "cache" else {}, answer_json)
            with suppress(NotRecorded):  # as if there were no cache
                self._shelf.keep(ask.model, name, record)

    def _record(self, parts: Parts, answer_json: Json) -> dict[str, Json]:
        return {
            "format": FORMAT,
            "asked": self._without_secrets(parts) if parts else {},
            "answer": answer_json,
        }

    def _is_clean(self, answer: Answer, answer_json: Json) -> bool:
        """Whether an answer holds no secrets, so that it can be written as it is. Most are only a text."""
        if answer.tool_calls:
            return bool(self._without_secrets(answer_json) == answer_json)
        return all(_ALIKE.mask(self.mask(text)) == text for text in (answer.text, answer.served or ""))

    def _forget(self, ask: ModelQuestion, key: str, name: str) -> None:
        """Drop the answers of an earlier recording that this one replaces: the first new answer replaces all
        of them. Those stored without an asker are dropped too, unless this run has stored them."""
        names = self._shelf.names(ask.model, key)
        own_prefix = f"{key}.{_asker_hash(ask.asker)}."
        if name in (key, f"{own_prefix}0"):
            is_shared = name == key or self._answered[ask.model, key, ""]
            for stored_name in names:
                if stored_name.startswith(own_prefix) or (stored_name == key and not is_shared):
                    self._shelf.drop(ask.model, stored_name)

    def _without_secrets(self, value: Json) -> Json:
        """The value as it may be written to a file: what only looks like a secret is masked too. (The
        key is the hash of the question before that: questions that differ only there have different keys.)"""
        return _ALIKE.mask_value(masked(value, self.mask))

    def _load_answer(self, model: str, key: str) -> Answer | None:
        try:
            record = self._shelf.find(model, key)
            return None if record is None else answer_in(record)
        except (BaselinekitError, ValueError, LookupError, TypeError, AttributeError) as error:
            if self._mode in ("cache", "journal"):  # an unreadable record counts as missing
                return None
            reason = f": {error.problems[0]}" if isinstance(error, BaselinekitError) else ""
            message = f"the answer of the model {model!r} kept in {self._shelf.name} cannot be used{reason}"
            raise CannotReplay(Problem("BK631", message, "record it again: --record-calls")) from None

    def _missing_answer(self, ask: ModelQuestion, key: str, parts: Parts) -> Problem:
        model = ask.model
        if recorded_count := len(self._shelf.names(model, key)):
            place, times = self._shelf.name, self._answered[model, key, ask.asker] + 1
            who = f"{self.mask(ask.asker)} asks" if ask.asker else "somebody asks"
            often = count_noun(times, "time")
            message = f"{who} the model {model!r} the same thing {often}; in {place} there is no such"
            message += f" answer, and the {count_noun(recorded_count, 'answer')} to it there differ"
            return Problem("BK630", message, f"record it once, without --offline: --record-calls {place}")
        recorded_parts = [record["asked"] for record in self._shelf.every() if is_record(record)]
        place = self._shelf.name
        hint = f"record it once, without --offline: --record-calls {place}"
        if not recorded_parts:
            return Problem("BK630", f"no answer is recorded in {place}", hint)
        masked_parts = self._without_secrets(parts)
        differing = min(
            (list(differences(recorded, masked_parts)) for recorded in recorded_parts), key=len
        ) or ["its file's name"]
        if len(differing) > 1 and all(recorded.get("model") != model for recorded in recorded_parts):
            return Problem("BK630", f"no answer of the model {model!r} is recorded in {place}", hint)
        message = f"no answer to this question of the model {model!r} is recorded in {place}"
        return Problem("BK630", f"{message}: the nearest one differs in {', '.join(differing[:4])}", hint)


def _asker_hash(asker: str) -> str:
    return sha256(asker.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def answer_in(record: Any) -> Answer:
    """Read the answer of a record; ValueError or a similar error for anything that is no record."""
    if not is_record(record):
        raise ValueError
    answer = record["answer"]
    usage, served = answer.get("usage", {}), answer.get("served")
    stated_calls = answer.get("tool_calls", [])
    calls = [ToolCall(call["name"], call["input"], call.get("output", ABSENT)) for call in stated_calls or ()]
    texts = [answer["text"], *(call.name for call in calls), *([] if served is None else [served])]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError
    return Answer(
        text=answer["text"],
        tool_calls=None if stated_calls is None else tuple(calls),
        usage=Usage(
            count(usage.get("tokens_in")),
            count(usage.get("tokens_out")),
            dollars(decode(cost) if isinstance(cost := usage.get("cost_usd"), str) else cost),
        ),
        served=served,
        seconds=float(answer.get("seconds", 0)),
        recorded=True,
    )


def as_json(answer: Answer) -> Json:
    usage = {
        "tokens_in": answer.usage.tokens_in,
        "tokens_out": answer.usage.tokens_out,
        "cost_usd": None if answer.usage.cost_usd is None else f"{answer.usage.cost_usd:f}",
    }
    answer_json: Json = {
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
    filled = {name: value for name, value in answer_json.items() if value not in (None, [], {})}
    return filled if answer.tool_calls is not None else {**filled, "tool_calls": None}


def is_record(record: Json) -> bool:
    """Whether this looks like a record of ours. Only its outline is checked."""
    return (
        isinstance(record, Mapping)
        and record.get("format") == FORMAT
        and isinstance(record.get("asked"), dict)
        and isinstance(record.get("answer"), dict)
    )

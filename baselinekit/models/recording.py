"""Answers that are kept, to be given again: one idea behind cassettes (`record` once, then `offline`), the
cache, and a run that goes on where it was stopped (both `cache`). Errors are never kept."""

from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any, Literal, Protocol

from baselinekit.documents import strictjson
from baselinekit.errors import BaselinekitError, CannotReplay, NotRecorded, Problem
from baselinekit.model.asking import Answer, Ask, Spent, ToolCall, Usage
from baselinekit.model.values import ABSENT, Json
from baselinekit.models.cost import count, dollars
from baselinekit.models.parts import Parts, differences, key_of, masked
from baselinekit.variables import Redactor

FORMAT = "baselinekit.call/1"
_ALIKE = Redactor({})
Mode = Literal["record", "offline", "cache", "journal"]
"""`record` asks and keeps; `offline` asks nobody; `cache` asks for what is not kept yet; `journal` records,
where it can."""


class Shelf(Protocol):
    """Where records are kept, each under its model and its key."""

    @property
    def name(self) -> str: ...
    def find(self, model: str, key: str) -> Json: ...
    def keep(self, model: str, key: str, record: Json) -> None: ...
    def every(self) -> list[Json]: ...


class Source(Protocol):
    """Whoever answers: the models, or another recording before them."""

    @property
    def spent(self) -> Spent: ...
    def ask(self, ask: Ask) -> Answer: ...
    def check(self, name: str, asked: bool = True) -> None: ...
    def parts(self, ask: Ask) -> Parts: ...
    def mask(self, text: str) -> str: ...


class Recording:
    """Stands before whoever answers, with the same face."""

    def __init__(self, source: Source, shelf: Shelf, mode: Mode):
        self._source, self._shelf, self._mode = source, shelf, mode

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
        if self._mode in ("offline", "cache"):
            found = self._found(ask.model, key)
            if found is not None:
                return found
        if self._mode == "offline":
            raise CannotReplay(self._missing(ask.model, parts))
        answer = self._source.ask(ask)
        said = _as_json(answer)
        kept = self._without_secrets(said)
        spare = self._mode in ("cache", "journal")  # a cache that is full is none
        if spare and kept != said:
            return answer  # a run that goes on must see what this one saw: it asks again
        record = {"format": FORMAT, "asked": self._without_secrets(parts), "answer": kept}
        with suppress(*((NotRecorded,) if spare else ())):
            self._shelf.keep(ask.model, key, record)
        return answer

    def _without_secrets(self, value: Json) -> Json:
        """What may stand in a file: what merely looks like a secret is masked as well. (The key is made of
        the question as it was asked: two such questions are two.)"""
        return _ALIKE.mask_value(masked(value, self.mask))

    def _found(self, model: str, key: str) -> Answer | None:
        try:
            record = self._shelf.find(model, key)
            return None if record is None else answer_in(record)
        except (BaselinekitError, ValueError, LookupError, TypeError, AttributeError) as error:
            if self._mode == "cache":  # what cannot be read is not there
                return None
            why = f": {error.problems[0]}" if isinstance(error, BaselinekitError) else ""
            what = f"the answer of the model {model!r} kept in {self._shelf.name} cannot be used{why}"
            raise CannotReplay(Problem("BK631", what, "record it again: --record-calls")) from None

    def _missing(self, model: str, parts: Parts) -> Problem:
        known = [record["asked"] for record in self._shelf.every() if _is_record(record)]
        where = self._shelf.name
        mend = f"record it, once and without --offline: --record-calls {where}"
        if not known:
            return Problem("BK630", f"no answer is recorded in {where}", mend)
        shown = self._without_secrets(parts)
        differing = min((list(differences(other, shown)) for other in known), key=len) or ["its file's name"]
        if len(differing) > 1 and all(other.get("model") != model for other in known):
            return Problem("BK630", f"no answer of the model {model!r} is recorded in {where}", mend)
        what = f"no answer to this question of the model {model!r} is recorded in {where}"
        return Problem("BK630", f"{what}: the nearest one differs in {', '.join(differing[:4])}", mend)


def answer_in(record: Any) -> Answer:
    """The answer that a record holds; ValueError and its like for what is no record."""
    if not _is_record(record):
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
            _cost(usage.get("cost_usd")),
        ),
        served=served,
        seconds=float(said.get("seconds", 0)),
        recorded=True,
    )


def _as_json(answer: Answer) -> Json:
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


def _cost(said: Json) -> Decimal | None:
    return dollars(strictjson.decode(said) if isinstance(said, str) else said)


def _is_record(record: Json) -> bool:
    """Whether it was written here: nobody vouches for more than its outline."""
    return (
        isinstance(record, Mapping)
        and record.get("format") == FORMAT
        and isinstance(record.get("asked"), dict)
        and isinstance(record.get("answer"), dict)
    )

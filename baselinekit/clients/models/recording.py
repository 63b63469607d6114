"""Recorded answers, which are given again: cassettes, the cache, and a resumed run."""

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from typing import Literal, Protocol

from baselinekit.errors import BaselinekitError, CannotReplay, NotRecorded, Problem
from baselinekit.files.jsontext import to_bytes
from baselinekit.model.recipes import Answer, Model, ModelQuestion, ModelUsage
from baselinekit.model.values import Json
from baselinekit.secrets.variables import Redactor
from baselinekit.structs import Struct, asdict, convert, plain, replace
from baselinekit.values.places import with_texts

# The parts that distinguish one question from another. An answer is stored under their hash.


Parts = dict[str, Json]


def parts_of(ask: ModelQuestion, model: Model, kind: str, mask: Callable[[str], str]) -> Parts:
    """Everything that an answer could depend on, without keys, headers and time limits. It is hashed, and it
    is written into the file, to show what was asked."""
    temperature = ask.temperature
    if isinstance(temperature, float) and temperature.is_integer():
        temperature = int(temperature)
    parts: Parts = {
        "model": ask.model,
        kind: getattr(model, kind),
        "base_url": model.base_url.rstrip("/") if model.base_url else None,
        "output": model.output,
        "settings": model.settings or None,
        "temperature": temperature,
        "max_tokens": ask.max_tokens,
        "json": ask.json or None,
        "turn": ask.turn or None,
        "tools": [asdict(tool) for tool in ask.tools] or None,
    }
    stated = {name: with_texts(part, mask, keys=True) for name, part in parts.items() if part is not None}
    # roles are four words of ours, so they need no mask
    messages = [{"role": message.role, "content": mask(message.content)} for message in ask.messages]
    return {**stated, "messages": messages}


def key_of(parts: Parts) -> str:
    return sha256(to_bytes(parts, in_order=True)).hexdigest()


# Cassettes (`record` once, then `offline`), the cache, and a resumed run (`journal`) all give recorded
# answers again. Errors are never recorded. A model may answer the same question differently the next time. So
# an answer is stored under its question, its asker (a baseline or a case, which asks its questions one after
# the other) and how often that asker had asked the question before: these are the same in every run, in
# whatever order its threads run. Only the cache stores one answer for each question. If an asker asks a
# question more often than was recorded, a cassette answers only if all its answers to the question are alike.


FORMAT: Literal["baselinekit.call/1"] = "baselinekit.call/1"
_ALIKE = Redactor({})


class Record(Struct):
    """A recorded answer, with the parts of its question and who asked it where a cassette keeps them."""

    format: Literal["baselinekit.call/1"]
    asked: Parts
    answer: Answer
    asker: str = ""


Mode = Literal["record", "offline", "cache", "journal"]
"""`record` asks and stores; `offline` never asks; `cache` asks what is not stored yet; `journal` asks what
the resumed run had no answer to, and stores the answer if it can."""


class Shelf(Protocol):
    """A store of records, each under its model and a name that begins with the key of its question."""

    @property
    def name(self) -> str: ...
    def find(self, model: str, key: str) -> Json: ...
    def keep(self, model: str, key: str, record: Json) -> None: ...
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
        answer = self._stored_answer(ask, key, name)
        if answer is None and self._mode == "offline":
            raise CannotReplay(self._missing_answer(ask.model))
        if answer is None:
            answer = self._source.ask(ask)
            self._store(ask, key, name, answer, parts)
        with self._lock:
            self._answered[ask.model, key, ask.asker] += 1
        return answer

    def _stored_answer(self, ask: ModelQuestion, key: str, name: str) -> Answer | None:
        if self._mode == "record":
            return None
        answer = self._load_answer(ask.model, name)
        if answer is not None or self._mode != "offline":
            return answer
        found = [self._load_answer(ask.model, other) for other in self._shelf.names(ask.model, key)]
        answers = [candidate for candidate in found if candidate is not None]
        contents = [(one.text, one.tool_calls) for one in answers]  # usage and time may differ
        return answers[0] if answers and all(content == contents[0] for content in contents) else None

    def _store(self, ask: ModelQuestion, key: str, name: str, answer: Answer, parts: Parts) -> None:
        stored = as_stored(answer)
        if self._mode == "record":
            self._forget(ask, key, name)
            record = plain(Record(FORMAT, parts, stored, ask.asker))
            self._shelf.keep(ask.model, name, {**self._without_secrets(record), "format": FORMAT})
        elif self._without_secrets(plain(stored)) == plain(stored):  # else a resumed run asks again
            # a journal does not need the question: the name of the record has its hash
            asked = self._without_secrets(parts) if self._mode == "cache" else {}
            with suppress(NotRecorded):  # as if there were no cache
                self._shelf.keep(ask.model, name, plain(Record(FORMAT, asked, stored)))

    def _forget(self, ask: ModelQuestion, key: str, name: str) -> None:
        """Drop the answers of an earlier recording that this one replaces: the first new answer replaces all
        of them."""
        own_prefix = f"{key}.{_asker_hash(ask.asker)}."
        if name in (key, f"{own_prefix}0"):
            for stored_name in self._shelf.names(ask.model, key):
                if stored_name.startswith(own_prefix):
                    self._shelf.drop(ask.model, stored_name)

    def _without_secrets(self, value: Json) -> Json:
        """The value as it may be written to a file: what only looks like a secret is masked too. (The
        key is the hash of the question before that: questions that differ only there have different keys.)"""
        return _ALIKE.mask_value(with_texts(value, self.mask, keys=True))

    def _load_answer(self, model: str, key: str) -> Answer | None:
        try:
            record = self._shelf.find(model, key)
            return None if record is None else record_in(record).answer
        except (BaselinekitError, ValueError) as error:
            if self._mode in ("cache", "journal"):  # an unreadable record counts as missing
                return None
            reason = f": {error.problems[0]}" if isinstance(error, BaselinekitError) else ""
            message = f"the answer of the model {model!r} kept in {self._shelf.name} cannot be used{reason}"
            raise CannotReplay(Problem("BK630", message, "record it again: --record-calls")) from None

    def _missing_answer(self, model: str) -> Problem:
        place = self._shelf.name
        message = f"no answer of the model {model!r} to this question is recorded in {place}"
        return Problem("BK630", message, f"record it once, without --offline: --record-calls {place}")


def _asker_hash(asker: str) -> str:
    return sha256(asker.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def record_in(raw: Json) -> Record:
    """Read a record; ValueError if it is not one."""
    record = convert(raw, Record)
    return replace(record, answer=replace(record.answer, recorded=True))


def as_stored(answer: Answer) -> Answer:
    """The answer without what is true of this run only. Its cost is written as text, as no digit may go."""
    cost = answer.usage.cost_usd
    usage = replace(answer.usage, cost_usd=None if cost is None else f"{cost:f}", tokens_cached=None)
    return replace(answer, usage=usage, seconds=round(answer.seconds, 3), attempts=1, recorded=False)

"""The calls of one test: found among those that are recorded, or kept to be recorded when the test has ended.

A recorded request is an expected value, as everywhere: a placeholder in it stands for what varies, and a mask
for the secret that it covers."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from baselinekit.errors import BaselinekitError
from baselinekit.lazy import lazy_pattern
from baselinekit.library.verdicts import Difference, compare
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.models.exchanges import (
    Headers,
    HttpAnswer,
    answer_in,
    answered_in,
    asked_in,
    credentials_in,
    described,
    same_answers,
)
from baselinekit.placeholders.grammar import escape_value, holds_marker, texts_in
from baselinekit.placeholders.nature import looks_like_id, moment_of
from baselinekit.store.httpcalls import Call, Calls
from baselinekit.texts import many
from baselinekit.tree.equality import same_json
from baselinekit.tree.paths import Pattern, find, parse
from baselinekit.variables import MASK, Redactor, Secret

Mode = Literal["replay", "record", "new", "changed", "all"]
"""`replay` asks nobody. `record` asks for what is new, and nothing is as long as a recorded call to the same
address was not made: then that one has changed. `new` asks for this too; `changed` as well, and what the test
does not ask any more goes; `all` asks for everything."""

_MOST_LINES = 40
_MOST_HOSTS = 5
_MOST_PATHS = 5
_COVER = lazy_pattern(r"\*\*\*(?: \(an? [\w -]{1,60}\))?")
"""A mask, and what it is told to be."""
_FAILED_ASKING = frozenset((401, 403, 407, 408, 425, 429))


class RecordedCall:
    """A call on file. `used`: the number of the call of this run that it answered."""

    def __init__(self, call: Call, ignored: Sequence[Pattern]):
        self.call = call
        self.request: Json = without(call["request"], ignored)
        self.used: int | None = None
        self._has_marks = holds_marker(self.request)
        self._is_loose = self._has_marks or any(MASK in text for text in texts_in(self.request))

    def fits(self, asked: Json) -> bool:
        if same_json(self.request, asked):
            return True
        if not self._is_loose:
            return False
        if not self._has_marks:
            return fits(self.request, asked)
        return bool(compare(covered(self.request, asked), asked))

    @property
    def asks(self) -> tuple[Json, Json]:
        return self.request.get("method"), self.request.get("url")


def fits(recorded: Json, asked: Json) -> bool:
    """Whether they are the same but for what is masked."""
    if isinstance(recorded, str) and MASK in recorded:
        return isinstance(asked, str | int | float) and _fits_text(recorded, str(asked))
    if isinstance(recorded, dict) and isinstance(asked, dict):
        return recorded.keys() == asked.keys() and all(fits(one, asked[key]) for key, one in recorded.items())
    if isinstance(recorded, list) and isinstance(asked, list):
        return len(recorded) == len(asked) and all(map(fits, recorded, asked))
    return same_json(recorded, asked)


def _fits_text(recorded: str, asked: str) -> bool:
    first, *others = _COVER.split(recorded)
    if not asked.startswith(first) or len(asked) < sum(map(len, (first, *others))):
        return False
    last, place = others.pop(), len(first)
    for part in others:
        found = asked.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return asked.endswith(last) and len(asked) - len(last) >= place


def covered(recorded: Json, asked: Json) -> Json:
    """What is recorded, with what was asked wherever a mask covers it."""
    if isinstance(recorded, str) and MASK in recorded:
        return escape_value(asked) if fits(recorded, asked) else recorded
    if isinstance(recorded, dict) and isinstance(asked, dict):
        return {key: covered(one, asked.get(key)) for key, one in recorded.items()}
    if isinstance(recorded, list) and isinstance(asked, list):
        pairs = zip(recorded, (*asked, *[None] * len(recorded)), strict=False)
        return [covered(one, other) for one, other in pairs]
    return recorded


def without(value: Any, ignored: Sequence[Pattern]) -> Any:
    """The value without what stands at these paths."""
    gone = {path for pattern in ignored for path, _ in find(pattern, value)}
    return _left(value, gone, ()) if gone else value


def _left(value: Any, gone: set[Path], at: Path) -> Any:
    if isinstance(value, dict):
        left = {key: one for key, one in value.items() if (*at, key) not in gone}
        return {key: _left(one, gone, (*at, key)) for key, one in left.items()}
    if isinstance(value, list):
        return [_left(one, gone, (*at, n)) for n, one in enumerate(value) if (*at, n) not in gone]
    return value


@dataclass
class CallUnderWay:
    """A call that is on its way to whoever answers it. `number`: its place among those of the test."""

    number: int
    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    asked: dict[str, Json]
    replaced: RecordedCall | None = None
    answer: HttpAnswer | None = None

    def answered(self, answer: HttpAnswer) -> None:
        self.answer = answer


@dataclass(frozen=True)
class Outcome:
    """What has become of a test's calls. `calls`: what its part of the file holds from now on; None: as it
    was."""

    calls: list[Call] | None = None
    recorded: int = 0
    unused: int = 0
    removed: int = 0
    dropped: tuple[int, ...] = ()
    """The statuses of answers that were not kept, since the test failed."""


@dataclass(frozen=True)
class Counting:
    """What of a request counts: `ignore`, paths in it that do not; `headers`, those that do as well. Hosts:
    `only` these are recorded, and those that `pass_through` are always asked."""

    ignore: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    pass_through: tuple[str, ...] = ()
    only: tuple[str, ...] = ()

    def wants(self, url: str) -> bool:
        if self.only and not any(_is_of(url, one) for one in self.only):
            return False
        return not any(_is_of(url, one) for one in self.pass_through)


def _is_of(url: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase

    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return any(fnmatchcase(name, pattern.lower()) for name in (host, f"{host}:{port}"))


@dataclass
class Tape:
    """`file`: as it is told. `refuse` makes the error that a call is answered with which nobody recorded."""

    file: str
    test: str
    mode: Mode
    known: Calls
    redactor: Redactor
    refuse: Callable[[str], BaseException]
    now: Callable[[], str]
    counting: Counting = field(default_factory=Counting)
    nodeid: str = ""
    """The test as a command line names it."""
    missed: list[str] = field(default_factory=list)
    """What was asked and not recorded, each as it was told."""

    def __post_init__(self) -> None:
        self._ignored = [parse(path) for path in self.counting.ignore]
        self._counted = frozenset(name.lower() for name in self.counting.headers)
        self._own = [RecordedCall(call, self._ignored) for call in self.known.get(self.test, ())]
        others = (call for test, calls in self.known.items() if test != self.test for call in calls)
        self._others = [RecordedCall(call, self._ignored) for call in others]
        self._slots: list[CallUnderWay] = []
        self._credentials: set[str] = set()
        self._asked = 0
        self._lock = threading.RLock()

    def wants(self, url: str) -> bool:
        return self.counting.wants(url)

    def ask(self, method: str, url: str, headers: Headers, body: bytes) -> HttpAnswer | CallUnderWay:
        """The recorded answer, or where the one is kept that comes."""
        told = tuple(headers)
        parts = asked_in(method, url, told, body, self._counted)
        asked: dict[str, Json] = escape_value(parts)
        plain = without(asked, self._ignored)
        with self._lock:
            self._asked += 1
            self._credentials |= set(credentials_in(url, told))
            same = next((one for one in self._own if one.used is None and one.fits(plain)), None)
            found = same if self.mode == "all" else same or self._again(plain)
            if found is not None:
                found.used = self._asked if found.used is None else found.used
                if self.mode != "all":
                    return self._given(found)
            elif self.mode == "replay" or (self.mode == "record" and self._changed(plain)):
                raise self._missing(without(parts, self._ignored), plain)
            slot = CallUnderWay(self._asked, method, url, told, asked, found)
            self._slots.append(slot)
            return slot

    def _again(self, asked: Json) -> RecordedCall | None:
        """Of a call that was made already the answer, where all recorded ones say the same. Those of other
        tests count where nobody can be asked: a test may have another name by now."""
        for recorded in (self._own, self._others if self.mode == "replay" else ()):
            same = [one for one in recorded if one.fits(asked)]
            if same:
                alike = same_answers([one.call["response"] for one in same])
                return same[0] if alike else None
        return None

    def _changed(self, asked: Json) -> list[RecordedCall]:
        """The recorded calls to the same address that the test has not made: one of them may be this one."""
        place = asked.get("method"), asked.get("url")
        return [one for one in self._own if one.used is None and one.asks == place]

    def _given(self, recorded: RecordedCall) -> HttpAnswer:
        try:
            answer = answer_in(recorded.call["response"])
        except (ValueError, TypeError) as error:
            what = f"the recorded answer to {described(recorded.request)} cannot be used: {error}"
            raise self._refused(f"BK631 {self.file}: {what}: record it again") from None
        self._credentials |= set(credentials_in("http://-", (), answer.headers))
        return answer

    def pieces(self, answer: HttpAnswer) -> Iterator[bytes]:
        yield from answer.pieces()
        if not answer.complete:
            what = (
                f"the answer that is recorded in {self.file} ends here: its reader stopped, and now reads on"
            )
            raise self._refused(f"BK630 {what}\nrecord it again: {self._command('all')}")

    def _refused(self, text: str) -> BaseException:
        self.missed.append(text)
        return self.refuse(text)

    def _command(self, update: str) -> str:
        from shlex import quote

        return f"pytest {quote(self.nodeid or self.test)} --baseline-update={update}"

    def _missing(self, parts: Json, asked: Json) -> BaseException:
        hidden = self._redactor_now([parts]).mask_value(parts)
        what, update, lines = described(hidden), "new", list[str]()
        times = sum(one.fits(asked) for one in self._own)
        known = [*self._changed(asked), *self._own, *self._others]
        hosts = [_host(one.request) for one in known]
        if times:
            what += (
                f" is asked {many(times + 1, 'time')}: {self.file} has {many(times, 'answer')}, which differ"
            )
        elif not known:
            what += f" is not recorded: {self.file} holds no call yet"
        elif _host(asked) not in hosts:
            others = ", ".join(list(dict.fromkeys(hosts))[:_MOST_HOSTS])
            what += f" is not recorded: {self.file} holds no call to {_host(hidden)}, but to {others}"
        else:
            near = min(known, key=lambda one: (one.asks != _asks(asked), distance(one.request, asked)))
            what += f" is not recorded in {self.file}: it differs from the nearest recorded call"
            lines = ["", *differing(near.request, covered(near.request, asked), hidden), ""]
            update = "changed" if near.asks == _asks(asked) else "new"
        return self._refused("\n".join((f"BK630 {what}", *lines, f"record it: {self._command(update)}")))

    def _redactor_now(self, values: Sequence[Json]) -> Redactor:
        """One that knows each credential which went along, and what stands under the name of a secret."""
        named = {f"({n})": Secret(text) for n, text in enumerate(sorted(self._credentials))}
        return Redactor(named, None, self.redactor).knowing(list(values))

    def finish(self, passed: bool) -> Outcome:
        """What is to be written. A test that failed leaves what was answered, so that nobody is asked twice
        while it is mended, but no refusals, nothing half-answered, and nothing is taken away."""
        with self._lock:
            done = [slot for slot in self._slots if slot.answer is not None]
            dropped = [slot for slot in done if not passed and _is_no_answer(slot)]
            done = [slot for slot in done if slot not in dropped]
            new = dict(zip([slot.number for slot in done], self._written(done), strict=True))
        unused = [one for one in self._own if one.used is None]
        replaced = {id(slot.replaced): slot for slot in done if slot.replaced is not None}
        if passed and self.mode in ("changed", "all"):
            given = self._own if self.mode == "changed" else ()
            kept = {one.used: one.call for one in given if one.used is not None}
            calls = [call for _, call in sorted((kept | new).items())]
        else:
            calls = [new[replaced[id(one)].number] if id(one) in replaced else one.call for one in self._own]
            calls += [new[slot.number] for slot in done if slot.replaced is None]
        removed = len(unused) if passed and self.mode in ("changed", "all") else 0
        return Outcome(
            calls=calls if new or removed else None,
            recorded=len(new),
            unused=len(unused) - removed if passed else 0,
            removed=removed,
            dropped=tuple(slot.answer.status for slot in dropped if slot.answer is not None),
        )

    def _written(self, slots: Sequence[CallUnderWay]) -> list[Call]:
        """As they stand in the file: nothing of a secret that travelled with any of them."""
        answers = []
        for slot in slots:
            assert slot.answer is not None
            self._credentials |= set(credentials_in(slot.url, slot.headers, slot.answer.headers))
            answers.append(answered_in(slot.answer, slot.method))
        redactor = self._redactor_now([*(slot.asked for slot in slots), *answers])
        return [
            {
                "recorded_at": self.now(),
                "request": self._request(slot, redactor),
                "response": _masked(answer, redactor),
            }
            for slot, answer in zip(slots, answers, strict=True)
        ]

    def _request(self, slot: CallUnderWay, redactor: Redactor) -> Json:
        """What a hand has written there stays: a placeholder for what varies."""
        if slot.replaced is not None:
            return slot.replaced.call["request"]
        return redactor.mask_value(slot.asked)


def distance(recorded: Json, asked: Json) -> float:
    """In how many places two requests differ. One where texts have most of their words in common counts for
    less."""
    if isinstance(recorded, dict) and isinstance(asked, dict):
        shared = recorded.keys() & asked.keys()
        return len(recorded.keys() ^ asked.keys()) + sum(
            distance(recorded[key], asked[key]) for key in shared
        )
    if isinstance(recorded, list) and isinstance(asked, list):
        pairs = zip(recorded, asked, strict=False)
        return abs(len(recorded) - len(asked)) + sum(distance(one, other) for one, other in pairs)
    if same_json(recorded, asked):
        return 0
    if isinstance(recorded, str) and isinstance(asked, str):
        alike = _common(recorded, asked) + _common(recorded[::-1], asked[::-1])
        return 1 - 0.9 * min(1, alike / max(len(recorded), len(asked), 1))
    return 1


def _common(one: str, other: str) -> int:
    """How many characters are the same from the beginning on."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def differing(recorded: Json, expected: Json, asked: Json) -> list[str]:
    """The parts that differ, as every report shows differences, and what to do where all of them vary by
    nature. `expected`: what is recorded, seen through its masks; `asked`: without its secrets."""
    try:
        verdict = compare(_hidden_alike(expected, recorded, asked), asked)
        lines = str(verdict).replace("not in the baseline", "not recorded").strip().split("\n")[2:]
    except BaselinekitError as error:
        return [f"  {error}"]
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = [f"  … and {many(len(lines) - _MOST_LINES, 'more line')}"]
    if verdict.differences and all(map(_varies, verdict.differences)):
        paths = ", ".join(f'"{one.path}"' for one in verdict.differences[:_MOST_PATHS])
        lines += ["", f"  what varies in every run need not count: model_calls(…, ignore=[{paths}])"]
    return lines


def _varies(one: Difference) -> bool:
    """Whether both values are moments, or made up to name something."""
    values = one.expected, one.actual
    if ABSENT in values or any(isinstance(value, dict | list) for value in values):
        return False
    return all(moment_of(value) is not None for value in values) or all(map(looks_like_id, values))


def _hidden_alike(expected: Json, recorded: Json, asked: Json) -> Json:
    """What is recorded, and where only its masks cover what was asked, that without its secrets."""
    if isinstance(recorded, dict) and isinstance(expected, dict):
        given = asked if isinstance(asked, dict) else {}
        return {key: _hidden_alike(expected[key], one, given.get(key)) for key, one in recorded.items()}
    if isinstance(recorded, list) and isinstance(expected, list):
        rows = asked if isinstance(asked, list) else []
        told = (*rows, *[None] * len(recorded))
        return [_hidden_alike(*three) for three in zip(expected, recorded, told, strict=False)]
    return recorded if same_json(expected, recorded) else escape_value(asked)


def _masked(answer: dict[str, Json], redactor: Redactor) -> Json:
    """The names of cookies stay: a client has to know which ones it was given. What is encoded looks random,
    and is no secret for that."""
    told: dict[str, Any] = redactor.mask_value({**answer, "base64": None})
    if crumbs := dict(answer.get("headers") or {}).get("set-cookie"):
        told["headers"] = {**told["headers"], "set-cookie": crumbs}
    if "base64" in answer:
        return {**told, "base64": redactor.mask_declared(str(answer["base64"]))}
    return {name: told[name] for name in answer}


def _host(asked: Json) -> str:
    return urlsplit(str(asked.get("url"))).netloc


def _asks(asked: Json) -> tuple[Json, Json]:
    return asked.get("method"), asked.get("url")


def _is_no_answer(slot: CallUnderWay) -> bool:
    answer = slot.answer
    return answer is None or not answer.complete or answer.status in _FAILED_ASKING or answer.status >= 500

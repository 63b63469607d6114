"""The calls of one test: answered from those that are recorded, or recorded when the test has ended.

A recorded request is an expected value, as in a baseline: a placeholder in it stands for what varies, and a
mask for the secret that it covers."""

import re
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
    credentials_in,
    describe_request,
    request_parts,
    response_parts,
    same_answers,
)
from baselinekit.placeholders.grammar import escape_value, holds_marker, texts_in
from baselinekit.placeholders.nature import looks_like_id, moment_of
from baselinekit.store.httpcalls import Call, Calls
from baselinekit.texts import count_noun
from baselinekit.tree.equality import same_json
from baselinekit.tree.paths import Pattern, find, parse
from baselinekit.variables import MASK, Redactor, Secret

Mode = Literal["replay", "record", "new", "changed", "all"]
"""`replay`: no call is sent. `record`: new calls are sent, except while a recorded call to the same address
is still unused, as then that one has changed. `new`: those are sent too. `changed`: the same, and recorded
calls that the test no longer makes are removed. `all`: every call is sent."""

_MOST_LINES = 40
_MOST_HOSTS = 5
_MOST_PATHS = 5
_COVER = lazy_pattern(r"\*\*\*(?: \(an? [\w -]{1,60}\))?")
"""A mask, with or without a description of the secret."""
_FAILED_ASKING = frozenset((401, 403, 407, 408, 425, 429))


class RecordedCall:
    """A recorded call. `used`: the number of the call of this run that it answered."""

    def __init__(self, call: Call, ignored: Sequence[Pattern]):
        self.call = call
        self.request: Json = without(call["request"], ignored)
        self.used: int | None = None
        self._has_marks = holds_marker(self.request)
        self._is_loose = self._has_marks or any(MASK in text for text in texts_in(self.request))

    def fits(self, request: Json) -> bool:
        if same_json(self.request, request):
            return True
        if not self._is_loose:
            return False
        if not self._has_marks:
            return fits(self.request, request)
        return bool(compare(covered(self.request, request), request))

    @property
    def address(self) -> tuple[Json, Json]:
        return self.request.get("method"), self.request.get("url")


def fits(recorded: Json, request: Json) -> bool:
    """Whether two requests are the same except for what is masked."""
    if isinstance(recorded, str) and MASK in recorded:
        return isinstance(request, str | int | float) and _fits_text(recorded, str(request))
    if isinstance(recorded, dict) and isinstance(request, dict):
        return recorded.keys() == request.keys() and all(
            fits(value, request[key]) for key, value in recorded.items()
        )
    if isinstance(recorded, list) and isinstance(request, list):
        return len(recorded) == len(request) and all(map(fits, recorded, request))
    return same_json(recorded, request)


def _fits_text(recorded: str, request: str) -> bool:
    first, *parts = _COVER.split(recorded)
    if not request.startswith(first) or len(request) < sum(map(len, (first, *parts))):
        return False
    last, place = parts.pop(), len(first)
    for part in parts:
        position = request.find(part, place)
        if position < 0:
            return False
        place = position + len(part)
    return request.endswith(last) and len(request) - len(last) >= place


def covered(recorded: Json, request: Json) -> Json:
    """Return what is recorded, with the values of the request wherever a mask covers them."""
    if isinstance(recorded, str) and MASK in recorded:
        return escape_value(request) if fits(recorded, request) else recorded
    if isinstance(recorded, dict) and isinstance(request, dict):
        return {key: covered(value, request.get(key)) for key, value in recorded.items()}
    if isinstance(recorded, list) and isinstance(request, list):
        pairs = zip(recorded, (*request, *[None] * len(recorded)), strict=False)
        return [covered(value, requested) for value, requested in pairs]
    return recorded


def without(value: Any, ignored: Sequence[Pattern]) -> Any:
    """Return the value without what is at these paths."""
    removed = {path for pattern in ignored for path, _ in find(pattern, value)}
    return _remove_paths(value, removed, ()) if removed else value


def _remove_paths(value: Any, removed: set[Path], at: Path) -> Any:
    if isinstance(value, dict):
        remaining = {key: item for key, item in value.items() if (*at, key) not in removed}
        return {key: _remove_paths(item, removed, (*at, key)) for key, item in remaining.items()}
    if isinstance(value, list):
        return [
            _remove_paths(item, removed, (*at, n)) for n, item in enumerate(value) if (*at, n) not in removed
        ]
    return value


@dataclass
class CallUnderWay:
    """A call that was sent and is waiting for its answer. `number`: its place among those of the test."""

    number: int
    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    request: dict[str, Json]
    replaced: RecordedCall | None = None
    answer: HttpAnswer | None = None

    def answered(self, answer: HttpAnswer) -> None:
        self.answer = answer


@dataclass(frozen=True)
class Outcome:
    """The result of a test's calls. `calls`: the new content of its part of the file; None: unchanged."""

    calls: list[Call] | None = None
    recorded: int = 0
    unused: int = 0
    removed: int = 0
    dropped: tuple[int, ...] = ()
    """The statuses of answers that were not recorded, since the test failed."""


@dataclass(frozen=True)
class MatchSettings:
    """How requests are matched. `ignore`: paths that do not count; `headers`: headers that count as well;
    `only`: the only hosts that are recorded; `pass_through`: hosts to which calls are always sent."""

    ignore: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    pass_through: tuple[str, ...] = ()
    only: tuple[str, ...] = ()

    def wants(self, url: str) -> bool:
        if self.only and not any(_is_at_host(url, pattern) for pattern in self.only):
            return False
        return not any(_is_at_host(url, pattern) for pattern in self.pass_through)


def _is_at_host(url: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase

    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return any(fnmatchcase(name, pattern.lower()) for name in (host, f"{host}:{port}"))


@dataclass
class Tape:
    """`file`: its name for messages. `refuse`: makes the error that is raised for an unrecorded call."""

    file: str
    test: str
    mode: Mode
    recorded_calls: Calls
    redactor: Redactor
    refuse: Callable[[str], BaseException]
    now: Callable[[], str]
    match_settings: MatchSettings = field(default_factory=MatchSettings)
    nodeid: str = ""
    """The test as a command line names it."""
    missed: list[str] = field(default_factory=list)
    """The messages for calls that were not recorded."""

    def __post_init__(self) -> None:
        self._ignored = [parse(path) for path in self.match_settings.ignore]
        self._matched_headers = frozenset(name.lower() for name in self.match_settings.headers)
        self._own_calls = [
            RecordedCall(call, self._ignored) for call in self.recorded_calls.get(self.test, ())
        ]
        others = (call for test, calls in self.recorded_calls.items() if test != self.test for call in calls)
        self._other_calls = [RecordedCall(call, self._ignored) for call in others]
        self._calls: list[CallUnderWay] = []
        self._credentials: set[str] = set()
        self._call_count = 0
        self._lock = threading.RLock()

    def wants(self, url: str) -> bool:
        return self.match_settings.wants(url)

    def ask(self, method: str, url: str, headers: Headers, body: bytes) -> HttpAnswer | CallUnderWay:
        """Return the recorded answer, or a call that takes the answer to be recorded."""
        header_pairs = tuple(headers)
        parts = request_parts(method, url, header_pairs, body, self._matched_headers)
        request: dict[str, Json] = escape_value(parts)
        compared = without(request, self._ignored)
        with self._lock:
            self._call_count += 1
            self._credentials |= set(credentials_in(url, header_pairs))
            same = next(
                (
                    recorded
                    for recorded in self._own_calls
                    if recorded.used is None and recorded.fits(compared)
                ),
                None,
            )
            match = same if self.mode == "all" else same or self._find_repeated(compared)
            if match is not None:
                match.used = self._call_count if match.used is None else match.used
                if self.mode != "all":
                    return self._read_answer(match)
            elif self.mode == "replay" or (self.mode == "record" and self._unused_at_address(compared)):
                raise self._refuse_unrecorded(without(parts, self._ignored), compared)
            call = CallUnderWay(self._call_count, method, url, header_pairs, request, match)
            self._calls.append(call)
            return call

    def _find_repeated(self, request: Json) -> RecordedCall | None:
        """Return a recorded call for a repeated request, where all its recorded answers are the same. In
        replay the calls of other tests count too: the test may have been renamed."""
        for calls in (self._own_calls, self._other_calls if self.mode == "replay" else ()):
            same = [call for call in calls if call.fits(request)]
            if same:
                alike = same_answers([call.call["response"] for call in same])
                return same[0] if alike else None
        return None

    def _unused_at_address(self, request: Json) -> list[RecordedCall]:
        """Return the unused recorded calls to the same address: this request may be one of them, changed."""
        place = request.get("method"), request.get("url")
        return [call for call in self._own_calls if call.used is None and call.address == place]

    def _read_answer(self, recorded: RecordedCall) -> HttpAnswer:
        try:
            answer = answer_in(recorded.call["response"])
        except (ValueError, TypeError) as error:
            message = f"the recorded answer to {describe_request(recorded.request)} cannot be used: {error}"
            raise self._refuse(f"BK631 {self.file}: {message}: record it again") from None
        self._credentials |= set(credentials_in("http://-", (), answer.headers))
        return answer

    def pieces(self, answer: HttpAnswer) -> Iterator[bytes]:
        yield from answer.pieces()
        if not answer.complete:
            message = (
                f"the answer that is recorded in {self.file} ends here: its reader stopped, and now reads on"
            )
            raise self._refuse(f"BK630 {message}\nrecord it again: {self._command('all')}")

    def refuse_library(self, method: str, place: str, library: str) -> BaseException:
        """Return the failure for a call through a library that is not recorded, which is not sent."""
        host = place.partition("://")[2]
        message = f"a {method} to {place} through {library}, which the mark model_calls does not record"
        hint = f"send it through httpx or requests, or name the host: pass_through=[{host!r}]"
        return self._refuse(f"BK632 {message}: {hint}")

    def _refuse(self, text: str) -> BaseException:
        self.missed.append(text)
        return self.refuse(text)

    def _command(self, update: str) -> str:
        from shlex import quote

        return f"pytest {quote(self.nodeid or self.test)} --baseline-update={update}"

    def _refuse_unrecorded(self, parts: Json, request: Json) -> BaseException:
        hidden = self._redactor_now([parts]).mask_value(parts)
        message, update, lines = describe_request(hidden), "new", list[str]()
        times = sum(call.fits(request) for call in self._own_calls)
        candidates = [*self._unused_at_address(request), *self._own_calls, *self._other_calls]
        hosts = [_host(call.request) for call in candidates]
        if times:
            often, answers = count_noun(times + 1, "time"), count_noun(times, "answer")
            message += f" is asked {often}: {self.file} has {answers}, which differ"
        elif not candidates:
            message += f" is not recorded: {self.file} holds no call yet"
        elif _host(request) not in hosts:
            others = ", ".join(list(dict.fromkeys(hosts))[:_MOST_HOSTS])
            message += f" is not recorded: {self.file} holds no call to {_host(hidden)}, but to {others}"
        else:
            nearest = min(
                candidates,
                key=lambda call: (call.address != _address(request), distance(call.request, request)),
            )
            message += f" is not recorded in {self.file}: it differs from the nearest recorded call"
            lines = ["", *differing(nearest.request, covered(nearest.request, request), hidden), ""]
            update = "changed" if nearest.address == _address(request) else "new"
        return self._refuse("\n".join((f"BK630 {message}", *lines, f"record it: {self._command(update)}")))

    def _redactor_now(self, values: Sequence[Json]) -> Redactor:
        """Return a redactor that knows every credential that was sent, and every value under the name of a
        secret."""
        secrets = {f"({n})": Secret(text) for n, text in enumerate(sorted(self._credentials))}
        return Redactor(secrets, None, self.redactor).knowing(list(values))

    def finish(self, passed: bool) -> Outcome:
        """Return what to write. The answers of a failed test are recorded too, so that calls are not repeated
        while it is fixed, but no refusals and no incomplete answers, and nothing is removed."""
        with self._lock:
            done = [call for call in self._calls if call.answer is not None]
            dropped = [call for call in done if not passed and _is_no_answer(call)]
            done = [call for call in done if call not in dropped]
            new = dict(zip([call.number for call in done], self._as_calls(done), strict=True))
        unused = [recorded for recorded in self._own_calls if recorded.used is None]
        replaced = {id(call.replaced): call for call in done if call.replaced is not None}
        if passed and self.mode in ("changed", "all"):
            sources = self._own_calls if self.mode == "changed" else ()
            kept_calls = {recorded.used: recorded.call for recorded in sources if recorded.used is not None}
            calls = [call for _, call in sorted((kept_calls | new).items())]
        else:
            calls = [
                new[replaced[id(recorded)].number] if id(recorded) in replaced else recorded.call
                for recorded in self._own_calls
            ]
            calls += [new[call.number] for call in done if call.replaced is None]
        removed = len(unused) if passed and self.mode in ("changed", "all") else 0
        return Outcome(
            calls=calls if new or removed else None,
            recorded=len(new),
            unused=len(unused) - removed if passed else 0,
            removed=removed,
            dropped=tuple(call.answer.status for call in dropped if call.answer is not None),
        )

    def _as_calls(self, calls: Sequence[CallUnderWay]) -> list[Call]:
        """Return calls as they are written to the file, with the secrets of all of them masked."""
        answers = []
        for call in calls:
            assert call.answer is not None
            self._credentials |= set(credentials_in(call.url, call.headers, call.answer.headers))
            answers.append(response_parts(call.answer, call.method))
        redactor = self._redactor_now([*(slot.request for slot in calls), *answers])
        return [
            {
                "recorded_at": self.now(),
                "request": self._request(call, redactor),
                "response": _masked(answer, redactor),
            }
            for call, answer in zip(calls, answers, strict=True)
        ]

    def _request(self, call: CallUnderWay, redactor: Redactor) -> Json:
        """Return the request to write: a replaced call keeps its own, which may have placeholders."""
        if call.replaced is not None:
            return call.replaced.call["request"]
        return redactor.mask_value(call.request)


def distance(recorded: Json, request: Json) -> float:
    """Return in how many places two requests differ. A place where the texts are similar counts for less."""
    if isinstance(recorded, dict) and isinstance(request, dict):
        shared = recorded.keys() & request.keys()
        return len(recorded.keys() ^ request.keys()) + sum(
            distance(recorded[key], request[key]) for key in shared
        )
    if isinstance(recorded, list) and isinstance(request, list):
        pairs = zip(recorded, request, strict=False)
        return abs(len(recorded) - len(request)) + sum(
            distance(value, requested) for value, requested in pairs
        )
    if same_json(recorded, request):
        return 0
    if isinstance(recorded, str) and isinstance(request, str):
        alike = _common_start(recorded, request) + _common_start(recorded[::-1], request[::-1])
        return 1 - 0.9 * min(1, alike / max(len(recorded), len(request), 1))
    return 1


def _common_start(left: str, right: str) -> int:
    """Return the length of the common start of two texts."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(left), len(right)))


def differing(recorded: Json, expected: Json, request: Json) -> list[str]:
    """Return the lines for the parts that differ, and a hint where all of them vary by nature. `expected`:
    what is recorded, with masks filled in; `request`: without its secrets."""
    try:
        verdict = compare(_hidden_alike(expected, recorded, request), request)
        lines = str(verdict).replace("not in the baseline", "not recorded").strip().split("\n")[2:]
    except BaselinekitError as error:
        return [f"  {error}"]
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = [f"  … and {count_noun(len(lines) - _MOST_LINES, 'more line')}"]
    if verdict.differences and all(map(_varies, verdict.differences)):
        paths = ", ".join(f'"{difference.path}"' for difference in verdict.differences[:_MOST_PATHS])
        lines += ["", f"  what varies in every run need not count: model_calls(…, ignore=[{paths}])"]
    return lines


def _varies(difference: Difference) -> bool:
    """Whether both values are times, or both look like ids."""
    values = difference.expected, difference.actual
    if ABSENT in values or any(isinstance(value, dict | list) for value in values):
        return False
    return all(moment_of(value) is not None for value in values) or all(map(looks_like_id, values))


def _hidden_alike(expected: Json, recorded: Json, request: Json) -> Json:
    """Return what is recorded; where a mask covers the request's value, that value without its secrets."""
    if isinstance(recorded, dict) and isinstance(expected, dict):
        requested = request if isinstance(request, dict) else {}
        return {
            key: _hidden_alike(expected[key], value, requested.get(key)) for key, value in recorded.items()
        }
    if isinstance(recorded, list) and isinstance(expected, list):
        rows = request if isinstance(request, list) else []
        padded_rows = (*rows, *[None] * len(recorded))
        return [_hidden_alike(*values) for values in zip(expected, recorded, padded_rows, strict=False)]
    return recorded if same_json(expected, recorded) else escape_value(request)


def _masked(answer: dict[str, Json], redactor: Redactor) -> Json:
    """Mask an answer. Its cookies stay: they were masked already, and a client needs their names. In base64
    only declared secrets are masked: encoded data looks random without being secret."""
    masked: dict[str, Any] = redactor.mask_value({**answer, "base64": None})
    if cookies := dict(answer.get("headers") or {}).get("set-cookie"):
        masked["headers"] = {**masked["headers"], "set-cookie": cookies}
    if "base64" in answer:
        return {**masked, "base64": redactor.mask_declared(str(answer["base64"]))}
    return {name: masked[name] for name in answer}


def _host(request: Json) -> str:
    """The host of a call, also of one that somebody edited: urlsplit refuses some texts."""
    return re.split(r"[/?#]", str(request.get("url")).partition("//")[2], maxsplit=1)[0]


def _address(request: Json) -> tuple[Json, Json]:
    return request.get("method"), request.get("url")


def _is_no_answer(call: CallUnderWay) -> bool:
    answer = call.answer
    return answer is None or not answer.complete or answer.status in _FAILED_ASKING or answer.status >= 500

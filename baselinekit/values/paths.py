"""Paths into a document: dotted with wildcards (`users.*.id`, `**.id`) or JSONPath (`$.users[*].id`).

Both are compiled to the same segments, so that a rule can be matched step by step while a document is
walked."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

from baselinekit.errors import InvalidInput, Problem
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path
from baselinekit.structs import Struct
from baselinekit.values.places import FilterSegment, Key, OneOf, Segment, Slice, Wild, places, select
from baselinekit.values.texts import mask_and_clip, no_mask

_PLAIN_KEY = lazy_pattern(r"[^\W\d][\w-]*")
_DOTTED = lazy_pattern(
    r"""(?P<dot>\.)? (?:
        \[ (?: (?P<any>\*) | (?P<index>-?\d{1,18}) | (?P<inner>"(?:[^"\\]|\\.)*" | '[^']*') ) \]
        | (?P<quoted>"(?:[^"\\]|\\.)*") | (?P<key>[^.\[\]"'\s][^.\[\]"]*) )""",
    re.VERBOSE,
)
_LONGEST = 1024
_ROOT = "the whole output is `$`, what a request answers is `body`"
_LONGEST_SHOWN = 80
_MOST_SUGGESTED = 10_000

Specificity = tuple[int, int, int, int]
LEAST_EXACT: Specificity = (-_LONGEST - 1, 0, 0, 0)
"""The specificity of the default: behind every path that a user wrote."""


class Pattern(Struct):
    """A compiled path. `absolute`: written with `$`, so it starts at the whole output. `last`: any other path
    is more exact."""

    text: str
    segments: tuple[Segment, ...]
    absolute: bool
    last: bool = False

    @property
    def specificity(self) -> Specificity:
        """If two patterns match, the one with the greater specificity is more exact: fewer `**`, then more
        names and indexes, then longer, then more filters and slices."""
        if self.last:
            return LEAST_EXACT
        deep = sum(segment is Wild.DEEP for segment in self.segments)
        named = sum(isinstance(segment, str | int | Key) for segment in self.segments)
        narrow = sum(isinstance(segment, Slice | OneOf | FilterSegment) for segment in self.segments)
        return (-deep, named, len(self.segments), narrow)


@lru_cache(maxsize=4096)
def parse(text: str) -> Pattern:
    """Compile a path. An invalid one is an error that shows where it goes wrong."""
    if not text or len(text) > _LONGEST:
        problem = "is empty" if not text else f"is longer than {_LONGEST} characters"
        raise _refusal(text, problem, "" if text else _ROOT)
    if text in (".", "[]"):
        raise _refusal(text, "leads nowhere", _ROOT)
    absolute = text.startswith("$")
    return Pattern(text, tuple(_parse_jsonpath(text) if absolute else _parse_dotted(text)), absolute)


def _refusal(text: str, reason: str, hint: str = "") -> InvalidInput:
    shown = mask_and_clip(text, _LONGEST_SHOWN, no_mask, counted=False)
    return InvalidInput(Problem("BK201", f"the path {shown!r} {reason}", hint))


def _parse_dotted(text: str) -> Iterator[Segment]:
    position = 0
    last: Segment | None = None
    while position < len(text):
        match = _DOTTED.match(text, position)
        bracket = match is not None and text[match.start() + bool(match["dot"])] == "["
        if match is None or (bool(match["dot"]) != (position > 0) and not (bracket and not match["dot"])):
            raise _refusal(text, f"cannot be read at character {position + 1}", 'quote keys: headers."x-id"')
        segment = read_dotted_segment(match)
        if segment is not Wild.DEEP or segment is not last:  # `**.**` is the same as `**`
            yield segment
        last, position = segment, match.end()


def read_dotted_segment(match: re.Match[str]) -> Segment:
    if match["any"]:
        return Wild.ANY
    if match["index"]:
        return int(match["index"])
    quoted = match["quoted"] or match["inner"]
    if not quoted:
        key: str = match["key"]
        return {"*": Wild.ANY, "**": Wild.DEEP}.get(key, key)
    try:
        name = str(quoted[1:-1] if quoted[0] == "'" else json.loads(quoted, strict=False))
    except ValueError:
        raise _refusal(match.string, f"has a key that is not a JSON string: {quoted}") from None
    return Key(name) if name.isdigit() else name


def _parse_jsonpath(text: str) -> tuple[Segment, ...]:
    if text.count("..") > 1:
        raise _refusal(text, "has more than one `..`", "name the keys in between")
    from baselinekit.values.jsonpath import NotJsonPath, read  # jsonpath-ng, which dotted paths do not need

    try:
        return read(text)
    except NotJsonPath as error:
        hint = error.hint or 'write a dotted path: users.*.id, users[0]."x y"'
        raise _refusal(text, error.reason, hint) from None


def find(pattern: Pattern, value: Json) -> list[tuple[Path, Json]]:
    """Every place of a document to which the pattern leads, in document order."""
    return list(select(pattern.segments, value))


def roots(pattern: Pattern, output: Json) -> list[Path]:
    """The places of an HTTP output from which a path leads somewhere: the whole output, its body, or both.
    `$…` and `**…` always start at the whole output, which contains the body."""
    if pattern.absolute or pattern.segments[0] is Wild.DEEP:
        return [()]
    if not isinstance(output, dict):
        return []
    starts: list[tuple[Path, Json]] = [((), output), (("body",), output.get("body"))]
    return [path for path, value in starts if find(pattern, value)]


def suggest_path(pattern: Pattern, value: Json) -> str:
    """A question that suggests the nearest existing path; empty if none is near."""
    from difflib import get_close_matches

    paths = [path for path, _ in islice(places(value), _MOST_SUGGESTED)]
    written = dict.fromkeys(render(of_any_row(path)) for path in paths if path)
    matches = get_close_matches(pattern.text.removeprefix("$."), written, n=1)
    return f"did you mean {matches[0]!r}?" if matches else ""


def of_any_row(path: Path) -> tuple[str | int | Wild, ...]:
    """The path with every index as a wildcard, so that all rows of an array have the same path."""
    return tuple(Wild.ANY if isinstance(key, int) else key for key in path)


def render(path: Sequence[str | int | Wild]) -> str:
    """A path as people read and type it: `body.users[1].email`, `headers."x-request-id"`."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        else:
            word = "*" if isinstance(key, Wild) else key
            plain = isinstance(key, Wild) or _PLAIN_KEY.fullmatch(key)
            text += ("." if text else "") + (word if plain else json.dumps(key, ensure_ascii=False))
    return text or "$"

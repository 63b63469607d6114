"""The YAML that `capture` writes, read line by line; and what YAML 1.2 takes a plain scalar for."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from baselinekit.documents.jsontext import MAX_DEPTH, fraction, whole
from baselinekit.documents.marks import Watched
from baselinekit.model.values import Json

# What YAML 1.2 (core) takes a plain scalar for: `no`, `12:30:45` and a date are texts, `0o17` is 15.

WORDS: dict[str, Json] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
NUMBER_STARTS = frozenset("-+.0123456789")
NO_TEXT_STARTS = NUMBER_STARTS | {word[:1] for word in WORDS}
"""Any plain scalar that begins otherwise is a text."""

_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def scalar(text: str) -> Json:
    """The value of a plain scalar. ValueError: a number that cannot be kept."""
    if text in WORDS:
        return WORDS[text]
    return _number(text) if text[0] in NUMBER_STARTS else text


@lru_cache(maxsize=4096)
def _number(text: str) -> Json:
    if _INT.fullmatch(text):
        return whole(text)
    if _FLOAT.fullmatch(text):
        return fraction(text)
    if _BASED.fullmatch(text):
        whole(text[2:] if len(text) > 1_000 else "0")
        return int(text, 0)
    if _NO_NUMBER.fullmatch(text):
        raise ValueError(f"{text}, which is not a JSON number")
    return text


# What `capture` writes: mappings and lists in block style, each key and each scalar on one line, no
# anchors, no tags, no escapes. A text with anything else in it is left to libyaml (libyaml.py), whether it
# is right or wrong; of what is read here, libyaml reads the same.

LONGEST = 200_000
"""No node takes less than a character: a text that is no longer needs no count of them."""

_CONTROLS = r"\x00-\x1f\x7f"
_INNER = rf"[^ #:{_CONTROLS}]"  # of a plain scalar
_PLAIN = rf"(?:[A-Za-z0-9_/.(<$+]|-(?=[0-9])){_INNER}*(?:[ :]{_INNER}+)*"
_QUOTED = rf'"[^"\\{_CONTROLS}]*"' + rf"|'[^'{_CONTROLS}]*'"
_KEY = rf'[A-Za-z_][A-Za-z0-9_.-]{{0,99}}|"[^"\\{_CONTROLS}]{{0,99}}"'
_LINE = re.compile(
    rf"^( *)((?:- )*)(?:({_KEY}):(?: (?! |$)|$))?({_QUOTED}|{_PLAIN}|\[\]|\{{\}}|)$|^ *#[ -~]*$",
    re.MULTILINE,
)
_OTHER_ODD = "[\x80-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
"""What ASCII has not, and no text holds as it is. In the sets of `_LINE` it would take fifteen milliseconds
to compile, at every start."""

_ODD_STARTS = NO_TEXT_STARTS | frozenset("\"'[{")
_NAMES: dict[str, str] = {}
_MOST_NAMES = 4_096


class _Other(ValueError):
    """Something else stands there, be it right or wrong."""


def read(body: str, watched: Watched) -> list[Json] | None:
    """The one document of a text, and where the values of the `watched` keys stand."""
    text = body.removesuffix("\n")
    if len(body) > LONGEST or (not body.isascii() and re.search(_OTHER_ODD, body)):
        return None
    lines = _LINE.findall(text)
    if len(lines) != text.count("\n") + 1:
        return None
    met: dict[str, list[dict[str, Json]]] = {name: [] for name in watched}
    try:
        documents = _documents(lines, met)
    except ValueError:
        return None
    for name, boxes in met.items():
        values = rf'{re.escape(name)}"?: ?(.*)$'
        spans = [match.span(1) for match in re.finditer(values, text, re.MULTILINE)] if boxes else []
        if len(spans) == len(boxes):  # else the name is also part of a text
            pairs = zip(boxes, spans, strict=True)
            plain = ((box, span) for box, span in pairs if box[name].__class__ not in (list, dict))
            watched[name] += [(box, span) for box, span in plain if span[0] < span[1]]
    return documents or None


def _documents(
    lines: Sequence[tuple[str, str, str, str]], met: dict[str, list[dict[str, Json]]]
) -> list[Json]:
    root: list[Json] = []
    outer: list[tuple[int, Any]] = []
    box: Any = root
    column, name, is_open = -1, "", True  # open: what the last entry holds may begin below it
    for indent, dashes, key, text in lines:
        at = len(indent)
        while at < column and (dashes or key or text):
            column, box = outer.pop()
            is_open = False
        if dashes or (key and at != column):
            for begins in (*[list] * (len(dashes) // 2), *[dict] * bool(key)):
                if at > column and is_open and len(outer) < MAX_DEPTH:
                    outer.append((column, box))
                    column, box = at, _put(box, name, begins())
                elif at != column or box.__class__ is not begins:
                    raise _Other
                at, is_open = at + 2, True
        value = _value(text) if text[:1] in _ODD_STARTS else text
        if key:
            name = _NAMES.get(key) or _name(key)
            if name in box or box.__class__ is not dict:
                raise _Other
            if name in met:
                met[name].append(box)
            box[name] = value
            is_open = not text
        elif text and dashes:
            box.append(value)
            is_open = False
        elif text or dashes:
            raise _Other
    return root


def _put(box: Any, name: str, new: Any) -> Any:
    if box.__class__ is list:
        box.append(new)
    else:
        box[name] = new
    return new


def _name(key: str) -> str:
    """A key as it is meant; the same key is the same object in all files."""
    name = key[1:-1] if key[0] == '"' else key
    if key in WORDS:
        raise _Other
    return _NAMES.setdefault(key, name) if len(_NAMES) < _MOST_NAMES else name


def _value(text: str) -> Json:
    if text[:1] in ("'", '"'):
        return text[1:-1]
    if text in ("[]", "{}"):
        return [] if text == "[]" else {}
    return scalar(text)

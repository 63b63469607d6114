"""What YAML 1.2 (core) takes a plain scalar for: `no`, `12:30:45` and a date are texts, `0o17` is 15."""

import re
from functools import lru_cache

from baselinekit.documents.literals import fraction, whole
from baselinekit.model.values import Json

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
        raise ValueError(f"{text}, which is no number that JSON knows")
    return text

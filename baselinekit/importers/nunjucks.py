"""Nunjucks templates as promptfoo has them, as far as they only contain names: filled in once. Templates with
logic are not carried over, and reported."""

import re
from collections.abc import Callable, Mapping

from baselinekit.files.jsontext import tight_json
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import ABSENT, Json
from baselinekit.structs import Struct

_DEEPEST = 5
_TAG = lazy_pattern(r"\{%-?\s*(?P<tag>.*?)\s*-?%\}|\{#.*?#\}|\{\{-?\s*(?P<inner>.*?)\s*-?\}\}", re.DOTALL)
_NAME = lazy_pattern(r"[A-Za-z_$][\w$]*(?:\.\w+|\[\d+\]|\[(['\"])[^'\"]*\1\])*")
_STEP = lazy_pattern(r"\.(\w+)|\[(\d+)\]|\[['\"]([^'\"]*)['\"]\]")
_STRING = lazy_pattern(r"(['\"])((?:(?!\1).)*)\1")
_FILTERS: Mapping[str, Callable[[str], str]] = {
    "upper": str.upper,
    "lower": str.lower,
    "trim": str.strip,
    "safe": str,
    "string": str,
}
_AS_JSON = ("dump", "tojson")


class TemplateLogic(Exception):
    """Something in a template that is more than the name of a value."""

    def __init__(self, message: str):
        super().__init__(message)
        self.message = message


class Filled(Struct):
    """A text with its values filled in. `empty`: names without a value, which stand for the empty text."""

    text: str
    empty: tuple[str, ...] = ()


def filled(template: str, values: Mapping[str, Json]) -> Filled:
    """The text of a filled template. Values may name other values, a few levels deep."""
    empty: dict[str, None] = {}

    def expanded(text: str, depth: int) -> str:
        return _TAG.sub(lambda match: fill_tag(match, depth), text) if "{" in text else text

    def fill_tag(match: re.Match[str], depth: int) -> str:
        if match["tag"] is not None:
            raise TemplateLogic(f"{{% {match['tag']} %}}")
        if match["inner"] is None:
            return ""  # a comment
        expression, *filters = (part.strip() for part in match["inner"].split("|"))
        value = _value(expression, values)
        if value is ABSENT:
            empty[expression] = None
            value = ""
        is_json = [name for name in filters if name.split("(")[0] in _AS_JSON]
        text = tight_json(value) if is_json or not isinstance(value, str | None | bool) else _plain(value)
        if depth < _DEEPEST and not is_json:
            text = expanded(text, depth + 1)
        for name in filters:
            if name not in _FILTERS and name not in is_json:
                raise TemplateLogic(f"the filter {name!r}")
            text = _FILTERS.get(name, str)(text)
        return text

    return Filled(expanded(template, 0), tuple(empty))


def _plain(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _value(expression: str, values: Mapping[str, Json]) -> Json:
    """The value that an expression names; ABSENT if there is none."""
    if text := _STRING.fullmatch(expression):
        return text[2]
    if not _NAME.fullmatch(expression):
        raise TemplateLogic(f"{{{{ {expression} }}}}")
    name = re.match(r"[\w$]+", expression)
    if name is None or name[0] == "env":
        raise TemplateLogic(f"the environment variable {expression}")
    value: Json = values.get(name[0], ABSENT)
    for step in _STEP.finditer(expression, name.end()):
        key = step[1] or step[3]
        if isinstance(value, dict) and key is not None:
            value = value.get(key, ABSENT)
        elif isinstance(value, list) and (step[2] or (key or "").isdigit()):
            number = int(step[2] or key)
            value = value[number] if number < len(value) else ABSENT
        elif value is ABSENT or value is None:
            return ABSENT
        else:  # what JavaScript has there, such as `length`
            raise TemplateLogic(f"{{{{ {expression} }}}}")
    return value

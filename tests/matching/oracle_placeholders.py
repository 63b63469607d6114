r"""Placeholders for the oracle: a small evaluator of the forms that the generator writes.

A text is literal, one placeholder alone, or a text with placeholders in it. `{{any_x}}` means `<<any_x>>`,
and one `\` before either makes it literal."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from oracle_paths import Undecided, number

FORM = re.compile(
    r"<<(?P<name>[a-z][a-z0-9_]*)(?:\((?P<args>[^()]*)\))?"
    r"(?P<maybe>\?)?(?P<null>\|null)?(?: as (?P<key>\w+))?>>"
    r"|\{\{(?P<old>any_[a-z_]+)\}\}"
)
UUID = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"


@dataclass(frozen=True)
class Placeholder:
    name: str
    args: tuple[Any, ...] = ()
    maybe: bool = False
    null: bool = False
    key: str | None = None


def argument(text: str) -> Any:
    text = text.strip()
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if text in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[text]
    return float(text) if re.fullmatch(r"-?\d+\.\d+", text) else text


def parts_of(text: str) -> list[str | Placeholder]:
    """The literal texts and the placeholders, in order."""
    parts: list[str | Placeholder] = []
    at = 0
    for found in FORM.finditer(text):
        before = text[at : found.start()]
        at = found.end()
        if before.endswith("\\"):
            if before.endswith("\\\\"):
                raise Undecided("more than one backslash")
            parts.append(before[:-1] + found[0])
            continue
        args = tuple(argument(part) for part in found["args"].split(",")) if found["args"] else ()
        name = found["name"] or found["old"]
        parts += [before, Placeholder(name, args, bool(found["maybe"]), bool(found["null"]), found["key"])]
    parts.append(text[at:])
    merged: list[str | Placeholder] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        elif part != "":
            merged.append(part)
    return merged


def alone(text: Any) -> Placeholder | None:
    """The placeholder that a text is, when it is nothing else."""
    parts = parts_of(text) if isinstance(text, str) else []
    return parts[0] if len(parts) == 1 and isinstance(parts[0], Placeholder) else None


def holds_one(value: Any) -> bool:
    """Whether there is a placeholder anywhere in it."""
    if isinstance(value, str):
        return any(isinstance(part, Placeholder) for part in parts_of(value))
    if isinstance(value, dict):
        return any(map(holds_one, value.values()))
    return isinstance(value, list) and any(map(holds_one, value))


def within(value: Any, args: tuple[Any, ...]) -> bool:
    low, high = [*args, None, None][:2]
    return (low is None or low <= value) and (high is None or value <= high)


def fits(this: Placeholder, value: Any) -> bool:
    """Whether a placeholder that stands alone describes a value that is there."""
    name, args = this.name, this.args
    if value is None and this.null:
        return True
    text, numeral = isinstance(value, str), number(value)
    if name == "any_float" and isinstance(value, int) and not isinstance(value, bool):
        raise Undecided("whether 1 is a float")
    if name == "number":
        middle, around = (Decimal(part.strip()) for part in args[0].split("±"))
        return numeral and abs(Decimal(repr(value)) - middle) <= around
    if name == "one_of":
        if numeral and any(number(one) and one == value and type(one) is not type(value) for one in args):
            raise Undecided("whether one_of(1) is 1.0")
        return any(type(one) is type(value) and one == value for one in args)
    if name == "length" and isinstance(value, dict):
        raise Undecided("the length of an object")
    plain = {
        "any": lambda: True,
        "any_string": lambda: text and within(len(value), args),
        "any_nonempty_string": lambda: text and value != "",
        "any_number": lambda: numeral and within(value, args),
        "any_integer": lambda: numeral and isinstance(value, int) and within(value, args),
        "any_float": lambda: isinstance(value, float),
        "any_boolean": lambda: isinstance(value, bool),
        "any_null": lambda: value is None,
        "any_object": lambda: isinstance(value, dict),
        "any_array": lambda: isinstance(value, list),
        "any_uuid": lambda: text and re.fullmatch(UUID, value) is not None,
        "any_hex": lambda: text and re.fullmatch(f"[0-9a-fA-F]{{{args[0]}}}", value) is not None,
        "contains": lambda: text and args[0] in value,
        "starts_with": lambda: text and value.startswith(args[0]),
        "ends_with": lambda: text and value.endswith(args[0]),
        "regex": lambda: text and re.fullmatch(args[0], value) is not None,
        "length": lambda: (text or isinstance(value, list)) and len(value) == args[0],
    }
    return bool(plain[name]())


INSIDE = {
    "any_integer": r"-?(?:0|[1-9]\d*)",
    "any_string": r"(?s:.*)",
    "any_nonempty_string": r"(?s:.+)",
    "any_uuid": UUID,
    "any_boolean": "(?:true|false)",
}


def inside(this: Placeholder) -> str:
    """The pattern of a placeholder inside a text."""
    if this.maybe or this.null or (this.args and this.name not in ("any_hex", "one_of")):
        raise Undecided("a qualified placeholder inside a text")
    if this.name == "any_hex":
        return f"[0-9a-fA-F]{{{this.args[0]}}}"
    if this.name == "one_of":
        return "(?:" + "|".join(re.escape(str(one)) for one in this.args) + ")"
    return INSIDE[this.name]


def text_fits(parts: list[str | Placeholder], value: str) -> bool:
    """Whether a text with placeholders in it describes another text; one with a binding is not asked here."""
    if any(isinstance(part, Placeholder) and part.key for part in parts):
        raise Undecided("a binding inside a text")
    pattern = "".join(re.escape(part) if isinstance(part, str) else inside(part) for part in parts)
    return re.fullmatch(pattern, value) is not None

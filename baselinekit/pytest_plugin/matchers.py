"""The usual matchers of dirty-equals as placeholders. The library is not imported: a matcher is recognised by
the name of its class."""

from typing import Any

from baselinekit.library.placeholders import (
    Placeholder,
    any_array,
    any_integer,
    any_iso_date,
    any_iso_datetime,
    any_number,
    any_string,
    any_url,
    any_uuid,
    anything,
    number,
    placeholder,
    regex,
)

_WITHOUT_ARGUMENTS = {
    "AnyThing": anything,
    "IsStr": any_string,
    "IsPositiveInt": any_integer(min=1),
    "IsFloat": placeholder("any_float"),
    "IsUUID": any_uuid,
    "IsUrl": any_url,
    "IsList": any_array,
}


def is_matcher(value: object) -> bool:
    """Whether an expected value is equal to several values: a matcher of dirty-equals, or `mock.ANY`."""
    kind = value if isinstance(value, type) else type(value)
    return kind.__name__ == "_ANY" or any(base.__module__ == "dirty_equals._base" for base in kind.__mro__)


def placeholder_of(matcher: Any) -> Placeholder | None:
    """Return the placeholder that accepts what a matcher accepts; None if there is none."""
    matcher = matcher() if isinstance(matcher, type) else matcher
    name = type(matcher).__name__
    if name == "_ANY":
        return anything
    if name in _WITHOUT_ARGUMENTS and _has_no_arguments(matcher):
        return _WITHOUT_ARGUMENTS[name]
    args = [*matcher._repr_args]
    named = {key: value for key, value in matcher._repr_kwargs.items() if type(value) is not object}
    match name, args, named:
        case "IsInt", [], _ if named.keys() <= {"ge", "le", "gt", "lt"}:
            least = named["gt"] + 1 if "gt" in named else named.get("ge")
            most = named["lt"] - 1 if "lt" in named else named.get("le")
            return any_integer(min=least, max=most)
        case "IsNumber", [], _ if named.keys() <= {"ge", "le"}:
            return any_number(min=named.get("ge"), max=named.get("le"))
        case "IsApprox", [], {"approx": approx, "delta": delta, **others} if not others:
            return number(approx, abs=delta)
        case "IsStr", [], {"regex": str(pattern), **others} if not others:
            return regex(pattern)
        case "IsStr", [], _ if named.keys() <= {"min_length", "max_length"}:
            return any_string(min=named.get("min_length", 0), max=named.get("max_length"))
        case "IsDatetime", [], _ if named.keys() <= {"iso_string", "enforce_tz"}:
            return any_iso_datetime
        case "IsNow", [], _ if "unix_number" not in named:
            return any_iso_datetime(within="5m")
        case "IsDate" | "IsToday", [], _:
            return any_iso_date
        case "IsUUID", [int(version)], {**others} if not others:
            return any_uuid(version=version)
    return None


def _has_no_arguments(matcher: Any) -> bool:
    """Whether a matcher has no arguments. Some classes show them in their `repr`, others only have them as
    attributes."""
    kind = type(matcher)
    return bool(matcher._repr_ne() == f"{kind.__name__}()" and vars(matcher) == vars(kind()))

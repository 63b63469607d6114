"""The matchers of dirty-equals as placeholders. The library is not imported: a matcher is recognised by the
name of its class."""

from typing import Any

from baselinekit.library.placeholders import (
    Placeholder,
    any_array,
    any_hex,
    any_integer,
    any_ip,
    any_iso_date,
    any_iso_datetime,
    any_number,
    any_string,
    any_url,
    any_uuid,
    anything,
    length,
    number,
    one_of,
    placeholder,
    regex,
)

_WITHOUT_ARGUMENTS = {
    "AnyThing": anything,
    "IsStr": any_string,
    "IsAnyStr": any_string,
    "IsJson": any_string,
    "IsPositiveInt": any_integer(min=1),
    "IsNegativeInt": any_integer(max=-1),
    "IsFloat": placeholder("any_float"),
    "IsNumeric": any_number,
    "IsNonNegative": any_number(min=0),
    "IsUUID": any_uuid,
    "IsUrl": any_url,
    "IsIP": any_ip,
    "IsList": any_array,
    "IsTuple": any_array,
    "IsListOrTuple": any_array,
}
_HEX_DIGITS = {"md5": 32, "sha-1": 40, "sha1": 40, "sha-256": 64, "sha256": 64}


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
    if name == "DirtyOr":
        first, *others = matcher.dirties
        accepted = placeholder_of(first) if is_matcher(first) and others == [None] else None
        return None if accepted is None else accepted | None
    if name in _WITHOUT_ARGUMENTS and _has_no_arguments(matcher):
        return _WITHOUT_ARGUMENTS[name]
    args = [*matcher._repr_args]
    named = {key: value for key, value in matcher._repr_kwargs.items() if type(value) is not object}
    match name, args, named:
        case "IsInt", [], _ if named.keys() <= {"ge", "le", "gt", "lt"}:
            least = named["gt"] + 1 if "gt" in named else named.get("ge")
            most = named["lt"] - 1 if "lt" in named else named.get("le")
            return any_integer(min=least, max=most)
        case "IsNumber" | "IsFloat", [], _ if named.keys() <= {"ge", "le"}:
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
        case "IsIP", [], {"version": int(version), **others} if not others:
            return any_ip(version=version)
        case "IsHash", [str(algorithm)], _ if algorithm in _HEX_DIGITS:
            return any_hex(length=_HEX_DIGITS[algorithm])
        case "IsOneOf", [_, *_], _ if all(isinstance(arg, str | int | float | None) for arg in args):
            return one_of(*args)
        case "HasLen", [int(least)] | [int(least), int(_)], _:
            return length(least, *args[1:])
    return None


def _has_no_arguments(matcher: Any) -> bool:
    """Whether a matcher has no arguments. Some classes show them in their `repr`, others only have them as
    attributes."""
    kind = type(matcher)
    return bool(matcher._repr_ne() == f"{kind.__name__}()" and vars(matcher) == vars(kind()))

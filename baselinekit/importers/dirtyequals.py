"""The matchers of dirty-equals as placeholders."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from baselinekit.model.values import Json

Named = Mapping[str, Json]
Written = Callable[[Sequence[Json], Named], str | None]
"""The placeholder for a matcher with these arguments; None if none means the same."""

_BY_TYPE: Mapping[str, str] = {
    **dict.fromkeys(("str", "bytes", "Path", "PosixPath", "PurePosixPath", "WindowsPath"), "any_string"),
    **dict.fromkeys(("float", "Decimal", "timedelta", "float64", "float32"), "any_number"),
    **dict.fromkeys(("list", "tuple", "set", "frozenset"), "any_array"),
    **dict.fromkeys(("dict", "OrderedDict", "defaultdict"), "any_object"),
    **dict.fromkeys(("datetime", "FakeDatetime", "Timestamp"), "any_iso_datetime"),
    **dict.fromkeys(("date", "FakeDate"), "any_iso_date"),
    **dict.fromkeys(("int", "int64", "int32"), "any_integer"),
    "bool": "any_boolean",
    "time": "any_time",
    "UUID": "any_uuid",
    "NoneType": "any_null",
}


def placeholder_of_type(name: str) -> str | None:
    """The placeholder for any value of a class; None for a class of the user's own."""
    return f"<<{_BY_TYPE[name]}>>" if name in _BY_TYPE else None


def placeholder_of(name: str, args: Sequence[Json], named: Named) -> str | None:
    """The placeholder for a matcher of dirty-equals; None if there is none."""
    matcher = _MATCHERS.get(name)
    return None if matcher is None else matcher(args, named)


def or_null(text: str) -> str:
    """The placeholder that accepts null as well."""
    return f"{text.removesuffix('>>')}|null>>"


def _without_arguments(text: str) -> Written:
    """A placeholder for a matcher without arguments."""
    return lambda args, named: None if args or named else f"<<{text}>>"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _literal(value: Json) -> str | None:
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value) if isinstance(value, int | float | Decimal) else None


def _text(args: Sequence[Json], named: Named) -> str | None:
    if args or named.keys() - {"min_length", "max_length", "regex"}:
        return None
    least, most, pattern = (named.get(key) for key in ("min_length", "max_length", "regex"))
    if isinstance(pattern, str):
        return None if least or most else f"<<regex({_quoted(pattern)})>>"
    if most is not None:
        return f"<<any_string({least or 0},{most})>>"
    return "<<any_string>>" if least is None else f"<<any_string({least})>>"


def _integer(least: int | None = None, most: int | None = None) -> Written:
    return lambda args, named: _bounded("any_integer", args, named, least, most, 1)


def _amount(kind: str, least: int | None = None) -> Written:
    return lambda args, named: _bounded(kind, args, named, least, None, 0)


def _bounded(kind: str, args: Sequence[Json], named: Named, least: Json, most: Json, step: int) -> str | None:
    """A number with bounds. Exclusive bounds can be expressed for whole numbers only."""
    if named.keys() == {"approx", "delta"} and not args:
        return f"<<number({named['approx']} ± {named['delta']})>>"
    if args or named.keys() - {"ge", "le", "gt", "lt"} or (named.keys() & {"gt", "lt"} and not step):
        return None
    if kind == "any_float" and (named or least is not None):
        kind = "any_number"
    least = named.get("ge", named["gt"] + step if "gt" in named else least)
    most = named.get("le", named["lt"] - step if "lt" in named else most)
    if least is None and most is None:
        return f"<<{kind}>>"
    return f"<<{kind}({'null' if least is None else least}{'' if most is None else f',{most}'})>>"


def _approximate(args: Sequence[Json], named: Named) -> str | None:
    values = [*args, *(named[key] for key in ("approx",) if key in named)]
    if len(values) != 1 or isinstance(values[0], bool) or not isinstance(values[0], int | float):
        return None
    delta = named.get("delta", abs(Decimal(str(values[0]))) / 100)
    return f"<<number({values[0]} ± {delta})>>"


def _moment(args: Sequence[Json], named: Named) -> str | None:
    if args or named.keys() - {"iso_string", "enforce_tz"}:
        return "<<any_number>>" if named.get("unix_number") is True and not args else None
    return "<<any_iso_datetime>>"


def _day(args: Sequence[Json], named: Named) -> str | None:
    return None if args or named.keys() - {"iso_string"} else "<<any_iso_date>>"


def _uuid(args: Sequence[Json], named: Named) -> str | None:
    version = [*args, *named.values()]
    return "<<any_uuid>>" if not version else f"<<any_uuid({version[0]})>>" if len(version) == 1 else None


def _address(args: Sequence[Json], named: Named) -> str | None:
    if args or named.keys() - {"version"}:
        return None
    return f"<<any_ip({named['version']})>>" if named else "<<any_ip>>"


_DIGITS = {"md5": 32, "sha-1": 40, "sha1": 40, "sha-256": 64, "sha256": 64}


def _hash(args: Sequence[Json], named: Named) -> str | None:
    digits = [_DIGITS.get(str(argument)) for argument in (*args, *named.values())]
    return f"<<any_hex({digits[0]})>>" if len(digits) == 1 and digits[0] else None


def _one_of(args: Sequence[Json], named: Named) -> str | None:
    literals = [_literal(argument) for argument in args]
    return (
        f"<<one_of({','.join(map(str, literals))})>>"
        if literals and not named and None not in literals
        else None
    )


def _length(args: Sequence[Json], named: Named) -> str | None:
    """`HasLen(3)`, `HasLen(2, 4)`, and `IsList(length=3)`."""
    bounds = [*args, *named.values()]
    if len(bounds) == 1 and isinstance(bounds[0], list):
        bounds = bounds[0]
    if not all(isinstance(bound, int) for bound in bounds) or not 1 <= len(bounds) <= 2:
        return None
    return f"<<length({','.join(map(str, bounds))})>>"


def _array(args: Sequence[Json], named: Named) -> str | None:
    if named.keys() == {"length"} and not args:
        return _length((), named)
    return None if args or named else "<<any_array>>"


_MATCHERS: Mapping[str, Written] = {
    **dict.fromkeys(("IsStr", "IsAnyStr"), _text),
    **dict.fromkeys(("IsList", "IsTuple", "IsListOrTuple"), _array),
    "IsDict": _without_arguments("any_object"),
    "AnyThing": lambda args, named: "<<any>>",
    "IsJson": _without_arguments("any_string"),
    "IsUrl": lambda args, named: "<<any_url>>",
    "IsInt": _integer(),
    "IsPositiveInt": _integer(1),
    "IsNegativeInt": _integer(None, -1),
    "IsFloat": _amount("any_float"),
    "IsNumber": _amount("any_number"),
    "IsNumeric": _amount("any_number"),
    "IsNonNegative": _amount("any_number", 0),
    "IsApprox": _approximate,
    "IsDatetime": _moment,
    "IsNow": lambda args, named: "<<any_iso_datetime(5m)>>",
    "IsDate": _day,
    "IsToday": _day,
    "IsUUID": _uuid,
    "IsIP": _address,
    "IsHash": _hash,
    "IsOneOf": _one_of,
    "HasLen": _length,
}

"""Numbers that count or measure what a service does: told by their names, by those beside them, and by the
names that rows and columns give them."""

from collections.abc import Sequence
from decimal import Decimal

from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.varying import is_timespan
from baselinekit.values.equality import decimal, is_number
from baselinekit.values.places import value_at


def name_of(path: Path) -> str:
    """The nearest key above a value."""
    if path and isinstance(path[-1], str):
        return path[-1]
    return next((key for key in reversed(path) if isinstance(key, str)), "")


# Rows that name their value: {name: uptime, value: 12} means the same as {uptime: 12}, and so does
# {columns: [uptime], values: [[12]]}.

_ROW_NAMES = ("name", "key", "metric", "stat", "label")
ROW_VALUES = frozenset({"value", "val", "count"})
_TABLE_ROWS = frozenset({"values", "rows", "data"})
_COLUMN_NAMES = ("columns", "fields", "header", "headers")
_ROW_NAME = lazy_pattern(r"[A-Za-z][A-Za-z0-9_.:/-]{0,80}")
_ANY_NUMBER = lazy_pattern(r"<<any_(?:integer|number|float|digits|numeric|size)\b[^<>]*>>%?")
_FEWEST_MOVED = 2


def path_with_row_name(path: Path, root: Json) -> Path:
    """The path of a value, with `value` replaced by the name that its row gives it, or with the name of its
    column in the place of the column's number."""
    if len(path) > 2 and path[-3] in _TABLE_ROWS and isinstance(path[-1], int):
        return _path_with_column_name(path, root)
    row = _container_above(path, root, 1) if path and path[-1] in ROW_VALUES else None
    if not isinstance(row, dict):
        return path
    name = next((row[key] for key in _ROW_NAMES if isinstance(row.get(key), str)), "")
    return (*path[:-1], name) if _ROW_NAME.fullmatch(name) else path


def _path_with_column_name(path: Path, root: Json) -> Path:
    table, number = _container_above(path, root, 3), path[-1]
    assert isinstance(number, int)
    names = next((table[key] for key in _COLUMN_NAMES if key in table), ()) if isinstance(table, dict) else ()
    name = names[number] if isinstance(names, list) and number < len(names) else None
    if isinstance(name, dict):
        name = next((name[key] for key in (*_ROW_NAMES, "text") if isinstance(name.get(key), str)), None)
    return (*path[:-1], name) if isinstance(name, str) and _ROW_NAME.fullmatch(name) else path


def is_among_metrics(path: Path, root: Json) -> bool:
    """Whether a path leads to the value of a named row, and another row of its table holds an any-number
    placeholder there: the rows of one table are of one kind. A row that is named like a setting is none."""
    name = path_with_row_name(path, root)
    if name == path or _words_of(name) & _SETTING:
        return False
    rows, key = _container_above(path, root, 2), path[-1]
    return isinstance(rows, list) and any(
        isinstance(row, dict) and _ANY_NUMBER.fullmatch(str(row.get(key))) for row in rows
    )


def is_beside_moving(path: Path, root: Json) -> bool:
    """Whether enough siblings, in the same object or list, are placeholders for any number: values that are
    kept together describe the same thing."""
    parent = _container_above(path, root, 1)
    values = parent.values() if isinstance(parent, dict) else parent if isinstance(parent, list) else ()
    return are_enough_to_move(sum(_ANY_NUMBER.fullmatch(str(value)) is not None for value in values))


def are_enough_to_move(numbers: int) -> bool:
    """Whether this many moving numbers tell something about their siblings."""
    return numbers >= _FEWEST_MOVED


def _container_above(path: Path, root: Json, steps: int) -> Json:
    try:
        return value_at(root, path[:-steps])
    except (LookupError, TypeError):
        return None


# Counters: numbers whose name says that they count what a service does, or identify its process. A number
# that may as well be a setting or a property (a port, a timeout, an age, the length of a film) is none,
# unless it looks measured.

_WORD = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Za-z][a-z]*")
_COUNTED_WORDS = (
    "uptime pid ppid raft revision lsn jiffies goroutine goroutines rss heap restarts reboots hits misses"
)
_MEASURED_WORDS = "elapsed took latency duration seconds milliseconds time ms millis load cpu lag"
_SETTING_WORDS = "max min limit capacity timeout default threshold interval ttl retention"
_COUNTED_NAMES = frozenset({"resourceversion", "walltime", "upsince", "processid", "parentprocessid"})
_WRITTEN_WORDS = "raft revision lsn"
_RUNNING_WORDS = (
    "cpu iowait steal idle jiffies msec msecs usec usecs rss heap memory mem usage cache fd fds"
    " queries requests"
)
_PROCESS_WORDS = (
    "iowait steal jiffies usec usecs rss heap alloc allocs allocated allocator allocations mallocs frees frag"
    " fragmentation vsize resident goroutines softirq irq interrupts ctxt switches syscalls faults ops qps"
    " rps instantaneous loadavg fds"
)
_MEMORY_STATISTICS = "memstats"
"""The key under which Go programs tell what their memory is used for."""

_GO_MEMORY = frozenset(
    {"alloc", "heapalloc", "heapidle", "heapinuse", "heapsys", "totalalloc", "numgc", "mallocs", "lookups"}
)
"""The keys of such statistics wherever they are, without underscores and in small letters."""

_FEWEST_GO_MEMORY = 4
_SPACE_WORDS = "used free available avail percent"
_WHOLE_WORDS = "size total capacity"
_LEAST_SPACE = 2**20
"""A space of fewer bytes may be a number of anything."""

_FRACTION_WORDS = "fraction ratio percent perc pct load cpu rate avg average mean usage seconds lag"

_RESOURCE_WORDS = "cpu memory mem swap cache bytes buffer buffers network net disk"
_STATE_WORDS = (
    "used usage peak free idle active busy sent received recv in out input output read written rx tx"
    " percent perc overhead dataset"
)
_COUNTED, _MEASURED, _SETTING, _WRITTEN, _RUNNING, _PROCESS, _RESOURCE, _STATE = (
    frozenset(words.split())
    for words in (
        *(_COUNTED_WORDS, _MEASURED_WORDS, _SETTING_WORDS, _WRITTEN_WORDS, _RUNNING_WORDS),
        *(_PROCESS_WORDS, _RESOURCE_WORDS, _STATE_WORDS),
    )
)
_SPACE, _WHOLE, _FRACTIONAL = (
    frozenset(words.split()) for words in (_SPACE_WORDS, _WHOLE_WORDS, _FRACTION_WORDS)
)
_INTEGER = lazy_pattern(r"-?[0-9]+")
_AMOUNT = lazy_pattern(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3}|[kKMGT]i?[bB]?|[bB]|%)?")
"""A number as a text, also if written for people: 11.90M, 98.4%."""

_FEWEST_MEASURED = 4
"""The least number of digits of a measured number with a fraction; with fewer it may be typed."""

_FEWEST_PRECISE = 10
"""The least number of digits of a number that was computed. A place on earth has nine."""

_FRACTION = lazy_pattern(r"-?[0-9]{1,20}\.[0-9]{1,20}")


def is_counted(path: Path, *values: Json) -> bool:
    """Whether the name of a value says that it counts what a service does, or how it runs."""
    words = _words_of(path)
    if words & _SETTING:
        return False
    if words & _COUNTED or "".join(_WORD.findall(name_of(path))).lower() in _COUNTED_NAMES:
        return True
    return bool(words & _MEASURED) and all(map(is_measured, values))


def counts_writes(path: Path, value: Json) -> bool:
    """Whether the name of a number says that each write increments it. A first revision does not count: the
    next new object has the same."""
    words = _words_of(path)
    is_named = words & _WRITTEN or "".join(_WORD.findall(name_of(path))).lower() == "resourceversion"
    return bool(is_named) and not words & _SETTING and _is_integer(value) and int(value) > 1


def counts_running(path: Path) -> bool:
    """Whether the name of a number says that it is about a running process. This is enough in a table in
    which other numbers have moved."""
    words = _words_of(path)
    return bool(words & _RUNNING) and not words & _SETTING


def tells_of_process(path: Path, root: Json) -> bool:
    """Whether a number beside others that have moved has a name that tells what a process uses or does. The
    name of a resource alone may as well be an order: `memory: 16`."""
    statistics = memory_statistics_above(path, root)
    if statistics is not None:  # all of it, lists and rows below too, except the sizes of the classes
        return name_of(path) != "Size" and is_beside_moving(path[: len(statistics) + 1], root)
    words = _words_of(path)
    is_named = words & _PROCESS or (words & _RESOURCE and words & _STATE)
    return bool(is_named) and not words & _SETTING and is_beside_moving(path, root)


def memory_statistics_above(path: Path, root: Json) -> Path | None:
    """The path of the object above a place that holds what a Go program tells of its memory."""
    for end in range(1, len(path)):
        if path[end - 1] == _MEMORY_STATISTICS:
            return path[:end]
        container = _container_above(path, root, len(path) - end)
        if isinstance(container, dict):
            keys = {key.replace("_", "").lower() for key in container}
            if len(keys & _GO_MEMORY) >= _FEWEST_GO_MEMORY:
                return path[:end]
    return None


def tells_of_space(path: Path, root: Json) -> bool:
    """Whether a number says how much of a disk or a memory is used: the size of the whole is beside it."""
    container = _container_above(path, root, 1)
    words = _words_of(path)
    if not (isinstance(container, dict) and words & _SPACE) or words & _SETTING:
        return False
    of_whole, of_part = (
        [value for key, value in container.items() if _words_of((key,)) & named] for named in (_WHOLE, _SPACE)
    )
    is_large = any(is_number(value) and value >= _LEAST_SPACE for value in of_whole)
    return is_large and any(
        value >= _LEAST_SPACE if is_number(value) else _ANY_NUMBER.fullmatch(str(value)) for value in of_part
    )


def looks_measured(path: Path, value: Json, root: Json) -> bool:
    """Whether a number looks as if a service measures it again every few seconds: by its name, or because
    nobody types so many digits."""
    if isinstance(value, bool | dict | list):
        return False
    words = _words_of(path_with_row_name(path, root))
    if is_timespan(value):
        return len(path) < 2 or bool(words & {"uptime", "elapsed"})  # a film has a length, too
    if not is_amount(value):
        return False
    if isinstance(value, float) and len(decimal(value).as_tuple().digits) >= _FEWEST_PRECISE:
        return True
    if words & _SETTING:
        return False
    is_named = bool(words & _PROCESS or (words & _RESOURCE and words & _STATE) or "uptime" in words)
    is_timed = bool(words & _MEASURED) and is_measured(value)
    return is_named or is_timed or tells_of_space(path, root)


def with_fraction(path: Path, values: Sequence[Json]) -> Sequence[Json]:
    """The values seen at a place, and a number with a fraction if its name says that it may have one: most
    services write 1.0 as 1."""
    are_integers = all(is_number(value) and value == int(value) for value in values)
    return [*values, 0.5] if are_integers and _words_of(path) & _FRACTIONAL else values


def _words_of(path: Path) -> set[str]:
    return {word.lower() for word in _WORD.findall(name_of(path))}


def is_measured(value: Json) -> bool:
    if isinstance(value, str) and _FRACTION.fullmatch(value):
        number = Decimal(value)
    elif is_number(value):
        number = decimal(value)
    else:
        return False
    return number != number.to_integral_value() and len(number.as_tuple().digits) >= _FEWEST_MEASURED


def is_amount(value: Json) -> bool:
    """Whether a value is a number, or a text that states one."""
    return is_number(value) or (isinstance(value, str) and _AMOUNT.fullmatch(value) is not None)


def _is_integer(value: Json) -> bool:
    return (
        isinstance(value, int | str) and not isinstance(value, bool) and bool(_INTEGER.fullmatch(str(value)))
    )

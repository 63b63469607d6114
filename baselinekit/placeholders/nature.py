"""Tells volatile values by their nature: an id that a service makes anew, a moment that a clock wrote, a
number that counts or measures.

Nothing here hides a value. A capture reports what looks like an id; a compare reports if all differences are
of such kinds; `refresh --learn` accepts an id in place of an id and a moment in place of a moment. How often
this errs is measured in tests/placeholders/test_nature.py."""

from decimal import Decimal
from math import inf
from typing import Literal

from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path
from baselinekit.placeholders import formats
from baselinekit.secrets.finding import count_turns, is_random, random_in
from baselinekit.structs import Struct
from baselinekit.values.equality import decimal, is_number
from baselinekit.values.places import name_of

Nature = Literal["id", "moment", "counter"]


# Moments.


def moment_of(value: Json) -> float | None:
    """The moment that a value states as a whole, in seconds since 1970; None if it is none."""
    if is_number(value):
        return formats.seconds_of(decimal(value))
    return formats.moment_of(value) if isinstance(value, str) else None


# Ids: by their form, if no other text has it by chance; by the name of the key, if the value looks generated
# too.

_UUID = lazy_pattern(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_ULID = lazy_pattern(r"0[0-9A-HJKMNP-TV-Z]{25}")
_HEX = lazy_pattern(r"[0-9a-f]{12,}|[0-9A-F]{12,}")
_LONG_NUMBER = lazy_pattern(r"[1-9][0-9]{16,19}")
_LIMITS = (str(2**63 - 1), str(2**64 - 1), str(2**63))
_RUN = lazy_pattern(r"[A-Za-z0-9]+")
_TOKEN = lazy_pattern(r"[A-Za-z0-9_.:~+/=-]{6,}")
_ONE_RUN = lazy_pattern(r"[A-Za-z0-9+/_-]+={0,2}")
_PREFIXED = lazy_pattern(r"[a-z]{1,10}(?:[_-][a-z]{1,8})?[_-](?P<rest>[A-Za-z0-9]{8,})")
_TAG = lazy_pattern(r'(?:W/)?"(?P<tag>[^"\s]{4,})"')
_ID_NAME = lazy_pattern(
    r"(?i)(?:^|[_.-]|(?<=[a-z]))(?:id|ident|uid|uuid|guid|token|nonce|session|sid|etag|cursor|csrf|xsrf"
    r"|trace|span|correlation|request|transaction|hash|digest|sha1|sha256|checksum|signature|revision|rev"
    r"|reference|key|ref)(?:[_-]?(?:id|token|key|no|number))?$"
)
_HASHES = "hash|digest|checksum|sha-?(?:1|224|256|384|512)|md5|crc(?:32)?|blake2[bs]?|blake3|integrity"
_HASH_NAME = lazy_pattern(rf"(?i)(?:^|[_.-]|(?<=[a-z]))(?:{_HASHES})$")
_HASH_TEXT = lazy_pattern(rf"(?i)(?<![a-z0-9])(?:{_HASHES})[:=-]\s?[A-Za-z0-9+/]{{8,}}")
_TIME_NAME = lazy_pattern(r"(?i)(?:time|date|stamp|nanos|_ns|_at|(?<=[a-z])At|ts)$")
_LARGE = 10**11
_SHORTEST_RUN = 6
_FEWEST_TURNS = 3
_FEWEST_DIGITS = 6
"""Different hexadecimal digits: a text with fewer was typed, such as 11111111-… or 0000….001."""

_PARTS = lazy_pattern(rf"(?<![0-9a-zA-Z])(?:{_UUID.pattern}|[0-9a-f]{{16,}}|{_ULID.pattern})(?![0-9a-zA-Z])")


def looks_like_id(value: Json, path: Path = ()) -> bool:
    """Whether a value looks as if a service had generated it to identify something: an id, a token."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return False
    if (len(value) < _SHORTEST_RUN or " " in value) if isinstance(value, str) else value < _LARGE:
        return False  # most values: none of the forms below fits
    text, name = str(value), name_of(path)
    if _LONG_NUMBER.fullmatch(text):  # a snowflake; round numbers are limits
        is_moment = moment_of(value) is not None and _TIME_NAME.search(name)
        return not (text.endswith("000") or text in _LIMITS or is_moment)
    if isinstance(value, int):  # the id of a thread, say: too large to be counted
        is_id = bool(_ID_NAME.search(name)) and value >= _LARGE and moment_of(value) is None
        return is_id and not text.endswith("000")
    tag = _TAG.fullmatch(text)
    text = tag["tag"] if tag else text
    if _UUID.fullmatch(text) or _HEX.fullmatch(text):
        is_typed = len(set(text.lower()) - {"-"}) < _FEWEST_DIGITS or text.endswith("0000")
        return not is_typed and count_turns(text.replace("-", "")) >= _FEWEST_TURNS
    if _ULID.fullmatch(text) or (text.count(".") == 2 and formats.is_jwt(text)):
        return True
    is_generated = _TOKEN.fullmatch(text) and _looks_generated(text, name, tag is not None)
    return bool(is_generated) and moment_of(text) is None


def _looks_generated(text: str, name: str, is_tag: bool) -> bool:
    if _ONE_RUN.fullmatch(text) and (0, len(text)) in random_in(text):
        return True
    prefixed = _PREFIXED.fullmatch(text)
    if prefixed and is_random(prefixed["rest"]):
        return True
    if is_tag:
        return any(map(str.isdigit, text))
    return bool(_ID_NAME.search(name)) and any(map(is_random, _RUN.findall(text)))


# Hashes. A hash depends on something else: another hash means that this has changed, even if it is not
# compared. A service may also make a new hash each time, which only several of its answers can show.


def is_hash(path: Path, value: Json) -> bool:
    """Whether the name of a value, or the value itself, shows that it is a hash, including the one that
    baselinekit stores for a body of bytes."""
    if not isinstance(value, str):
        return False
    return _HASH_NAME.search(name_of(path)) is not None or _HASH_TEXT.search(value) is not None


# Two values at one place.


class SinceCapture(Struct):
    """The time between a capture (None: unknown) and now, in seconds since 1970."""

    captured: float | None
    now: float

    def fits(self, before: Json, after: Json) -> bool:
        """Whether a clock can have written the moments of `after` in that time, or as far ahead of now as the
        moments of `before` were ahead of the capture."""
        start = -inf if self.captured is None else self.captured
        passed = self.now - start
        return all(
            after_moment > before_moment
            and (
                start - formats.NEAR <= after_moment <= self.now + formats.NEAR
                or abs(after_moment - before_moment - passed) <= formats.NEAR
            )
            for before_moment, after_moment in zip(_moments_of(before), _moments_of(after), strict=False)
        )


def nature_of_change(
    path: Path, before: Json, after: Json, span: SinceCapture, *, writes: bool = False
) -> Nature | None:
    """The nature of a value that was replaced by another of the same nature; None if it is a real change.
    `writes`: whether the recipe makes something, which the service numbers."""
    if is_hash(path, before):
        return None
    if looks_like_id(before, path) and looks_like_id(after, path) and _id_form(before) == _id_form(after):
        return "id"
    was, now = moment_of(before), moment_of(after)
    if was is not None and now is not None and type(before) is type(after):
        return "moment" if span.fits(before, after) else None
    if isinstance(before, str) and isinstance(after, str):
        marked = _mask_moments_and_ids(before)
        if "\0" in marked and marked == _mask_moments_and_ids(after):
            is_timed = any(formats.moments_in(before))
            return ("moment" if span.fits(before, after) else None) if is_timed else "id"
    are_amounts = are_numbers(before, after) or (formats.is_timespan(before) and formats.is_timespan(after))
    if are_amounts and is_counted(path, before, after):
        return "counter"
    is_next = writes and are_numbers(before, after) and after > before
    return "id" if is_next and _ID_NAME.search(name_of(path)) else None


def _moments_of(value: Json) -> list[float]:
    return [moment for _, _, moment in formats.moments_in(str(value))]


def are_numbers(before: Json, after: Json) -> bool:
    """Whether both are numbers, or both texts that state one."""
    return is_number(before) == is_number(after) and is_amount(before) and is_amount(after)


def _id_form(value: Json) -> str:
    """The form that two ids of one kind share: their length, or their prefix."""
    text = str(value)
    if _UUID.fullmatch(text):
        return "uuid"
    if _HEX.fullmatch(text) or _LONG_NUMBER.fullmatch(text):
        return f"{type(value).__name__} {len(text)}"
    prefixed = _PREFIXED.fullmatch(text)
    return f"{text[: prefixed.start('rest')]} {len(text)}" if prefixed else f"text {len(text) // 8}"


def _mask_moments_and_ids(text: str) -> str:
    """The text with its moments and ids masked."""
    result, position = "", 0
    for start, end, _ in formats.moments_in(text):
        result, position = f"{result}{text[position:start]}\0", end
    text = result + text[position:]
    return _PARTS.sub(lambda match: f"\0{_id_form(match[0])}" if looks_like_id(match[0]) else match[0], text)


# Numbers that count or measure, by their names. A number that may as well be a setting or a property (a port,
# a timeout, an age) is none.

_COUNTED_WORDS = (
    "uptime pid ppid raft revision lsn jiffies goroutine goroutines rss heap restarts reboots hits misses"
    " resourceversion walltime upsince processid parentprocessid"
)
_MEASURED_WORDS = "elapsed took latency duration seconds milliseconds time ms millis load cpu lag"
"""These have to look measured as well: a fraction with many digits, or a length of time."""

_SETTING_WORDS = "max min limit capacity timeout default threshold interval ttl retention"
_NAMES = (_COUNTED_WORDS, _MEASURED_WORDS, _SETTING_WORDS)
_COUNTED, _MEASURED, _SETTING = (frozenset(words.split()) for words in _NAMES)
_WORD = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Za-z][a-z]*")
_AMOUNT = lazy_pattern(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3}|[kKMGT]i?[bB]?|[bB]|%)?")
"""A number as a text, also if written for people: 11.90M, 98.4%."""

_FRACTION = lazy_pattern(r"-?[0-9]{1,20}\.[0-9]{1,20}")
_FEWEST_MEASURED = 4
"""The least number of digits of a measured number with a fraction; with fewer it may be typed."""


def is_amount(value: Json) -> bool:
    """Whether a value is a number, or a text that states one."""
    return is_number(value) or (isinstance(value, str) and _AMOUNT.fullmatch(value) is not None)


def is_counted(path: Path, *values: Json) -> bool:
    """Whether the name of a value shows that it counts what a service does, or how it runs."""
    words = _words_of(name_of(path))
    if words & _SETTING:
        return False
    if words & _COUNTED:
        return True
    return bool(words & _MEASURED) and all(map(_is_measured, values))


def _words_of(name: str) -> set[str]:
    """The words of a name, and the name as one word."""
    words = [word.lower() for word in _WORD.findall(name)]
    return {*words, "".join(words)}


def _is_measured(value: Json) -> bool:
    if formats.is_timespan(value):
        return True
    if not is_number(value) and not (isinstance(value, str) and _FRACTION.fullmatch(value)):
        return False
    number = Decimal(value) if isinstance(value, str) else decimal(value)
    return number != number.to_integral_value() and len(number.as_tuple().digits) >= _FEWEST_MEASURED
